"""The process that reads one PDF: `Limits` in a line and the document on its input, frames on its output."""

import io
import logging
import os
import re
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

import msgspec
from pypdf import PdfReader
from pypdf.errors import FileNotDecryptedError, LimitReachedError

from fireside_agent.pdf.frames import Finished, Frame, Limits, Opened, Page, Refused
from fireside_agent.tools.texts import clean

LOCKED = "it is locked with a password; save a copy without one and use that"
DAMAGED = "it is damaged, or no PDF; open it in another program and save it anew"
TOO_MUCH = "it holds more than can be read; split it"

ALARM_SECONDS = 5
"""The app kills this process after its time; where there is no app any more, it ends itself so much later."""

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def main() -> None:
    """Read the document."""
    limits = msgspec.json.decode(sys.stdin.buffer.readline(), type=Limits)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(limits.seconds) + ALARM_SECONDS)
    os.nice(5)  # answers come first
    logging.disable()  # pypdf tells of every oddity, and hostile documents have thousands
    with suppress(ValueError, OSError):  # not every system can
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    for frame in _frames(sys.stdin.buffer, limits):
        sys.stdout.buffer.write(msgspec.json.encode(frame) + b"\n")
        sys.stdout.buffer.flush()


def _frames(document: BinaryIO, limits: Limits) -> Iterator[Frame]:
    try:
        reader = PdfReader(io.BytesIO(document.read()))  # which tries the empty password by itself
        pages = len(reader.pages)
        if not pages:
            raise ValueError("no pages")
    except FileNotDecryptedError:
        yield Refused(LOCKED)
    except (LimitReachedError, MemoryError):
        yield Refused(TOO_MUCH)
    except Exception:  # whatever a damaged document makes of the reader
        yield Refused(DAMAGED)
    else:
        yield Opened(pages)
        yield from _pages(reader, min(pages, limits.pages), limits.characters)
        yield Finished()


def _pages(reader: PdfReader, count: int, characters: int) -> Iterator[Page]:
    for number in range(count):
        try:
            text = reader.pages[number].extract_text()
        except Exception:  # too much on it, or damaged; the others may be well
            yield Page(failed=True)
            continue
        text = _UNSEEN.sub("", clean(text).replace("\r\n", "\n").replace("\r", "\n")).strip()
        yield Page(text[:characters], cut=len(text) > characters)
        characters -= len(text)
        if characters <= 0:
            return
