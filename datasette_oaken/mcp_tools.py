"""The tools of ``agent_tools`` on datasette-mcp's server. Imported only where that is installed, by its hook.

The server reads a tool's arguments off a function's signature, so each has a function here.
"""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from .agent_tools import COUNT, MESSAGE, SEARCH, Tool, ToolFailed, call


def add(datasette: Any, mcp: Any) -> None:
    """Give the server of this Datasette the tools."""

    async def answer(ctx: Context, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        scope = getattr(ctx.request_context.request, "scope", None) or {}
        try:
            return await call(datasette, scope.get("actor"), tool, arguments)
        except ToolFailed as error:
            raise ToolError(str(error)) from None

    async def count(
        ctx: Context,
        question_id: int | None = None,
        status: str | None = None,
        sender: str | None = None,
        month: str | None = None,
        limit: int | None = None,
        next: str | None = None,
    ) -> dict[str, Any]:
        asked = {"question_id": question_id, "status": status, "sender": sender, "month": month}
        return await answer(ctx, COUNT, {**asked, "limit": limit, "next": next})

    async def search(
        ctx: Context, q: str, mode: str | None = None, limit: int | None = None, next: str | None = None
    ) -> dict[str, Any]:
        return await answer(ctx, SEARCH, {"q": q, "mode": mode, "limit": limit, "next": next})

    async def message(ctx: Context, message_id: int) -> dict[str, Any]:
        return await answer(ctx, MESSAGE, {"message_id": message_id})

    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool, function in ((COUNT, count), (SEARCH, search), (MESSAGE, message)):
        mcp.add_tool(function, name=tool.name, description=tool.description, annotations=reading)
