"""A generation as a value, and the events that it yields."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from fireside.engine.metrics import Outcome
from fireside.wire import FinishReason, Grammar, Logprobs, RowPrefill, Sampling, Submit, ThinkingBudget

Lane = Literal["batched", "serial"]


class Priority(IntEnum):
    """Who goes first. An interactive request takes the place of a background row when the batch is full."""

    BACKGROUND = 0
    NORMAL = 1
    INTERACTIVE = 2


@dataclass(frozen=True)
class GenerationRequest:
    """What to generate, in token ids.

    Attributes:
        prompt: not empty.
        max_tokens: at least 1, and within the context window together with the prompt.
        stop_ids: tokens that end the answer and are not part of it.
        top_logprobs: how many of the likeliest tokens each token comes with; None: no logprobs at all.
        serial: runs alone, so that its numbers depend on nothing that arrives beside it.
        priority: the higher, the sooner; see `Priority`.
        boundary: so many tokens of the prompt begin the next turn's prompt too; 0 if unknown.
        thinking: ends a thinking block that gets too long.
        deadline_s: seconds after which nobody wants the rest of the answer; None for never.
        grammar: what the answer must look like.
        vocabulary: `wire.Vocabulary.info`; with a grammar only.
        in_memory: nothing of it may be put on the disk, the prompt cache included.
        owner: whose chat it is of, see `Engine.forget`; empty where nobody says.
    """

    prompt: list[int]
    max_tokens: int
    stop_ids: tuple[int, ...]
    sampling: Sampling
    top_logprobs: int | None = None
    serial: bool = False
    priority: Priority = Priority.NORMAL
    boundary: int = 0
    thinking: ThinkingBudget | None = None
    deadline_s: float | None = None
    grammar: Grammar | None = None
    vocabulary: bytes = b""
    in_memory: bool = False
    owner: str = ""

    @property
    def shape(self) -> str:
        """In words, without its text."""
        wanted = [
            f"{len(self.prompt)} prompt tokens",
            f"up to {self.max_tokens} new",
            f"priority {self.priority.name.lower()}",
        ]
        if self.serial:
            wanted.append("alone, for its seed")
        if self.top_logprobs is not None:
            wanted.append(f"{self.top_logprobs} logprobs")
        return ", ".join(wanted)


@dataclass(frozen=True)
class About:
    """Which answer a row makes: the response's id and the protocol's path; empty where nobody says."""

    id: str = ""
    route: str = ""


@dataclass(frozen=True)
class Accepted:
    """The request has its place; nothing but the engine's failure can refuse it any more."""


@dataclass(frozen=True)
class Queued:
    """Waits for a free row; `position` 0 is next.

    Attributes:
        eta_s: about when it starts, in seconds; None while there is nothing to tell it from.
    """

    position: int
    eta_s: float | None = None


@dataclass(frozen=True)
class Prefill:
    """The prompt is being read. Counts are tokens."""

    done: int
    total: int


@dataclass(frozen=True)
class Restarting:
    """The core is gone; the answer goes on once another one is there."""


@dataclass(frozen=True)
class Token:
    """One more token of the answer."""

    id: int
    logprobs: Logprobs | None = None


@dataclass(frozen=True)
class Finished:
    """The answer ended by itself or at its token limit."""

    reason: FinishReason


@dataclass(frozen=True)
class Broken:
    """The engine gave the request up; `message` says why."""

    message: str


@dataclass(frozen=True)
class Expired:
    """The request's deadline has passed."""


@dataclass(frozen=True)
class Cancelled:
    """Somebody else than the client does not want the answer."""


@dataclass(frozen=True)
class Timings:
    """Where the time went: milliseconds, and tokens a second for the decode phase."""

    queue_ms: float
    ttft_ms: float | None
    decode_tps: float | None
    resumed: int


Event = Queued | Prefill | Restarting | Token | Finished | Broken | Expired | Cancelled


@dataclass(eq=False)
class Row:
    """A request with all that is needed to take it up again in another core.

    Attributes:
        arrived: its place among all rows, in the order in which they came; -1 before that is known.
        submission: its number in the core; a new one each time it is submitted, so that what the core
            said of it before it was cancelled is never taken for what it says now.
        submissions: how often it was submitted.
        lane: in which it ran last.
        cached: tokens of its prompt that the prompt cache had when it was first submitted.
        from_ssd: of those, tokens that came from the SSD tier.
        generated: token ids so far, without the stop token.
        strikes: crashes that count against this row, see `Roster`.
        progressed: a token came since the row was last submitted.
        resumed: how often it was taken up again with tokens already there.
        outcome: how it ended, once it has.
        about: the answer that it makes.
        prefill: how far its prompt was read, since the row was last submitted.
    """

    request: GenerationRequest
    arrived: int = -1
    submission: int = -1
    submissions: int = 0
    lane: Lane = "batched"
    cached: int = 0
    from_ssd: int = 0
    generated: list[int] = field(default_factory=list[int])
    events: asyncio.Queue[Event] = field(default_factory=asyncio.Queue[Event])
    strikes: int = 0
    progressed: bool = False
    resumed: int = 0
    queued_at: float = field(default_factory=time.monotonic)
    started_at: float | None = None
    first_token_at: float | None = None
    last_token_at: float | None = None
    outcome: Outcome = "cancelled"
    about: About = field(default_factory=About)
    prefill: Prefill | None = None

    async def next(self) -> Event:
        """The next event; the last one is `Finished`, `Broken`, `Expired` or `Cancelled`."""
        return await self.events.get()

    def message(self) -> Submit:
        """The row as a core is told of it."""
        return Submit(
            id=self.submission,
            prompt=self.request.prompt,
            generated=self.generated,
            max_tokens=self.request.max_tokens,
            stop_ids=list(self.request.stop_ids),
            sampling=self.request.sampling,
            top_logprobs=self.request.top_logprobs,
            boundary=self.request.boundary,
            thinking=self.request.thinking,
            grammar=self.request.grammar,
            in_memory=self.request.in_memory,
            owner=self.request.owner,
        )

    def submitted(self, number: int, lane: Lane) -> None:
        """Note that a core is told of the row under a new number."""
        self.submission = number
        self.submissions += 1
        self.lane = lane
        self.progressed = False
        self.prefill = None
        self.resumed += bool(self.generated)
        if self.started_at is None:
            self.started_at = time.monotonic()

    def read(self, progress: RowPrefill) -> None:
        """Pass on how far the prompt is read.

        What the cache has of a row that comes again is its own work, so only the first time counts.
        """
        if self.submissions == 1:
            self.cached, self.from_ssd = progress.cached, progress.from_ssd
        self.prefill = Prefill(progress.done, progress.total)
        self.events.put_nowait(self.prefill)

    def add(self, token: int, finish: FinishReason | None, logprobs: Logprobs | None = None) -> None:
        """Take a token, pass it on, and end with it where the core says so."""
        now = time.monotonic()
        self.first_token_at = self.first_token_at or now
        self.last_token_at = now
        if finish != "stop":
            self.generated.append(token)
            self.events.put_nowait(Token(token, logprobs))
        if finish is not None:
            self.outcome = finish
            self.events.put_nowait(Finished(finish))

    def cancel(self) -> None:
        """Tell the reader that nobody wants the answer any more."""
        self.events.put_nowait(Cancelled())

    def timings(self) -> Timings:
        """Where the time went so far."""
        started = self.started_at or time.monotonic()
        queue_ms = (started - self.queued_at) * 1000
        if self.first_token_at is None or self.last_token_at is None:
            return Timings(queue_ms, None, None, self.resumed)
        ttft_ms = (self.first_token_at - self.queued_at) * 1000
        seconds = self.last_token_at - self.first_token_at
        decode_tps = (len(self.generated) - 1) / seconds if seconds > 0 and len(self.generated) > 1 else None
        return Timings(queue_ms, ttft_ms, decode_tps, self.resumed)
