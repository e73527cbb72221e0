"""A body of Anthropic's to a task for the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from fireside.api.chat_format import Tool, ToolFunction
from fireside.api.chat_task import shown_tools, template_kwargs
from fireside.api.constraints import Constraint, ToolChoice, constraint_of
from fireside.api.generation import ChatTask, Served
from fireside.api.messages_blocks import conversation_of
from fireside.api.messages_format import ConversationBody, IncomingTool, MessagesBody
from fireside.http.errors import BadRequest
from fireside.text.messages import ChatMessage
from fireside.text.template import TemplateOptions

_EFFORTS = {"xhigh": "high", "max": "high"}
"""Templates know three efforts."""


@dataclass(frozen=True)
class Translation:
    """A body as a task, and in words what of it has no effect."""

    task: ChatTask
    warnings: tuple[str, ...]


def task_of(body: ConversationBody, served: Served, *, own: bool = False) -> Translation:
    """What a body asks for.

    Args:
        own: the request is Fireside's own, and may be interactive.

    Raises:
        BadRequest: a field is not what it must be, or asks for what is not there.
        Forbidden: a foreign request wants to be interactive.
    """
    _refuse_unsupported(body)
    warnings: list[str] = []
    if body.context_management is not None:
        warnings.append("context_management has no effect: nothing of a conversation is edited here")
    messages = conversation_of(body.system, body.messages)
    continued = _continues(messages)
    tools, choice = _tools(body, warnings)
    task = ChatTask(
        messages=messages if continued or messages[-1].role != "assistant" else messages[:-1],
        sampling=body,
        max_tokens=None,
        stop=(),
        options=TemplateOptions(shown_tools(tools), _template_values(body, served.thinking), continued),
        priority=body.priority_for(own),
        thinking_budget=_thinking_budget(body, served, warnings),
        deadline_s=body.deadline_s,
        constraint=_constraint(body, tools, choice, served, continued),
    )
    if isinstance(body, MessagesBody):
        task = replace(task, max_tokens=body.max_tokens, stop=body.stop_sequences or ())
    return Translation(task, tuple(warnings))


def _refuse_unsupported(body: ConversationBody) -> None:
    body.refuse_missing_capabilities()
    for name, value in (("container", body.container), ("mcp_servers", body.mcp_servers)):
        if value:
            raise BadRequest(
                f"{name}: tools that a server runs are not there; leave the field out.", param=name
            )


def _continues(messages: list[ChatMessage]) -> bool:
    """Whether the last message is the beginning of the answer; one without text begins nothing."""
    last = messages[-1]
    if last.role == "assistant" and last.calls:
        raise BadRequest(
            "messages: the last message calls a tool; the user's next one must have its tool_result.",
            param="messages",
        )
    return last.role == "assistant" and bool(last.content)


def _tools(body: ConversationBody, warnings: list[str]) -> tuple[list[dict[str, Any]], ToolChoice]:
    """The tools that the model is shown, in OpenAI's form, and what it may do with them."""
    tools: list[Tool] = []
    dropped: list[str] = []
    for number, tool in enumerate(body.tools or []):
        if tool.name is not None and tool.input_schema is not None:
            tools.append(_tool(tool.name, tool))
        elif tool.type in (None, "custom"):
            missing = "name" if tool.name is None else "input_schema"
            raise BadRequest(
                f"tools[{number}]: a tool must have a name and an input_schema.",
                param=f"tools[{number}].{missing}",
            )
        else:
            dropped.append(str(tool.type))
    if dropped:
        warnings.append(f"tools of Anthropic's own servers are left out: {', '.join(dropped)}")
    shown, choice = _chosen(body, tools)
    return [msgspec.to_builtins(tool) for tool in shown], choice


def _tool(name: str, tool: IncomingTool) -> Tool:
    return Tool(ToolFunction(name, tool.description, tool.input_schema, tool.strict))


def _chosen(body: ConversationBody, tools: list[Tool]) -> tuple[list[Tool], ToolChoice]:
    choice = body.tool_choice
    if choice is None:
        return tools, ToolChoice()
    parallel = not choice.disable_parallel_tool_use
    match choice.type:
        case "none":
            return [], ToolChoice("none")
        case "auto":
            return tools, ToolChoice(parallel=parallel)
        case "any":
            if not tools:
                raise BadRequest("tool_choice is 'any', but there are no tools.", param="tool_choice")
            return tools, ToolChoice("required", parallel=parallel)
        case "tool":
            named = [tool for tool in tools if tool.function.name == choice.name]
            if not named:
                names = ", ".join(sorted(tool.function.name for tool in tools))
                raise BadRequest(
                    f"tool_choice.name is {choice.name!r}, which is not one of the tools: {names or 'none'}.",
                    param="tool_choice.name",
                )
            return named, ToolChoice("required", choice.name, parallel)


def _template_values(body: ConversationBody, thinking: bool | None) -> dict[str, Any]:
    """What the template is told. Anthropic's clients get thoughts only where somebody asked for them."""
    values = template_kwargs(body.chat_template_kwargs)
    match body.thinking.type if body.thinking is not None else None:
        case "enabled":
            wanted = True
        case "disabled":
            wanted = False
        case "adaptive":
            wanted = thinking
        case None:
            wanted = bool(thinking)
    if wanted is not None:
        values.setdefault("enable_thinking", wanted)
    effort = body.output_config.effort if body.output_config is not None else None
    if effort is not None:
        values.setdefault("reasoning_effort", _EFFORTS.get(effort, effort))
    return values


def _thinking_budget(body: ConversationBody, served: Served, warnings: list[str]) -> int | None:
    if body.thinking is None or body.thinking.type != "enabled":
        return None
    if body.thinking.budget_tokens is None:
        raise BadRequest(
            "thinking.budget_tokens: this is required where thinking is enabled.",
            param="thinking.budget_tokens",
        )
    if not served.text.thinks:
        warnings.append("thinking has no effect: this model does not think")
    elif served.text.thinking is None:
        warnings.append("thinking.budget_tokens has no effect: this model's thoughts cannot be ended")
    else:
        return body.thinking.budget_tokens
    return None


def _constraint(
    body: ConversationBody,
    tools: list[dict[str, Any]],
    choice: ToolChoice,
    served: Served,
    continued: bool,
) -> Constraint | None:
    """The constraint, with Anthropic's names of the fields that ask for it."""
    names = {"parallel_tool_calls": "tool_choice.disable_parallel_tool_use"}
    named = {
        "output_config.format": body.output_config.format if body.output_config is not None else None,
        "output_format": body.output_format,
    }
    given = {field: value for field, value in named.items() if value is not None}
    if not given:
        return constraint_of(body, tools, choice, served.text, names)
    if len(given) > 1 or body.response_format is not None:
        raise BadRequest(
            "output_format: the format is given twice; one field is enough.", param="output_format"
        )
    ((field, wanted),) = given.items()
    if continued:
        raise BadRequest(
            f"{field}: an answer that the last message begins cannot be given a format.", param=field
        )
    schema: Mapping[str, Any] = {"name": "output", "schema": wanted.schema, "strict": True}
    response_format = {"type": "json_schema", "json_schema": schema}
    fields = msgspec.structs.replace(body, response_format=response_format)
    return constraint_of(fields, tools, choice, served.text, {**names, "response_format": field})
