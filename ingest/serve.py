"""``oaken serve``: Datasette on the loopback address, with embedding going on beside it in a process of its own."""

from __future__ import annotations

import errno
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from datasette_oaken import db
from datasette_oaken.db import OakenError

from . import pipeline

HOST = "127.0.0.1"
_LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
DEFAULT_PORT = 8001
_PORTS_TO_TRY = 20


def serve(path: Path, *, port: int | None, config: Path | None, embed: bool, open_browser: bool = False) -> None:
    """Serve the file until Ctrl-C. Prints the search page's address as soon as it answers.

    Raises OakenError: port_taken, and what opening the file raises.
    """
    import uvicorn
    from datasette.app import Datasette

    with db.connect(path) as conn:  # also brings an older file up to date before anything reads it
        backlog = pipeline.backlog(conn)
    conn.close()
    port = _free_port(port)
    plugin = {"config": str(config)} if config else {}
    site = Datasette([str(path)], config={"plugins": {"datasette-oaken": plugin}})
    address = f"http://{HOST}:{port}/-/oaken"
    threading.Thread(target=_announce, args=(port, address, open_browser), daemon=True).start()
    with _embedding(path, config) if embed and backlog else _nothing():
        uvicorn.run(only_loopback(site.app()), host=HOST, port=port, log_level="warning", lifespan="on")


def only_loopback(app: Any) -> Any:
    """``app``, for requests that name this machine: a web page elsewhere cannot point its own name here and read the mail.

    DNS rebinding: the browser believes that it talks to the page's host, and its Host header says so.
    """

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            if len(hosts) != 1 or not _LOOPBACK.fullmatch(hosts[0]):
                await send(
                    {"type": "http.response.start", "status": 421, "headers": [(b"content-type", b"text/plain")]}
                )
                await send(
                    {"type": "http.response.body", "body": b"This site answers to 127.0.0.1 and localhost only.\n"}
                )
                return
        await app(scope, receive, send)

    return guarded


def _free_port(port: int | None) -> int:
    wanted = [port] if port is not None else list(range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TO_TRY))
    for candidate in wanted:
        with socket.socket() as probe:
            if sys.platform != "win32":  # there it would let two programs have one port
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
                return candidate
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
    raise OakenError(
        f"Port {wanted[0]} is taken. Name another with --port, or leave --port out and a free one is found.",
        "port_taken",
    )


def _announce(port: int, address: str, open_browser: bool) -> None:
    for _ in range(600):
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.1)
    click.echo(f"\nSearch your mail at {address}\n(Ctrl-C stops the site.)\n", err=True)
    if open_browser:
        import webbrowser

        webbrowser.open(address)


@contextmanager
def _embedding(path: Path, config: Path | None) -> Iterator[None]:
    """Embed what is queued in a niced process beside the site; it stops with the site and goes on at the next start."""
    # -P: a file called ingest.py in the folder that a person stands in is not ours.
    command = [sys.executable, "-P", "-m", "ingest", "embed", "--nice", "--db", str(path)]
    command += ["--config", str(config)] if config else []
    # Its report goes where the site's own words go: stdout says nothing here.
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno())
    try:
        yield
    finally:
        with suppress(subprocess.TimeoutExpired):
            child.wait(1)  # Ctrl-C on a terminal has reached it too: a second one would only cut its last words
        if child.poll() is None:
            child.send_signal(signal.SIGINT if sys.platform != "win32" else signal.SIGTERM)
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                child.kill()


@contextmanager
def _nothing() -> Iterator[None]:
    yield
