"""What a command prints, while it comes and as it is kept."""

import codecs
from collections import deque
from collections.abc import Callable

MAX_KEPT = 15_000
"""Characters of the output's start, and as many of its end, that the result holds."""

MAX_SHOWN = 500_000
"""Characters that are shown while the command runs."""


class Output:
    """What a command has printed: all of it shown as it comes, its start and its end kept."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._shown = 0
        self._start = ""
        self._end: deque[str] = deque()
        self._end_length = 0
        self._total = 0

    def add(self, content: bytes, final: bool = False) -> None:
        text = self._decoder.decode(content, final)
        if not text:
            return
        self._total += len(text)
        if self._shown < MAX_SHOWN:
            self._shown += len(text)
            self._show(text)
            if self._shown >= MAX_SHOWN:
                self._show("\n[Too much output to show while it comes.]\n")
        room = MAX_KEPT - len(self._start)
        self._start += text[:room]
        self._keep_end(text[room:])

    def text(self) -> str:
        """The output; of a long one, the start and the end with a note between them."""
        end = "".join(self._end)[-MAX_KEPT:]
        left_out = self._total - len(self._start) - len(end)
        note = f"\n[{left_out:,} characters are left out here.]\n" if left_out else ""
        return self._start + note + end

    def _keep_end(self, text: str) -> None:
        if text:
            self._end.append(text)
            self._end_length += len(text)
        while self._end and self._end_length - len(self._end[0]) >= MAX_KEPT:
            self._end_length -= len(self._end.popleft())
