"""Calls in a format that only mlx-lm's parser knows: read whole, parsed at their end."""

from __future__ import annotations

from fireside.text.markup.reading import Reading
from fireside.text.markup.source import Ended, Markers, Steps


def read_whole(reading: Reading) -> Steps[None]:
    """Everything up to the end marker, or to the end of the answer where the format has none."""
    pieces: list[str] = []
    try:
        yield from reading.source.stream_until(Markers(filter(None, (reading.end,))), pieces.append)
    except Ended:
        if reading.end:
            raise
    reading.emit_whole(reading.parse("".join(pieces)))
