"""Markdown that is still being written, rendered as it grows."""

from collections.abc import Iterable
from dataclasses import dataclass

from fireside_agent.markdown import Block, Reference, References, outline, render_block


@dataclass(frozen=True, slots=True)
class Change:
    """`html` replaces the shown blocks from index `start` to the end."""

    start: int
    html: list[str]


@dataclass(slots=True)
class _Settled:
    """A block that no further text can change, except by defining a link label it asked for."""

    source: str
    html: str
    asked: set[str]


class StreamRenderer:
    """Renders a growing text: after every `feed`, `blocks` equals `render_blocks(text so far, growing=True)`.

    Blocks are parsed by whole lines, and a block that another one follows is closed for good; so only
    the text after the last but one block is parsed again. Link labels may be defined anywhere, also
    after their use: blocks that asked for a label are rendered again when its definition changes.
    """

    def __init__(self) -> None:
        self._settled: list[_Settled] = []
        self._definitions: dict[str, Reference] = {}
        self._users: dict[str, list[int]] = {}
        self._tail = ""
        self._tail_html: list[str] = []
        self._tail_references = References(self._definitions)
        self._held_return = False

    @property
    def blocks(self) -> list[str]:
        """The HTML of every top-level block of the text so far."""
        return [block.html for block in self._settled] + self._tail_html

    def feed(self, delta: str) -> Change | None:
        """Append `delta`; returns what changed in `blocks`, or None."""
        shown_settled, shown_tail = len(self._settled), self._tail_html
        new_line = self._take_in(delta)
        blocks, references = self._outline_tail()
        defined: set[str] = set()
        if new_line and len(blocks) > 1:
            defined = self._settle()
            blocks, references = self._outline_tail()
        start = self._render_settled(shown_settled, references, defined)
        self._tail_html = [render_block(block, references) for block in blocks]
        self._tail_references = references
        return self._change(start, shown_settled, shown_tail)

    def _take_in(self, delta: str) -> bool:
        """Add to the tail; returns whether a line has ended."""
        text = ("\r" if self._held_return else "") + delta
        self._held_return = text.endswith("\r")
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        self._tail += text
        return "\n" in text

    def _outline_tail(self) -> tuple[list[Block], References]:
        references = References(self._definitions)
        text = self._tail + "\n" if self._held_return else self._tail
        return outline(text, references, growing=True), references

    def _settle(self) -> set[str]:
        """Move closed blocks out of the tail; returns the labels that are now defined for good."""
        lines = self._tail.split("\n")
        whole = "\n".join(lines[:-1]) + "\n"
        ends = [block.end for block in outline(whole, References({}), growing=True)][:-1]
        if not ends:
            return set()
        begin = 0
        for end in ends:
            source = "\n".join(lines[begin:end]) + "\n"
            self._settled.append(_Settled(source, "", set()))
            begin = end
        references = References(self._definitions)
        outline("\n".join(lines[:begin]), references)
        self._definitions.update(references)
        self._tail = "\n".join(lines[begin:])
        return set(references)

    def _render_settled(self, first_new: int, references: References, defined: set[str]) -> int:
        """Render new settled blocks and old ones whose labels changed; returns the first index touched."""
        labels = defined | set(references) | set(self._tail_references)
        changed = {label for label in labels if self._differs(label, references, defined)}
        again = {index for label in changed for index in self._users.get(label, ())}
        for index in [*sorted(again), *range(first_new, len(self._settled))]:
            self._render(index, references)
        return min(again, default=first_new)

    def _differs(self, label: str, references: References, defined: set[str]) -> bool:
        before = None if label in defined else self._definitions.get(label)
        before = before or self._tail_references.own(label)
        return _target(before) != _target(references.get(label))

    def _render(self, index: int, references: References) -> None:
        block = self._settled[index]
        references.asked = set()
        block.html = "".join(render_block(part, references) for part in outline(block.source, References({})))
        for label in references.asked - block.asked:
            self._users.setdefault(label, []).append(index)
        block.asked |= references.asked

    def _change(self, start: int, shown_settled: int, shown_tail: list[str]) -> Change | None:
        if start < shown_settled:
            return Change(start, self._from(start))
        now = self._from(shown_settled)
        same = _common_length(shown_tail, now)
        if same == len(now) == len(shown_tail):
            return None
        return Change(shown_settled + same, now[same:])

    def _from(self, start: int) -> list[str]:
        return [block.html for block in self._settled[start:]] + self._tail_html


def _target(reference: Reference | None) -> tuple[str, str] | None:
    return (reference["href"], reference["title"]) if reference else None


def _common_length(before: Iterable[str], after: Iterable[str]) -> int:
    count = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        count += 1
    return count
