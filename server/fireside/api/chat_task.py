"""A chat request's body to a task for the engine."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from fireside.api.chat_format import ChatBody, IncomingCall, IncomingMessage
from fireside.api.generation import ChatTask
from fireside.http.errors import BadRequest
from fireside.text.messages import ChatMessage, FunctionCall
from fireside.text.template import TemplateOptions


def task_of(body: ChatBody, thinking: bool | None, *, own: bool = False) -> ChatTask:
    """What a body asks for.

    Args:
        thinking: whether models think unless a request says otherwise; None leaves it to the model.
        own: the request is Fireside's own, and may be interactive.

    Raises:
        BadRequest: a message, a tool or a template value is not what it must be.
        Forbidden: a foreign request wants to be interactive.
    """
    tools = [] if body.tool_choice == "none" else body.tools or []
    return ChatTask(
        messages=[_message(index, message) for index, message in enumerate(body.messages)],
        sampling=body,
        max_tokens=body.answer_tokens,
        stop=body.stops,
        top_logprobs=body.likeliest(body.logprobs),
        priority=body.priority_for(own),
        deadline_s=body.deadline_s,
        thinking_budget=body.thinking_budget,
        options=TemplateOptions(
            tools=[msgspec.to_builtins(tool) for tool in tools],
            values=_template_values(body, thinking),
            continue_final=_continues(body),
        ),
    )


_RESERVED = frozenset((
    "conversation", "messages", "tools", "documents", "chat_template", "add_generation_prompt",
    "continue_final_message", "tokenize", "return_dict", "return_tensors", "return_assistant_tokens_mask",
    "tokenizer_kwargs", "padding", "truncation", "max_length", "sanitize_control_tokens",
))  # fmt: skip
"""What `chat_template_kwargs` may not set: it is the renderer's, not the template's."""


def _template_values(body: ChatBody, thinking: bool | None) -> dict[str, Any]:
    values = dict(body.chat_template_kwargs or {})
    if taken := sorted(_RESERVED & values.keys()):
        raise BadRequest(
            f"chat_template_kwargs: {taken[0]!r} is not the template's to set.", param="chat_template_kwargs"
        )
    if "enable_thinking" not in values:
        if body.reasoning_effort is not None:
            values["enable_thinking"] = body.reasoning_effort != "none"
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
    return body.continue_final_message


def _message(index: int, message: IncomingMessage) -> ChatMessage:
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


def _part_text(index: int, number: int, part: dict[str, object]) -> str:
    text = part.get("text")
    if part.get("type") in ("text", "input_text") and isinstance(text, str):
        return text
    raise BadRequest(
        f"This model reads text only; the part is of type {part.get('type')!r}.",
        param=f"messages[{index}].content[{number}]",
    )


def _arguments(index: int, number: int, call: IncomingCall) -> dict[str, Any]:
    """Arguments as an object; templates loop over them."""
    arguments: Any = call.function.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except ValueError:
            arguments = None
    if not isinstance(arguments, dict):
        raise BadRequest(
            f"The arguments of the call of {call.function.name!r} must be the JSON text of an object.",
            param=f"messages[{index}].tool_calls[{number}].function.arguments",
        )
    return {str(name): value for name, value in arguments.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
