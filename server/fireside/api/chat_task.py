"""A chat request's body to a task for the engine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fireside.api.chat_format import ChatBody, IncomingCall, IncomingMessage
from fireside.api.constraints import constraint_of
from fireside.api.generation import ChatTask, Served
from fireside.api.tool_choice import chosen_tools
from fireside.http.errors import BadRequest
from fireside.text.messages import ChatMessage, FunctionCall
from fireside.text.template import TemplateOptions


def task_of(body: ChatBody, served: Served, *, own: bool = False) -> ChatTask:
    """What a body asks for.

    Args:
        own: the request is Fireside's own, and may be interactive.

    Raises:
        BadRequest: a message, a tool or a template value is not what it must be.
        Forbidden: a foreign request wants to be interactive.
    """
    _refuse_unsupported(body)
    chosen, choice = chosen_tools(body)
    tools = [msgspec.to_builtins(tool) for tool in chosen]
    return ChatTask(
        messages=[_message(index, message) for index, message in enumerate(body.messages)],
        sampling=body,
        max_tokens=body.answer_tokens,
        stop=body.stops,
        top_logprobs=body.likeliest(body.logprobs),
        priority=body.priority_for(own),
        deadline_s=body.deadline_s,
        in_memory=body.in_memory,
        owner=body.owner,
        thinking_budget=_thinking_budget(body),
        constraint=constraint_of(body, tools, choice, served.text),
        options=TemplateOptions(
            tools=shown_tools(tools),
            values=_template_values(body, served.thinking),
            continue_final=_continues(body),
        ),
    )


def shown_tools(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tools as templates know them: how strictly a schema is enforced is nothing that the model reads.

    Args:
        tools: in OpenAI's form.
    """
    return [
        {**tool, "function": {name: value for name, value in tool["function"].items() if name != "strict"}}
        for tool in tools
    ]


def _refuse_unsupported(body: ChatBody) -> None:
    body.refuse_missing_capabilities()
    if other := [modality for modality in body.modalities or [] if modality != "text"]:
        raise BadRequest(f"modalities: answers are text; {other[0]!r} is not there.", param="modalities")
    if body.audio is not None:
        raise BadRequest("audio: answers are text, nothing is spoken; leave it out.", param="audio")
    if body.web_search_options is not None:
        raise BadRequest(
            "web_search_options: the model does not search; offer it a tool that does.",
            param="web_search_options",
        )


def _thinking_budget(body: ChatBody) -> int | None:
    if body.thinking_budget is not None or body.thinking is None or body.thinking.type == "disabled":
        return body.thinking_budget
    return body.thinking.budget_tokens


_RESERVED = frozenset((
    "conversation", "messages", "tools", "documents", "chat_template", "add_generation_prompt",
    "continue_final_message", "tokenize", "return_dict", "return_tensors", "return_assistant_tokens_mask",
    "tokenizer_kwargs", "padding", "truncation", "max_length", "sanitize_control_tokens",
))  # fmt: skip
"""What `chat_template_kwargs` may not set: it is the renderer's, not the template's."""


def template_kwargs(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """What `chat_template_kwargs` sets.

    Raises:
        BadRequest: it sets what is not the template's.
    """
    values = dict(given or {})
    if taken := sorted(_RESERVED & values.keys()):
        raise BadRequest(
            f"chat_template_kwargs: {taken[0]!r} is not the template's to set.", param="chat_template_kwargs"
        )
    return values


def _template_values(body: ChatBody, thinking: bool | None) -> dict[str, Any]:
    values = template_kwargs(body.chat_template_kwargs)
    if "enable_thinking" not in values:
        if body.reasoning_effort is not None:
            values["enable_thinking"] = body.reasoning_effort != "none"
        elif body.thinking is not None and body.thinking.type != "adaptive":
            values["enable_thinking"] = body.thinking.type == "enabled"
        elif thinking is not None:
            values["enable_thinking"] = thinking
    if body.reasoning_effort is not None:
        values.setdefault("reasoning_effort", body.reasoning_effort)
    return values


def _continues(body: ChatBody) -> bool:
    if body.continue_final_message and (
        body.messages[-1].role != "assistant" or body.messages[-1].tool_calls
    ):
        raise BadRequest(
            "continue_final_message: the last message must be an assistant's text.",
            param="continue_final_message",
        )
    return bool(body.continue_final_message)


def _message(index: int, message: IncomingMessage) -> ChatMessage:
    if message.function_call is not None:
        where = f"messages[{index}].function_call"
        raise BadRequest(
            f"{where}: OpenAI replaced it by tool_calls; send the call as one of those.", param=where
        )
    return ChatMessage(
        role="system" if message.role == "developer" else message.role,
        content=_text(index, message),
        reasoning=message.reasoning or message.reasoning_content or "",
        calls=tuple(
            FunctionCall(call.function.name, _arguments(index, number, call), call.id)
            for number, call in enumerate(message.tool_calls or [])
        ),
        call_id=message.tool_call_id,
        name=message.name,
    )


def _text(index: int, message: IncomingMessage) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    return "".join(_part_text(index, number, part) for number, part in enumerate(message.content))


_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")


def _part_text(index: int, number: int, part: dict[str, object]) -> str:
    kind = part.get("type")
    text = part.get("refusal" if kind == "refusal" else "text")
    if kind in _TEXT_PARTS and isinstance(text, str):
        return text
    where = f"messages[{index}].content[{number}]"
    if kind in _TEXT_PARTS:
        raise BadRequest(f"{where}: a part of type {kind!r} must have a text.", param=where)
    raise BadRequest(
        f"{where}: this model reads text only; the part is of type {kind!r}. Nothing was fetched or opened.",
        param=where,
    )


def _arguments(index: int, number: int, call: IncomingCall) -> dict[str, Any]:
    """Arguments as an object; templates loop over them."""
    arguments: Any = call.function.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(arguments, dict):
        raise BadRequest(
            f"The arguments of the call of {call.function.name!r} must be the JSON text of an object.",
            param=f"messages[{index}].tool_calls[{number}].function.arguments",
        )
    return {str(name): value for name, value in arguments.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
