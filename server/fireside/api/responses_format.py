"""The shapes of `/v1/responses`, in the format of OpenAI's Responses API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fireside.api.answer_fields import AnswerFields
from fireside.api.chat_format import FiresideUsage, ToolName
from fireside.http.errors import BadRequest

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Summary = Literal["auto", "concise", "detailed"]
Status = Literal["in_progress", "completed", "incomplete", "failed"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]
Includable = Literal[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
]
"""Only logprobs have an effect: thoughts are open anyway, and the other items do not occur."""

Metadata = Annotated[
    dict[Annotated[str, Meta(max_length=64)], Annotated[str, Meta(max_length=512)]], Meta(max_length=16)
]


class ReasoningFields(msgspec.Struct, frozen=True):
    """How to think. A summary is always the thoughts themselves, whichever is asked for."""

    effort: Effort | None = None
    summary: Summary | None = None
    generate_summary: Summary | None = None
    mode: Literal["standard", "pro"] | None = None
    context: Literal["auto", "current_turn", "all_turns"] | None = None


class TextFormat(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the answer's text must be; the fields behind the type are a JSON schema's."""

    type: Literal["text", "json_object", "json_schema"]
    name: Annotated[str, Meta(min_length=1)] | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None
    description: str | None = None


class TextFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """`verbosity` is taken and has no effect."""

    format: TextFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class PromptCacheOptions(msgspec.Struct, frozen=True):
    """Of no effect but for `prewarm`, which asks for no answer at all and is refused."""

    prewarm: bool | None = None


class FunctionTool(msgspec.Struct, frozen=True, kw_only=True):
    """A function; unlike in chat, its fields are the tool's own."""

    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    type: Literal["function"] = "function"


class ResponsesBody(AnswerFields, frozen=True, kw_only=True):
    """What of the request body is acted upon, echoed or refused. What `AnswerFields` has beside is ours."""

    input: str | list[msgspec.Raw] | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    store: bool | None = None
    include: list[Includable] | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    reasoning: ReasoningFields | None = None
    text: TextFields | None = None
    tools: list[msgspec.Raw] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    truncation: Literal["auto", "disabled"] | None = None
    thinking_budget: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    """Tokens of the answer after which a thinking block that is still open is closed."""
    chat_template_kwargs: dict[str, Any] | None = None

    # Of no effect here, and harmless.
    max_tool_calls: Annotated[int, Meta(ge=1)] | None = None
    """Of built-in tools, which are never called."""
    metadata: Metadata | None = None
    prompt_cache_options: PromptCacheOptions | None = None
    service_tier: str | None = None

    # Refused by name.
    background: bool | None = None
    background_options: dict[str, Any] | None = None
    conversation: str | dict[str, Any] | None = None
    prompt: dict[str, Any] | None = None
    context_management: list[Any] | None = None
    moderation: dict[str, Any] | None = None
    access_programs: dict[str, Any] | None = None

    @property
    def answer_tokens(self) -> int | None:
        """How long the answer may get, thoughts included; None where nothing is said."""
        return self.max_output_tokens or self.max_completion_tokens or self.max_tokens

    @property
    def wants_logprobs(self) -> bool:
        """Whether text comes with how likely its tokens were."""
        return "message.output_text.logprobs" in (self.include or [])

    def refuse(self) -> None:
        """Check that nothing is asked for that this server does not have.

        Raises:
            BadRequest: it is; `param` is the field.
        """
        for name, reason in _REFUSED.items():
            if getattr(self, name):
                raise BadRequest(f"{name}: {reason}", param=name)
        if self.truncation == "auto":
            raise BadRequest(
                "truncation: this server leaves nothing of the input out; it must be 'disabled'.",
                param="truncation",
            )
        if self.reasoning is not None and self.reasoning.mode == "pro":
            raise BadRequest("reasoning.mode: must be 'standard' here.", param="reasoning.mode")
        if self.prompt_cache_options is not None and self.prompt_cache_options.prewarm:
            raise BadRequest(
                "prompt_cache_options.prewarm: every request here is answered; leave it out.",
                param="prompt_cache_options.prewarm",
            )


_REFUSED = {
    "background": "responses are not made in the background here; leave it out and use `stream`.",
    "background_options": "responses are not made in the background here.",
    "conversation": "there are no conversation objects here; use `previous_response_id`.",
    "prompt": "there are no stored prompts here; send `instructions` and `input`.",
    "context_management": "nothing is compacted here; send a shorter input.",
    "moderation": "nothing is moderated here.",
    "access_programs": "there are none here.",
    "response_format": "in the Responses API this is `text.format`.",
}


class LikelyToken(msgspec.Struct, frozen=True):
    """A token and how likely it was; `bytes` is empty where it is a part of a character."""

    token: str
    bytes: list[int]
    logprob: float


class TokenEntry(LikelyToken, frozen=True):
    """A token of the answer's text."""

    top_logprobs: list[LikelyToken]


class OutputText(msgspec.Struct, frozen=True):
    """The text of a message. There are never annotations."""

    text: str
    logprobs: list[TokenEntry] = []
    annotations: list[Any] = []
    type: Literal["output_text"] = "output_text"


class OutputMessage(msgspec.Struct, frozen=True):
    id: str
    status: ItemStatus
    content: list[OutputText]
    role: Literal["assistant"] = "assistant"
    type: Literal["message"] = "message"


class SummaryText(msgspec.Struct, frozen=True):
    text: str
    type: Literal["summary_text"] = "summary_text"


class ReasoningItem(msgspec.Struct, frozen=True):
    """Thoughts: as a summary, since that is what clients show."""

    id: str
    status: ItemStatus
    summary: list[SummaryText]
    type: Literal["reasoning"] = "reasoning"


class FunctionCallItem(msgspec.Struct, frozen=True):
    """A call; `arguments` is whole JSON only where the status is `completed`."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    arguments: str
    type: Literal["function_call"] = "function_call"


OutputItem = OutputMessage | ReasoningItem | FunctionCallItem


class InputDetails(msgspec.Struct, frozen=True):
    cached_tokens: int
    cache_write_tokens: int = 0


class OutputDetails(msgspec.Struct, frozen=True):
    reasoning_tokens: int


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens; `lane`, and `fireside` with `return_progress`, are ours."""

    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails
    total_tokens: int
    lane: str
    fireside: FiresideUsage | msgspec.UnsetType = msgspec.UNSET


class IncompleteDetails(msgspec.Struct, frozen=True):
    reason: Literal["max_output_tokens"] = "max_output_tokens"


class ResponseError(msgspec.Struct, frozen=True):
    """Why a response failed. OpenAI's list of codes is closed; `type` is our own code."""

    message: str
    type: str
    code: Literal["server_error"] = "server_error"


class Deleted(msgspec.Struct, frozen=True):
    id: str
    object: Literal["response"] = "response"
    deleted: bool = True


class ReasoningEcho(msgspec.Struct, frozen=True):
    effort: Effort | None
    summary: Summary | None


class ResponseObject(msgspec.Struct, frozen=True, kw_only=True):
    """A response: the request's parameters as they were understood, and the answer as far as it is.

    `tools` are those that the model was shown or could have been: built-in ones are left out.
    """

    id: str
    created_at: int
    model: str
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    metadata: dict[str, str]
    parallel_tool_calls: bool
    previous_response_id: str | None
    prompt_cache_key: str | None
    prompt_cache_retention: str | None
    reasoning: ReasoningEcho
    safety_identifier: str | None
    store: bool
    temperature: float
    text: TextFields
    tool_choice: str | dict[str, Any]
    tools: list[FunctionTool]
    top_logprobs: int
    top_p: float
    user: str | None
    status: Status = "in_progress"
    output: list[OutputItem] = []
    error: ResponseError | None = None
    incomplete_details: IncompleteDetails | None = None
    usage: Usage | None = None
    completed_at: int | None = None
    background: bool = False
    service_tier: str = "default"
    truncation: str = "disabled"
    object: Literal["response"] = "response"
