"""Conversations as token ids: for training with a loss mask, for evaluation as prompt and answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tokenizers import Tokenizer

from pocket.asks import Ask, Asker
from pocket.conversations import TAIL, Conversation, Size, Writer
from pocket.strings import Strings
from pocket.tools import Names, toolset
from pocket.vocabulary import END, START

CONTEXT = 4096
"""Tokens of the longest training example."""

_SMALL = Size()
_MEDIUM = Size(system=25, turns=6, result=14, pasted=8)


def sizes(strings: Strings) -> Size:
    """How large a training conversation may be: half small, a quarter up to the whole context."""
    roll = strings.rng.random()
    if roll < 0.5:
        return _SMALL
    if roll < 0.75:
        return _MEDIUM
    return large(strings)


def large(strings: Strings) -> Size:
    """Up to a whole context, in one of four ways."""
    kind = strings.between(0, 3)
    if kind == 0:
        return Size(system=strings.between(60, 200), turns=3, result=10, pasted=5)
    if kind == 1:
        return Size(system=20, turns=3, result=strings.between(60, 200), pasted=5)
    if kind == 2:
        return Size(system=20, turns=strings.between(10, 40), result=6, pasted=3)
    return Size(system=20, turns=4, result=20, pasted=strings.between(40, 160))


@dataclass(frozen=True)
class Example:
    """`ids` of a whole conversation and, for each, whether the model is to learn to write it."""

    ids: list[int]
    trained: list[bool]


class Encoder:
    """Turns conversations into ids."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._head = self.encode(f"{START}assistant\n")
        self._start, self._end, self._thought_end = (
            self.encode(text)[0] for text in (START, END, "</think>")
        )

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=False)

    def example(self, talk: Conversation, *, learn_thoughts: bool = True) -> Example:
        """A conversation of which the assistant messages named in `talk.rows` are learnt."""
        ids = self.encode(talk.render())
        trained = [False] * len(ids)
        assistants = [i for i, message in enumerate(talk.messages) if message["role"] == "assistant"]
        position = 0
        for index in assistants:
            position = self._find_head(ids, position)
            begin = position
            end = ids.index(self._end, begin)
            if index in talk.rows:
                if not learn_thoughts and self._thought_end in ids[begin:end]:
                    begin = ids.index(self._thought_end, begin) + 1
                trained[begin : end + 1] = [True] * (end + 1 - begin)
            position = end
        return Example(ids, trained)

    def _find_head(self, ids: list[int], position: int) -> int:
        """Where the next assistant message's own tokens begin."""
        head = self._head
        while True:
            position = ids.index(self._start, position)
            if ids[position : position + len(head)] == head:
                return position + len(head)
            position += 1


def training_examples(encoder: Encoder, seed: str) -> Iterator[Example]:
    """Examples without end, none longer than `CONTEXT` + 1 tokens."""
    rng = random.Random(seed)
    writer = Writer(rng)
    while True:
        talk = writer.conversation(sizes(writer.strings))
        cut = talk.thinking and rng.random() < 0.15
        if cut:
            _cut_thoughts(talk, rng)
        example = encoder.example(talk, learn_thoughts=not cut)
        example = Example(example.ids[: CONTEXT + 1], example.trained[: CONTEXT + 1])
        if any(example.trained):
            yield example


def _cut_thoughts(talk: Conversation, rng: random.Random) -> None:
    """End thoughts early, as a thinking budget does; the answer must come all the same."""
    for message in talk.messages:
        thought = message.get("reasoning_content")
        if thought:
            message["reasoning_content"] = thought[: rng.randint(1, len(thought))]


@dataclass(frozen=True)
class Case:
    """One answer to score.

    Attributes:
        request: cases of one request share it; the request counts if all its cases are right.
    """

    row: str
    request: int
    prompt: str
    expected: str


@dataclass(frozen=True)
class Band:
    """Prompt lengths in tokens, both ends included."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low:,}-{self.high:,}" if self.low else f"up to {self.high:,}"


BANDS = (Band(0, 1000), Band(3000, 4000))
ROWS = (
    "talk",
    "copy",
    "call",
    "report",
    "failure",
    "two",
    "again",
    "thinking on",
    "thinking off",
    "plain",
    "renamed",
    "extra",
)


def cases(encoder: Encoder, row: str, band: Band, count: int, seed: int) -> Iterator[Case]:
    """`count` requests of a row, all with held-out strings and a prompt within the band."""
    rng = random.Random(f"{seed} {row} {band}")
    writer = Writer(rng, held_out=True)
    done = 0
    while done < count:
        found = _request(encoder, writer, row, band, done)
        if found:
            done += 1
            yield from found


def _request(encoder: Encoder, writer: Writer, row: str, band: Band, number: int) -> list[Case]:
    """The cases of one request of the row, or none when the conversation drawn does not fit."""
    s = writer.strings
    long = band.low > 1000
    names: Names = "unseen" if row == "renamed" else "own"
    tools = toolset(s, everything=long and row not in ("renamed", "plain"), names=names)
    size = large(s) if long else _SMALL
    thinking = row == "thinking on" or (row not in ("thinking off", "copy") and s.chance(0.3))
    talk = writer.start(tools, size, thinking=thinking)
    asker = Asker(s, tools)
    earlier: Ask | None = None
    turns = s.between(0, size.turns - 1) if row != "again" else s.between(1, max(1, size.turns - 1))
    for _ in range(turns):
        earlier = _filler(asker, s)
        writer.turn(talk, earlier, size)
    ask = _ask(row, asker, s, earlier)
    if ask is None:
        return []
    first = len(talk.messages) + 1
    writer.turn(talk, ask, size)
    wanted = [i for i, name in talk.rows.items() if i >= first and _counts(row, name)]
    found: list[Case] = []
    for index in wanted:
        prompt = talk.render(index)
        if not band.low <= len(encoder.encode(prompt)) <= band.high:
            return []
        found.append(Case(row, number, prompt, talk.expected(index) + TAIL))
    return found


def _filler(asker: Asker, s: Strings) -> Ask:
    return asker.tool_request() if asker.has_tools and s.chance(0.6) else asker.copy()


def _ask(row: str, asker: Asker, s: Strings, earlier: Ask | None) -> Ask | None:
    if row in ("call", "report", "failure", "two", "renamed") and not asker.has_tools:
        return None
    if row == "again":
        if earlier is None:
            return None
        return asker.again(earlier) if s.chance(0.5) else asker.now(earlier)
    makers: dict[str, Callable[[], Ask | None]] = {
        "talk": asker.talk,
        "copy": asker.copy,
        "call": asker.tool_request,
        "report": asker.tool_request,
        "failure": asker.tool_request,
        "two": asker.two,
        "renamed": asker.tool_request,
        "extra": lambda: (asker.chained() if s.chance(0.3) else None) or asker.extra(),
        "plain": lambda: asker.unmatched() if s.chance(0.4) else asker.question(),
        "thinking on": lambda: _filler(asker, s),
        "thinking off": lambda: _filler(asker, s),
    }
    return makers[row]()


def _counts(row: str, name: str) -> bool:
    """Whether an assistant message of the last turn is what the row scores."""
    if row.startswith("thinking"):
        return True
    return name == ("call" if row == "renamed" else row)
