"""One generation for every protocol: messages in, text and its end out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fireside.api.constraints import Constraint
from fireside.api.enforcing import GrammarOutcome, enforced, instructed
from fireside.api.plain_text import PlainText
from fireside.api.request_log import RequestLog, logged
from fireside.api.sampling import SamplingFields, choose
from fireside.engine.admission import Admission, admit
from fireside.engine.engine import Engine
from fireside.engine.requests import (
    About,
    Accepted,
    Broken,
    Cancelled,
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
from fireside.http.errors import (
    BadRequest,
    ContextOverBudget,
    DeadlineExceeded,
    EngineError,
    RequestCancelled,
)
from fireside.text.grammar.compiler import GrammarCompiler
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
from fireside.wire import Grammar, Logprobs, ThinkingBudget

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
        created: when the model's folder last changed, in seconds since 1970.
        grammars: compiles what answers must look like; None where no grammar is enforced.
    """

    model_id: str
    text: TextModel
    engine: Engine
    flags: SamplingFields = field(default_factory=SamplingFields)
    max_tokens: int | None = None
    thinking: bool | None = None
    admission: Admission | None = None
    log: RequestLog | None = None
    created: int = 0
    grammars: GrammarCompiler | None = None


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
    constraint: Constraint | None = None
    in_memory: bool = False
    owner: str = ""


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
        stop_text: which of the task's stop texts ended it, if one did.
        from_ssd: of the cached tokens, those that came from the SSD tier.
    """

    reason: str
    prompt_tokens: int
    completion_tokens: int
    seed: int
    timings: Timings
    lane: Lane
    cached_tokens: int
    stop_text: str | None = None
    from_ssd: int = 0


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
    """What was changed of the request; None if nothing was."""
    raw: bool = False
    """Whether markup is not read: all of the answer is content."""


async def grammar_of(
    served: Served, constraint: Constraint | None, *, thinking: bool = False
) -> GrammarOutcome:
    """Check and compile a constraint. Without grammars on this server there is none.

    Args:
        thinking: the answer may begin with thoughts, which the grammar is not for.

    Raises:
        BadRequest: the constraint is wrong, or a strict one cannot be enforced (`unsupported_constraint`).
    """
    return await enforced(served.grammars, constraint, served.text.thinking, thinking=thinking)


async def prepare(served: Served, task: ChatTask) -> Prepared:
    """Render a task.

    Raises:
        BadRequest: the chat template refuses it, or its constraint is wrong or cannot be enforced.
        ContextOverBudget: the prompt leaves no room for an answer, in the context or in the memory.
    """
    thinking = served.text.thinks and task.options.values.get("enable_thinking") is not False
    outcome = await grammar_of(served, task.constraint, thinking=thinking)
    prompt = await rendered(served, instructed(task.messages, outcome.instruction), task.options)
    window = served.text.context_window
    if window - len(prompt.ids) < 1:
        raise _over_budget(served, str(len(prompt.ids)))
    fit = admit(served.admission, window, len(prompt.ids), task.max_tokens, served.max_tokens)
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
        grammar=_after_thoughts(outcome.grammar, prompt),
        vocabulary=outcome.vocabulary,
        in_memory=task.in_memory,
        owner=task.owner,
    )
    continued = prompt.ids[-CONTINUED_TOKENS:] if task.options.continue_final else ()
    warning = "; ".join(filter(None, (fit.warning, outcome.warning))) or None
    return Prepared(request, task.stop, task.options.tools, prompt.thinking_open, continued, warning)


async def rendered(served: Served, messages: Sequence[ChatMessage], options: TemplateOptions) -> Prompt:
    """The prompt of a conversation, also where it leaves no room for an answer.

    Raises:
        BadRequest: the chat template refuses it.
        ContextOverBudget: it is so long that its tokens are not even counted.
    """
    prompt = None
    if not served.text.surely_too_long(messages):
        prompt = await served.text.render(messages, options)
    if prompt is None:
        raise _over_budget(served, "far too many")
    return prompt


def _after_thoughts(grammar: Grammar | None, prompt: Prompt) -> Grammar | None:
    if grammar is None or not prompt.thinking_open or not grammar.closing:
        return grammar
    return msgspec.structs.replace(grammar, opened=True)


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
        RequestCancelled: somebody else than the client ended it.
    """
    detokenizer = served.text.detokenizer(prepared.continued)
    answer = _Answer(detokenizer, _parser(served, prepared), StopText(prepared.stop))
    texts = served.log is not None and served.log.texts
    asked = await served.text.decode(prepared.request.prompt) if texts else ""
    async with served.engine.generate(prepared.request, about) as row:
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
                    case Cancelled():
                        raise RequestCancelled(
                            f"The request {about.id} was cancelled by way of /api/requests."
                        )
                    case Expired():
                        raise DeadlineExceeded(
                            f"The answer did not end within {prepared.request.deadline_s:g} s (deadline_s)."
                        )
                    case _:
                        yield event
                        continue
                for piece in pieces:
                    yield piece
                if answer.stop_text is not None:
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
                answer.stop_text,
                row.from_ssd,
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
        self.stop_text: str | None = None

    def add(self, token: int) -> list[MarkupEvent]:
        self.tokens += 1
        self.raw.append(self._detokenizer.add(token))
        return self._cut(self._parser.feed(self.raw[-1]))

    def finish(self, truncated: bool) -> list[MarkupEvent]:
        self.raw.append(self._detokenizer.finish())
        rest = self._parser.feed(self.raw[-1])
        events = self._cut([*rest, *self._parser.finish(truncated)])
        return events + self._held() if self.stop_text is None else events

    def _cut(self, events: list[MarkupEvent]) -> list[MarkupEvent]:
        """The events up to the first stop text in the content."""
        passed: list[MarkupEvent] = []
        for event in events:
            if isinstance(event, ContentText):
                cut = self._stop.feed(event.text)
                if cut.text:
                    passed.append(ContentText(cut.text))
                if cut.stopped:
                    self.stop_text = cut.stop
                    break
            else:
                passed += [*self._held(), event]
                self.called |= isinstance(event, CallFinished) and event.outcome is Outcome.COMPLETE
        return passed

    def _held(self) -> list[MarkupEvent]:
        """Content that might have begun a stop text, once other things follow it."""
        text = self._stop.flush()
        return [ContentText(text)] if text else []
