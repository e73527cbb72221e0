"""`GET /api/tools`: what the model can be given."""

from collections.abc import Callable, Sequence

import msgspec
from quart import Blueprint, Response

from fireside_agent.answers import json_answer
from fireside_agent.tools.registry import Registry
from fireside_agent.tools.tool import Risk


class ToolRow(msgspec.Struct, frozen=True):
    """One tool. `usual`: chats have it unless their settings name others."""

    name: str
    description: str
    risk: Risk
    source: str
    usual: bool


def create_blueprint(registry: Registry, usual: Callable[[], Sequence[str]]) -> Blueprint:
    """The route over the tools of `registry`; `usual()` names those that a chat has by itself."""
    blueprint = Blueprint("tools", __name__)

    @blueprint.get("/api/tools")
    async def tools() -> Response:  # pyright: ignore[reportUnusedFunction]
        names = set(usual())
        rows = [
            ToolRow(tool.name, tool.description, tool.risk, tool.source, tool.name in names)
            for tool in registry.tools()
        ]
        return json_answer({"tools": rows})

    return blueprint
