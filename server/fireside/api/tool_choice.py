"""`tool_choice` of the chat route: which tools the model is shown, and which it may or must call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from fireside.api.chat_format import ChatBody, Tool
from fireside.api.constraints import ToolChoice
from fireside.http.errors import BadRequest


def chosen_tools(body: ChatBody) -> tuple[list[Tool], ToolChoice]:
    """The tools that the model is shown, and what it may do with them.

    Tools that may not be called are not shown.

    Raises:
        BadRequest: the choice is none of OpenAI's forms, or names a tool that the body does not have.
    """
    _refuse_functions(body)
    tools = body.tools or []
    parallel = body.parallel_tool_calls is not False
    choice = body.tool_choice
    if choice is None or choice == "auto":
        return tools, ToolChoice(parallel=parallel)
    if choice == "none":
        return [], ToolChoice("none")
    if choice == "required":
        return _needed(tools, "required"), ToolChoice("required", parallel=parallel)
    if isinstance(choice, str):
        raise _wrong(f"{choice!r}")
    match choice.get("type"):
        case "function":
            name = _name(choice)
            return _named(tools, [name]), ToolChoice("required", name, parallel=parallel)
        case "allowed_tools":
            names, mode = _allowed(choice)
            return _named(tools, names), ToolChoice(mode, parallel=parallel)
        case other:
            raise _wrong(f"an object of type {other!r}")


def _refuse_functions(body: ChatBody) -> None:
    """The forms before `tools`, whose answers are of another shape too."""
    if body.functions:
        raise BadRequest("functions: OpenAI replaced them by tools; send them as tools.", param="functions")
    if body.function_call not in (None, "none", "auto"):
        raise BadRequest(
            "function_call: OpenAI replaced it by tool_choice; send that, with tools.", param="function_call"
        )


def _allowed(choice: dict[str, Any]) -> tuple[list[str], Literal["auto", "required"]]:
    allowed = _fields(choice.get("allowed_tools"))
    mode, entries = allowed.get("mode", "auto"), allowed.get("tools")
    if mode not in ("auto", "required"):
        raise _wrong("allowed_tools with another mode than auto or required")
    if not isinstance(entries, list) or not entries:
        raise _wrong("allowed_tools without a list of tools")
    names = [_name(_fields(entry)) for entry in cast("list[object]", entries)]
    return names, mode


def _name(choice: dict[str, Any]) -> str:
    name = _fields(choice.get("function")).get("name")
    if not isinstance(name, str):
        raise _wrong("a function without a name")
    return name


def _fields(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _named(tools: Sequence[Tool], names: Sequence[str]) -> list[Tool]:
    have = {tool.function.name for tool in tools}
    if missing := next((name for name in names if name not in have), None):
        raise BadRequest(
            f"tool_choice: there is no tool {missing!r}; there are: {', '.join(sorted(have)) or 'none'}.",
            param="tool_choice",
        )
    return [tool for tool in tools if tool.function.name in names]


def _needed(tools: list[Tool], mode: str) -> list[Tool]:
    if not tools:
        raise BadRequest(f"tool_choice is {mode!r}, but there are no tools.", param="tool_choice")
    return tools


def _wrong(what: str) -> BadRequest:
    return BadRequest(
        f"tool_choice is {what}; it must be none, auto, required, "
        '{"type": "function", "function": {"name": …}} or '
        '{"type": "allowed_tools", "allowed_tools": {"mode": "auto" or "required", "tools": […]}}.',
        param="tool_choice",
    )
