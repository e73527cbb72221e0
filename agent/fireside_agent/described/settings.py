"""The routes of tools, presets, rules and MCP servers."""

import msgspec

from fireside_agent.approvals.log import Approval
from fireside_agent.approvals.routes import ADDRESS, Revocation, Trial
from fireside_agent.approvals.rules import Rule
from fireside_agent.described.route import Parameter, Route
from fireside_agent.messages import SessionSettings
from fireside_agent.presets import Instructions, Preset
from fireside_agent.tools.mcp.config import Entry
from fireside_agent.tools.mcp.routes import ServerList
from fireside_agent.tools.routes import ToolRow

_SETTINGS = "Settings"


class Presets(msgspec.Struct):
    """All presets by name."""

    presets: list[Preset]


class Tools(msgspec.Struct):
    """What the model can be given."""

    tools: list[ToolRow]


class Rules(msgspec.Struct):
    """The rules that are in force. `always_allow` are the tools all of whose calls are allowed."""

    ok: bool
    always_allow: list[str]
    rules: list[Rule]


class Revoked(msgspec.Struct):
    """The rules that were taken back."""

    ok: bool
    revoked: list[Rule]


class TrialOutcome(msgspec.Struct):
    """What a rule would have allowed; `approvals` are the newest of those calls, `count` is of all."""

    ok: bool
    days: int
    count: int
    decided: dict[str, int]
    approvals: list[Approval]


_PRESET = Parameter("name", "Of the preset.")
_SERVER = Parameter("name", "Of the server.")

ROUTES = (
    Route("GET", "/api/tools", _SETTINGS, "The tools that the model can be given", Tools),
    Route(
        "GET",
        "/api/settings/instructions",
        _SETTINGS,
        "The instructions for all chats",
        Instructions,
        errors=(503,),
    ),
    Route(
        "PUT",
        "/api/settings/instructions",
        _SETTINGS,
        "Set the instructions for all chats",
        Instructions,
        body=Instructions,
        errors=(503,),
    ),
    Route("GET", "/api/presets", _SETTINGS, "Settings under names", Presets, errors=(503,)),
    Route(
        "PUT",
        "/api/presets/{name}",
        _SETTINGS,
        "Keep settings under a name",
        Preset,
        (_PRESET,),
        body=SessionSettings,
        errors=(503,),
    ),
    Route(
        "DELETE",
        "/api/presets/{name}",
        _SETTINGS,
        "Forget a preset",
        None,
        (_PRESET,),
        status=204,
        errors=(404, 503),
    ),
    Route("GET", ADDRESS, _SETTINGS, "The rules by which tools run without being asked about", Rules),
    Route(
        "DELETE",
        ADDRESS,
        _SETTINGS,
        "Take rules back",
        Revoked,
        body=Revocation,
        errors=(404, 503),
    ),
    Route(
        "POST",
        f"{ADDRESS}/dry-run",
        _SETTINGS,
        "What a rule would have allowed in the past 30 days",
        TrialOutcome,
        body=Trial,
        errors=(503,),
    ),
    Route("GET", "/api/settings/mcp", _SETTINGS, "The MCP servers, their secrets masked", ServerList),
    Route(
        "PUT",
        "/api/settings/mcp/{name}",
        _SETTINGS,
        "Add or change an MCP server",
        ServerList,
        (_SERVER,),
        body=Entry,
        errors=(409,),
    ),
    Route(
        "DELETE",
        "/api/settings/mcp/{name}",
        _SETTINGS,
        "Remove an MCP server",
        ServerList,
        (_SERVER,),
        errors=(400, 404, 409),
    ),
    Route(
        "POST",
        "/api/settings/mcp/{name}/restart",
        _SETTINGS,
        "Start an MCP server again",
        ServerList,
        (_SERVER,),
        errors=(400, 404, 409),
    ),
)
