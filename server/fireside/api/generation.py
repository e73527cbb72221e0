"""One generation for every protocol: messages in, text and its end out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fireside.api.plain_text import PlainText
from fireside.api.request_log import About, RequestLog, logged
from fireside.api.sampling import SamplingFields, choose
from fireside.engine.admission import Admission, admit
from fireside.engine.engine import Engine
from fireside.engine.requests import (
    Accepted,
    Broken,
    Expired,
    Finished,
    GenerationRequest,
    Lane,
    Prefill,
    Priority,
    Queued,
    Restarting,
    Timings,
    Token,
)
from fireside.http.errors import BadRequest, ContextOverBudget, DeadlineExceeded, EngineError
from fireside.text.markup import (
    AnswerParser,
    CallFinished,
    ContentText,
    MarkupEvent,
    MarkupSpec,
    Outcome,
)
from fireside.text.messages import ChatMessage
from fireside.text.model import Detokenizer, TextModel
from fireside.text.stop import StopText
from fireside.text.template import Prompt, TemplateOptions
from fireside.wire import Logprobs, ThinkingBudget

CONTINUED_TOKENS = 8


@dataclass(frozen=True)
class Served:
    """A model that can be asked.

    Attributes:
        model_id: as clients know it.
        flags: sampling that the server was started with, where a request says nothing.
        max_tokens: of an answer whose request does not limit it; None is the rest of the context.
        thinking: whether it thinks unless a request says otherwise; None leaves it to the model.
        admission: what fits into memory; None for whatever the context window holds.
    """

    model_id: str
    text: TextModel
    engine: Engine
    flags: SamplingFields = field(default_factory=SamplingFields)
    max_tokens: int | None = None
    thinking: bool | None = None
    admission: Admission | None = None
    log: RequestLog | None = None


@dataclass(frozen=True)
class ChatTask:
    """A chat request of any protocol."""

    messages: Sequence[ChatMessage]
    sampling: SamplingFields
    max_tokens: int | None
    stop: Sequence[str]
    top_logprobs: int | None = None
    options: TemplateOptions = field(default_factory=TemplateOptions)
    priority: Priority = Priority.NORMAL
    thinking_budget: int | None = None
    deadline_s: float | None = None


@dataclass(frozen=True)
class TokenLogprobs:
    """How likely a token of the answer was, of its thoughts and calls too; comes before the token's text."""

    token: int
    logprobs: Logprobs


@dataclass(frozen=True)
class End:
    """The answer is complete. Counts are tokens; `completion_tokens` has no stop token.

    Attributes:
        reason: "stop", "length", or "tool_calls" where a whole call was made.
        lane: in which it ran.
        cached_tokens: of the prompt, that the prompt cache had.
    """

    reason: str
    prompt_tokens: int
    completion_tokens: int
    seed: int
    timings: Timings
    lane: Lane
    cached_tokens: int


Output = Accepted | Queued | Prefill | Restarting | TokenLogprobs | MarkupEvent | End


@dataclass(frozen=True)
class Prepared:
    """A task that the engine can take: rendered, measured, and its defaults filled in."""

    request: GenerationRequest
    stop: Sequence[str]
    tools: Sequence[Mapping[str, Any]]
    thinking_open: bool
    continued: Sequence[int]
    """The last tokens of the text that the answer continues, if it does."""
    warning: str | None = None
    """What was changed of the request, in ASCII; None if nothing was."""
    raw: bool = False
    """Whether markup is not read: all of the answer is content."""


async def prepare(served: Served, task: ChatTask) -> Prepared:
    """Render a task.

    Raises:
        BadRequest: the chat template refuses it.
        ContextOverBudget: the prompt leaves no room for an answer, in the context or in the memory.
    """
    if served.text.surely_too_long(task.messages):
        raise _over_budget(served, "far too many")
    prompt = await served.text.render(task.messages, task.options)
    if prompt is None:
        raise _over_budget(served, "far too many")
    window = served.text.context_window
    if window - len(prompt.ids) < 1:
        raise _over_budget(served, str(len(prompt.ids)))
    fit = admit(served.admission, window, len(prompt.ids), task.max_tokens, served.max_tokens)
    thinking = served.text.thinks and task.options.values.get("enable_thinking") is not False
    request = GenerationRequest(
        prompt=prompt.ids,
        max_tokens=fit.max_tokens,
        stop_ids=served.text.stop_ids,
        sampling=choose(task.sampling, served.flags, served.text, thinking),
        top_logprobs=task.top_logprobs,
        serial=task.sampling.alone,
        priority=task.priority,
        boundary=prompt.boundary,
        thinking=_thinking_budget(served, task, prompt) if thinking else None,
        deadline_s=task.deadline_s,
    )
    continued = prompt.ids[-CONTINUED_TOKENS:] if task.options.continue_final else ()
    return Prepared(request, task.stop, task.options.tools, prompt.thinking_open, continued, fit.warning)


def _thinking_budget(served: Served, task: ChatTask, prompt: Prompt) -> ThinkingBudget | None:
    if task.thinking_budget is None:
        return None
    tokens = served.text.thinking
    if tokens is None:
        raise BadRequest(
            f"thinking_budget: {served.model_id} does not mark its thoughts with single tokens, so that they "
            "cannot be ended. Leave the field out.",
            param="thinking_budget",
        )
    return ThinkingBudget(
        task.thinking_budget, prompt.thinking_open, tokens.open_id, tokens.close_id, list(tokens.closing)
    )


def _over_budget(served: Served, tokens: str) -> ContextOverBudget:
    window = served.text.context_window
    return ContextOverBudget(
        f"The conversation has {tokens} tokens; {served.model_id} holds {window}, the answer included. "
        "Shorten it or start a new chat.",
        param="messages",
    )


async def generate(served: Served, prepared: Prepared, about: About) -> AsyncGenerator[Output, None]:
    """The answer as it comes, ending in `End`. Closing the generator stops the engine's row.

    The first output is `Accepted`; what is refused is refused before it.

    Raises:
        TooBusy: as many requests wait as may.
        EngineError: the engine gave the request up.
        DeadlineExceeded: the request's deadline passed first.
    """
    detokenizer = served.text.detokenizer(prepared.continued)
    answer = _Answer(detokenizer, _parser(served, prepared), StopText(prepared.stop))
    texts = served.log is not None and served.log.texts
    asked = await served.text.decode(prepared.request.prompt) if texts else ""
    async with served.engine.generate(prepared.request) as row:
        with logged(served.log, about, row, lambda: (asked, "".join(answer.raw))) as outcome:
            yield Accepted()
            reason = None
            while reason is None:
                match event := await row.next():
                    case Token():
                        if event.logprobs is not None:
                            yield TokenLogprobs(event.id, event.logprobs)
                        pieces = answer.add(event.id)
                    case Finished():
                        pieces, reason = answer.finish(event.reason == "length"), event.reason
                    case Broken():
                        raise EngineError(event.message)
                    case Expired():
                        raise DeadlineExceeded(
                            f"The answer did not end within {prepared.request.deadline_s:g} s (deadline_s)."
                        )
                    case _:
                        yield event
                        continue
                for piece in pieces:
                    yield piece
                if answer.stopped:
                    reason = row.outcome = "stop"
            outcome.finish = "tool_calls" if answer.called and reason == "stop" else reason
            outcome.completion_tokens = answer.tokens
            yield End(
                outcome.finish,
                len(prepared.request.prompt),
                answer.tokens,
                prepared.request.sampling.seed,
                row.timings(),
                row.lane,
                row.cached,
            )


def _parser(served: Served, prepared: Prepared) -> AnswerParser | PlainText:
    if prepared.raw:
        return PlainText()
    markup: MarkupSpec = served.text.markup
    if not prepared.tools:
        markup = markup.without_calls()
    return AnswerParser(markup, prepared.tools, prepared.thinking_open)


class _Answer:
    """The text state of one answer: tokens to text, text to events, stop texts cut out of the content."""

    def __init__(self, detokenizer: Detokenizer, parser: AnswerParser | PlainText, stop: StopText) -> None:
        self._detokenizer = detokenizer
        self._parser = parser
        self._stop = stop
        self.raw: list[str] = []
        """The text as the model wrote it, in pieces."""
        self.tokens = 0
        self.called = False
        self.stopped = False

    def add(self, token: int) -> list[MarkupEvent]:
        self.tokens += 1
        self.raw.append(self._detokenizer.add(token))
        return self._cut(self._parser.feed(self.raw[-1]))

    def finish(self, truncated: bool) -> list[MarkupEvent]:
        self.raw.append(self._detokenizer.finish())
        rest = self._parser.feed(self.raw[-1])
        events = self._cut([*rest, *self._parser.finish(truncated)])
        return events if self.stopped else events + self._held()

    def _cut(self, events: list[MarkupEvent]) -> list[MarkupEvent]:
        """The events up to the first stop text in the content."""
        passed: list[MarkupEvent] = []
        for event in events:
            if isinstance(event, ContentText):
                cut = self._stop.feed(event.text)
                if cut.text:
                    passed.append(ContentText(cut.text))
                if cut.stopped:
                    self.stopped = True
                    break
            else:
                passed += [*self._held(), event]
                self.called |= isinstance(event, CallFinished) and event.outcome is Outcome.COMPLETE
        return passed

    def _held(self) -> list[MarkupEvent]:
        """Content that might have begun a stop text, once other things follow it."""
        text = self._stop.flush()
        return [ContentText(text)] if text else []
