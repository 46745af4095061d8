"""Small servers on this machine that speak as a model's server does, or fail as one does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = str | Callable[[BaseHTTPRequestHandler], None]
"""What the model says, or what is done with a request for it."""


@dataclass
class Asked:
    """A server's address, and what was sent to it: method and path, headers, body."""

    address: str
    lines: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)

    @property
    def api_base(self) -> str:
        return f"{self.address}/v1"

    @property
    def prompts(self) -> list[str]:
        """The last message of each prompt."""
        return [body["messages"][-1]["content"] for body in self.bodies]


def send(handler: BaseHTTPRequestHandler, body: str, status: int = 200, **headers: str) -> None:
    """Answer a request."""
    handler.send_response(status)
    for name, value in ({"Content-Type": "application/json"} | headers).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body.encode())))
    handler.end_headers()
    handler.wfile.write(body.encode())


def says(text: str | None) -> str:
    """A completion of OpenAI's protocol."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )


@contextmanager
def answering(*replies: Reply, pages: dict[str, Any] | None = None) -> Iterator[Asked]:
    """A server that gives these replies in turn, the last of them again and again; GET gives ``pages``, as JSON, by path."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.lines.append(f"POST {self.path}")
            asked.headers.append({name.lower(): value for name, value in self.headers.items()})
            asked.bodies.append(json.loads(body))
            reply = replies[min(len(asked.bodies), len(replies)) - 1]
            try:
                send(self, says(reply)) if isinstance(reply, str) else reply(self)
            except ConnectionError:
                pass  # whoever asked has gone

        def do_GET(self) -> None:
            asked.lines.append(f"GET {self.path}")
            known = self.path in (pages or {})
            send(self, json.dumps((pages or {}).get(self.path)), 200 if known else 404)

        def do_CONNECT(self) -> None:
            asked.lines.append(f"CONNECT {self.path}")
            send(self, "", 502)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    asked = Asked(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
