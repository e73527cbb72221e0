"""The process that reads one PDF: `Limits` in a line and the document on its input, frames on its output."""

import io
import logging
import os
import re
import resource
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO, cast

import msgspec
from pypdf import PageObject, PdfReader
from pypdf.errors import FileNotDecryptedError, LimitReachedError

from fireside_agent.pdf.frames import Finished, Frame, Limits, Opened, Page, Refused
from fireside_agent.tools.texts import clean

LOCKED = "it is locked with a password; save a copy without one and use that"
DAMAGED = "it is damaged, or no PDF; open it in another program and save it anew"
TOO_MUCH = "it holds more than can be read; split it"

ALARM_SECONDS = 5
"""The app kills this process after its time; where there is no app any more, it ends itself so much later."""

_FORMS = re.compile("[\u2e80-\u2fdf\uf900-\ufaff\ufb00-\ufdff\ufe70-\ufefc]+")
"""Ligatures, radicals and letters by their place in a word, as fonts draw them and nobody types them."""

MOST_PARENTS = 16
"""Of a form's field; hostile documents make them a circle."""

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
            page = reader.pages[number]
            text = "\n".join([page.extract_text(), *_filled_in(page)])
        except Exception:  # too much on it, or damaged; the others may be well
            yield Page(failed=True)
            continue
        text = _FORMS.sub(lambda form: unicodedata.normalize("NFKC", form[0]), clean(text))
        text = _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
        yield Page(text[:characters], cut=len(text) > characters)
        characters -= len(text)
        if characters <= 0:
            return


def _filled_in(page: PageObject) -> Iterator[str]:
    """What the fields of a form hold, which is no part of the page's own text, with their names."""
    for annotation in page.annotations or ():
        field: Any = annotation.get_object()
        if field.get("/Subtype") != "/Widget":
            continue
        names: list[str] = []
        value: Any = None
        for _ in range(MOST_PARENTS):
            value = field.get("/V") if value is None else value
            names.insert(0, str(field.get("/T", "")))
            if "/Parent" not in field:
                break
            field = field["/Parent"].get_object()
        several = cast("list[Any]", value) if isinstance(value, list) else [value or ""]
        shown = ", ".join(map(str, several))
        if shown and shown != "/Off":
            yield f"{'.'.join(filter(None, names))}: {shown.removeprefix('/')}"
