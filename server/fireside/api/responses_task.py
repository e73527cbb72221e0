"""A body of `/v1/responses` to a task for the engine, by way of the chat that it means."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from fireside.api import chat_format as chat
from fireside.api.answer_fields import AnswerFields
from fireside.api.chat_task import task_of
from fireside.api.generation import ChatTask, Served
from fireside.api.responses_conversation import messages_of
from fireside.api.responses_format import FunctionTool, ResponsesBody, TextFormat
from fireside.api.responses_items import Item, WithId, decode_at, items_of
from fireside.api.responses_store import ResponseStore
from fireside.http.errors import BadRequest, NotFound

_NAMED = 5
"""So many tools that are left out are named in a warning."""
_RENAMED = (
    (re.compile(r"\bresponse_format(\.json_schema)?\b"), "text.format"),
    (re.compile(r"\breasoning_effort\b"), "reasoning.effort"),
    (re.compile(r"^messages\b"), "input"),
)


@dataclass(frozen=True)
class Asked:
    """What a body asks for.

    Attributes:
        items: the whole input, earlier responses' included.
        instructions: the body's, or the earlier response's where the body has none.
        tools: those that the model could be shown.
        warning: names the tools that are left out; None if there are none.
    """

    task: ChatTask
    items: Sequence[Item]
    instructions: str | None
    tools: list[FunctionTool]
    warning: str | None


def asked_of(body: ResponsesBody, served: Served, store: ResponseStore, *, own: bool = False) -> Asked:
    """What a body asks for.

    Args:
        own: the request is Fireside's own, and may be interactive.

    Raises:
        BadRequest: a field is not what it must be, or asks for what is not there.
        NotFound: the previous response or an item that is referred to is not stored.
        Forbidden: a foreign request wants to be interactive.
    """
    body.refuse()
    before, instructions = _previous(body, store)
    items = [*before, *items_of(body.input, lambda item_id: _referred(store, item_id))]
    if not items:
        raise BadRequest("input: it must be a text or at least one item.", param="input")
    tools, dropped = _tools(body.tools or [])
    everything = body.reasoning is not None and body.reasoning.context == "all_turns"
    messages = messages_of(instructions, items, offset=len(before), all_thoughts=everything)
    body_of_chat = chat.ChatBody(
        messages=messages,
        tools=[_chat_tool(tool) for tool in tools],
        tool_choice=_choice(body.tool_choice, tools),
        parallel_tool_calls=body.parallel_tool_calls,
        reasoning_effort=_effort(body),
        thinking_budget=body.thinking_budget,
        chat_template_kwargs=body.chat_template_kwargs,
        logprobs=body.wants_logprobs,
        **_shared(body),
    )
    with our_names():
        task = task_of(body_of_chat, served, own=own)
    return Asked(task, items, instructions, tools, _warning(dropped))


@contextmanager
def our_names() -> Generator[None]:
    """Errors about fields of the chat route name those of this one."""
    try:
        yield
    except BadRequest as error:
        raise type(error)(
            renamed(str(error)), param=error.param and renamed(error.param), code=error.error_code
        ) from error


def renamed(text: str) -> str:
    """A text about fields of the chat route, in the names of this one."""
    for pattern, name in _RENAMED:
        text = pattern.sub(name, text)
    return text


def _previous(body: ResponsesBody, store: ResponseStore) -> tuple[list[Item], str | None]:
    """The input and output of the previous response, and the instructions that hold now."""
    if body.previous_response_id is None:
        return [], body.instructions
    stored = store.get(body.previous_response_id)
    if stored is None:
        raise NotFound(
            f"previous_response_id: there is no response {body.previous_response_id!r}: it was not stored, "
            "was deleted, or is too old. Send the whole conversation as input.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    given = msgspec.json.decode(stored.input, type=list[msgspec.Raw])
    response = msgspec.json.decode(stored.response, type=_Earlier)
    instructions = response.instructions if body.instructions is None else body.instructions
    return items_of([*given, *response.output], lambda _: None), instructions


class _Earlier(msgspec.Struct, frozen=True):
    output: list[msgspec.Raw]
    instructions: str | None = None


def _referred(store: ResponseStore, item_id: str) -> msgspec.Raw | None:
    stored = store.owner(item_id)
    if stored is None:
        return None
    output = msgspec.json.decode(stored.response, type=_Earlier).output
    return next(raw for raw in output if msgspec.json.decode(raw, type=WithId).id == item_id)


def _shared(body: ResponsesBody) -> dict[str, Any]:
    """The fields that both routes have; those of one name are one thing."""
    fields = {name: getattr(body, name) for name in AnswerFields.__struct_fields__}
    limit = {"max_tokens": None, "max_completion_tokens": body.answer_tokens}
    text_format = body.text.format if body.text is not None else None
    return {**fields, **limit, "response_format": _response_format(text_format)}


def _response_format(wanted: TextFormat | None) -> dict[str, Any] | None:
    if wanted is None or wanted.type != "json_schema":
        return None if wanted is None else {"type": wanted.type}
    for name in ("name", "schema"):
        if getattr(wanted, name) is None:
            raise BadRequest(f"text.format.{name}: a json_schema needs it.", param=f"text.format.{name}")
    schema: dict[str, Any] = msgspec.to_builtins(wanted)
    del schema["type"]
    return {"type": "json_schema", "json_schema": schema}


def _effort(body: ResponsesBody) -> chat.Effort | None:
    """How hard to think; no template is known to go beyond `xhigh`."""
    effort = body.reasoning.effort if body.reasoning is not None else None
    return "xhigh" if effort == "max" else effort


def _tools(given: Sequence[msgspec.Raw]) -> tuple[list[FunctionTool], list[str]]:
    """The functions, and the types of the tools that are not there."""
    tools: list[FunctionTool] = []
    dropped: list[str] = []
    for index, raw in enumerate(given):
        kind = decode_at(f"tools[{index}]", raw, _Kind).type
        if kind == "function":
            tools.append(decode_at(f"tools[{index}]", raw, FunctionTool))
        else:
            dropped.append(kind)
    return tools, dropped


class _Kind(msgspec.Struct, frozen=True):
    type: str


def _chat_tool(tool: FunctionTool) -> chat.Tool:
    return chat.Tool(chat.ToolFunction(tool.name, tool.description, tool.parameters, tool.strict))


def _choice(
    choice: str | dict[str, Any] | None, tools: Sequence[FunctionTool]
) -> str | dict[str, Any] | None:
    """The choice in the form of the chat route, which checks the names in it."""
    if choice is None or choice in ("none", "auto", "required"):
        return choice
    match choice:
        case {"type": "function", "name": str(name)}:
            return {"type": "function", "function": {"name": name}}
        case {"type": "allowed_tools", "mode": "auto" | "required" as mode, "tools": [*allowed]}:
            entries = [_allowed(entry) for entry in cast("list[object]", allowed)]
            functions = [{"type": "function", "function": {"name": n}} for n in entries if n is not None]
            if not functions and mode == "required":
                raise BadRequest("tool_choice.tools: none of them is a function.", param="tool_choice")
            if not functions:
                return "none"
            return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": functions}}
        case _:
            raise BadRequest(
                f"tool_choice: {choice if isinstance(choice, str) else choice.get('type')!r} cannot be "
                'chosen; it must be none, auto, required, {"type": "function", "name": …} or '
                '{"type": "allowed_tools", "mode": "auto" or "required", "tools": […]}.',
                param="tool_choice",
            )


def _allowed(entry: object) -> str | None:
    """The function that may be called; None for a built-in tool, which is not there anyway."""
    match entry:
        case {"type": "function", "name": str(name)}:
            return name
        case {"type": str(kind)} if kind != "function":
            return None
        case _:
            raise BadRequest(
                "tool_choice.tools: a tool needs a type, and a function a name.", param="tool_choice"
            )


def _warning(dropped: Sequence[str]) -> str | None:
    if not dropped:
        return None
    kinds = list(dict.fromkeys(kind[:40] for kind in dropped))
    more = f" and {len(kinds) - _NAMED} more" if len(kinds) > _NAMED else ""
    return f"tools that are not functions were left out: {', '.join(kinds[:_NAMED])}{more}"
