"""The text of PDFs: what is read, what is refused and why, and what hostile ones cannot do."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys

import psutil
import pytest
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject

from agent.harness import eventually
from agent.pdf.documents import SHOWN, bomb, document, endless, form, locked, written
from fireside_agent.pdf.frames import Limits
from fireside_agent.pdf.reading import UnreadablePdfError, read_pdf


def readers() -> list[psutil.Process]:
    """The processes that read for us just now."""
    children = psutil.Process().children(recursive=True)
    return [process for process in children if "pdf.worker" in str(process.cmdline())]


async def refusal(data: bytes, limits: Limits | None = None) -> str:
    with pytest.raises(UnreadablePdfError) as caught:
        await read_pdf(data, limits or Limits())
    return str(caught.value)


async def test_pages_are_marked_and_counted() -> None:
    seen: list[tuple[int, int]] = []
    read = await read_pdf(document("Herons", "", "Grüße"), progress=lambda *pages: seen.append(pages))
    assert read.text == "[page 1]\nHerons\n\n[page 2]\n(no text)\n\n[page 3]\nGrüße"
    assert read.pages == 3
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3), (3, 3)]


async def test_ligatures_are_the_letters_that_are_searched_for() -> None:
    encoding = "<< /Differences [65 /ff /fi /onesuperior] >>"
    read = await read_pdf(written([(SHOWN % "oAice, zebraBsh, xC").encode()], encoding=encoding))
    assert read.text == "[page 1]\noffice, zebrafish, x¹"


async def test_what_was_filled_into_a_form_is_read() -> None:
    text, name = TextStringObject, NameObject
    person = DictionaryObject({name("/T"): text("person")})
    filled = form(
        document("Please fill in", "page two"),
        {"/T": text("name"), "/Parent": person, "/V": text("Ludmila")},
        {"/T": text("yes"), "/V": name("/On")},
        {"/T": text("no"), "/V": name("/Off")},
        {"/T": text("empty")},
        {"/T": text("likes"), "/V": ArrayObject([text("herons"), text("terns")])},
    )
    read = await read_pdf(filled)
    assert read.text == (
        "[page 1]\nPlease fill in\nperson.name: Ludmila\nyes: On\nlikes: herons, terns\n\n[page 2]\npage two"
    )


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
async def test_what_opens_without_a_password_is_read(algorithm: str) -> None:
    read = await read_pdf(locked(document("Herons", "Terns"), "", algorithm))
    assert read.text == "[page 1]\nHerons\n\n[page 2]\nTerns"


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
async def test_a_password_is_named_as_the_reason(algorithm: str) -> None:
    assert "it is locked with a password" in await refusal(locked(document("Herons"), "secret", algorithm))


async def test_a_scan_is_not_taken_for_an_empty_text() -> None:
    assert (
        await refusal(document("", "")) == "there is no text in it; it may be a scan, which holds only images"
    )
    few = Limits(pages=2)
    assert "no text on its first 2 pages" in await refusal(document("", "", "", ""), few)


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n%\xe2\xe3\0",
        b"%PDF-1.7\n" + b"\xff" * 5_000,
        b"",
        document("Herons")[:150],
        document("Herons").replace(b"/Kids", b"/Sons"),
        document("Herons").replace(b"[3 0 R]", b"[2 0 R]"),
    ],
)
async def test_damage_is_said(data: bytes) -> None:
    assert "damaged" in await refusal(data)


async def test_a_document_whose_table_is_wrong_is_read_all_the_same() -> None:
    wrong = document("Herons", "Terns").replace(b"%PDF-1.7\n", b"%PDF-1.7\n% moved by this line\n")
    assert (await read_pdf(wrong)).pages == 2


async def test_pages_beyond_the_limit_are_left_out_and_that_is_said() -> None:
    read = await read_pdf(document("Herons", kids=3_000), Limits(pages=5))
    assert read.text.endswith(
        "[page 5]\nHerons\n\n[Pages 1 to 5 of 3000; the rest was left out: it is too long.]"
    )
    assert read.pages == 3_000


async def test_text_beyond_the_limit_is_left_out_and_that_is_said() -> None:
    read = await read_pdf(document("a" * 60, "b" * 60, "c" * 60), Limits(characters=100))
    assert read.text.count("a") >= 60
    assert read.text.count("b" * 40) == 1
    assert "b" * 41 not in read.text
    assert "[Pages 1 to 2 of 3; the rest was left out: it is too long.]" in read.text
    last = await read_pdf(document("a" * 60, "b" * 60), Limits(characters=100))
    assert last.text.endswith("[The rest of page 2 was left out: it is too long.]")


async def test_a_page_tree_without_end_is_refused() -> None:
    assert "holds more than can be read" in await refusal(document("Herons", kids=150_000))


async def test_a_bomb_costs_its_own_page_alone() -> None:
    read = await read_pdf(bomb())
    assert read.text == "[page 1]\n(This page cannot be read.)\n\n[page 2]\nafter the bomb"


async def test_slow_pages_end_the_text_there_and_its_process_too() -> None:
    read = await read_pdf(endless(), Limits(seconds=3))
    assert read.text.startswith("[page 1]\nthe first page\n\n")
    assert re.search(
        r"\[Pages 1 to \d+ of 1000; the rest was left out: it takes longer than 3 seconds to read\.\]$",
        read.text,
    )
    assert readers() == []


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not limit a process's memory")
async def test_memory_is_bounded() -> None:
    padded = document("Herons") + b"\n%" + b" " * 60_000_000
    assert "more than can be read" in await refusal(padded, Limits(memory=50_000_000))


async def test_who_does_not_wait_leaves_no_process() -> None:
    reading = asyncio.create_task(read_pdf(endless()))
    await eventually(lambda: readers() != [])
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert readers() == []


def test_the_library_is_loaded_only_where_a_pdf_is_read() -> None:
    code = "import sys, fireside_agent.agent, fireside_agent.pdf.reading; print('pypdf' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
