"""One generation for every protocol: messages in, text and its end out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from fireside.api.sampling import SamplingFields, choose
from fireside.engine.engine import Engine
from fireside.engine.requests import (
    Broken,
    Finished,
    GenerationRequest,
    Prefill,
    Queued,
    Restarting,
    Timings,
    Token,
)
from fireside.http.errors import ContextOverBudget, EngineError
from fireside.text.model import ChatMessage, Detokenizer, TextModel
from fireside.text.stop import StopText

LANE = "batched"


@dataclass(frozen=True)
class Served:
    """A model that can be asked.

    Attributes:
        model_id: as clients know it.
        flags: sampling that the server was started with, where a request says nothing.
        max_tokens: of an answer whose request does not limit it; None is the rest of the context.
    """

    model_id: str
    text: TextModel
    engine: Engine
    flags: SamplingFields = field(default_factory=SamplingFields)
    max_tokens: int | None = None


@dataclass(frozen=True)
class ChatTask:
    """A chat request of any protocol."""

    messages: Sequence[ChatMessage]
    sampling: SamplingFields
    max_tokens: int | None
    stop: Sequence[str]


@dataclass(frozen=True)
class Text:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True)
class End:
    """The answer is complete. Counts are tokens; `completion_tokens` has no stop token."""

    reason: str
    prompt_tokens: int
    completion_tokens: int
    seed: int
    timings: Timings


Output = Queued | Prefill | Restarting | Text | End


@dataclass(frozen=True)
class Prepared:
    """A task that the engine can take: rendered, measured, and its defaults filled in."""

    request: GenerationRequest
    stop: Sequence[str]


async def prepare(served: Served, task: ChatTask) -> Prepared:
    """Render a task.

    Raises:
        BadRequest: the chat template refuses it.
        ContextOverBudget: the prompt leaves no room for an answer.
    """
    if served.text.surely_too_long(task.messages):
        raise _over_budget(served, "far too many")
    prompt = await served.text.render(task.messages)
    room = served.text.context_window - len(prompt)
    if room < 1:
        raise _over_budget(served, str(len(prompt)))
    request = GenerationRequest(
        prompt=prompt,
        max_tokens=min(task.max_tokens or served.max_tokens or room, room),
        stop_ids=served.text.stop_ids,
        sampling=choose(task.sampling, served.flags, served.text),
    )
    return Prepared(request, task.stop)


def _over_budget(served: Served, tokens: str) -> ContextOverBudget:
    window = served.text.context_window
    return ContextOverBudget(
        f"The conversation has {tokens} tokens; {served.model_id} holds {window}, the answer included. "
        "Shorten it or start a new chat.",
        param="messages",
    )


async def generate(served: Served, prepared: Prepared) -> AsyncGenerator[Output, None]:
    """The answer as it comes, ending in `End`. Closing the generator stops the engine's row.

    Raises:
        EngineError: the engine gave the request up.
    """
    answer = _Answer(served.text.detokenizer(), StopText(prepared.stop))
    async with served.engine.generate(prepared.request) as row:
        reason = None
        while reason is None:
            match event := await row.next():
                case Token():
                    text = answer.add(event.id)
                case Finished():
                    text, reason = answer.finish(), event.reason
                case Broken():
                    raise EngineError(event.message)
                case _:
                    yield event
                    continue
            if text:
                yield Text(text)
            if answer.stopped:
                reason = "stop"
        yield End(
            reason, len(prepared.request.prompt), answer.tokens, prepared.request.sampling.seed, row.timings()
        )


class _Answer:
    """The text state of one answer."""

    def __init__(self, detokenizer: Detokenizer, stop: StopText) -> None:
        self._detokenizer = detokenizer
        self._stop = stop
        self.tokens = 0
        self.stopped = False

    def add(self, token: int) -> str:
        self.tokens += 1
        return self._cut(self._detokenizer.add(token))

    def finish(self) -> str:
        text = self._cut(self._detokenizer.finish())
        return text if self.stopped else text + self._stop.flush()

    def _cut(self, text: str) -> str:
        cut = self._stop.feed(text)
        self.stopped = cut.stopped
        return cut.text
