"""`edit` and `write`, what they leave alone, and undoing them."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
import stat
import threading
from pathlib import Path

import msgspec
import pytest

from agent.tools.conftest import Run
from fireside_agent.tools import opening
from fireside_agent.tools.edits import EditTool, WriteTool
from fireside_agent.tools.journal import Journal
from fireside_agent.tools.tool import BlockedError, FileChange, ToolError
from fireside_agent.tools.workspace import Workspace

STORY = "one\ntwo\nthree\ntwo\n"


def text(file: Path) -> str:
    return file.read_bytes().decode()


def put(file: Path, content: str) -> None:
    file.write_bytes(content.encode())


@pytest.fixture
def edit(workspace: Workspace, journal: Journal) -> EditTool:
    return EditTool(workspace, journal)


@pytest.fixture
def write(workspace: Workspace, journal: Journal) -> WriteTool:
    return WriteTool(workspace, journal)


@pytest.fixture
def story(root: Path) -> Path:
    file = root / "story.txt"
    file.write_text(STORY)
    return file


async def test_an_edit_shows_its_diff_makes_it_and_can_be_undone(
    edit: EditTool, journal: Journal, story: Path, run: Run
) -> None:
    arguments = {"path": "story.txt", "old_text": "one\ntwo", "new_text": "one\n2"}
    diff = f"--- {story}\n+++ {story}\n@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n two\n"
    preview = await edit.preview(arguments)
    assert (preview.kind, preview.text) == ("diff", diff)
    assert text(story) == STORY
    assert edit.subject(arguments).path == str(story)

    result = await run(edit, **arguments)
    assert result.text == "story.txt was changed."
    assert text(story) == "one\n2\nthree\ntwo\n"
    (change,) = result.changes
    assert change.diff == diff
    assert change.path == str(story)
    assert change.before == hashlib.sha256(b"one\ntwo\nthree\ntwo\n").hexdigest()
    assert change.after == hashlib.sha256(b"one\n2\nthree\ntwo\n").hexdigest()

    undone = journal.undo(msgspec.json.decode(msgspec.json.encode(change), type=FileChange))
    assert undone == msgspec.structs.replace(change, undone=True)
    assert text(story) == STORY
    with pytest.raises(ToolError, match="undone already"):
        journal.undo(undone)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("two", "2", r"2 times, at the lines 2, 4\."),
        ("  Three", "3", "is not in story.txt.*Nearest to it is line 3:\nthree$"),
        ("zebra crossing", "3", "is not in story.txt. Read the file again"),
        ("one", "one", "nothing would change"),
        ("", "x", "is empty"),
        ("one", "\ud83d", "half of a surrogate pair"),
    ],
)
async def test_an_edit_that_does_not_apply_says_why(
    edit: EditTool, story: Path, run: Run, old: str, new: str, why: str
) -> None:
    for attempt in (
        edit.preview({"path": "story.txt", "old_text": old, "new_text": new}),
        run(edit, path="story.txt", old_text=old, new_text=new),
    ):
        with pytest.raises(ToolError, match=f"(?s){why}"):
            await attempt
    assert text(story) == STORY


async def test_overlapping_occurrences_are_not_one(edit: EditTool, story: Path, run: Run) -> None:
    put(story, "aaa")
    with pytest.raises(ToolError, match="2 times"):
        await run(edit, path="story.txt", old_text="aa", new_text="b")


async def test_only_files_that_are_there_and_text_are_edited(edit: EditTool, root: Path, run: Run) -> None:
    (root / "binary").write_bytes(b"one\0two")
    (root / "wide").write_bytes("\ufeffone".encode("utf-16-le"))
    (root / "huge").write_bytes(b"one" * 2_000_000)
    for name, why in {
        "missing": "There is no missing",
        "binary": "it is binary data",
        "wide": "UTF-16",
        "huge": "larger than 5,000,000 bytes",
        ".": "is a folder",
    }.items():
        with pytest.raises(ToolError, match=why):
            await edit.preview({"path": name, "old_text": "one", "new_text": "two"})
        with pytest.raises(ToolError, match=why):
            await run(edit, path=name, old_text="one", new_text="two")
    with pytest.raises(BlockedError):
        await run(edit, path=".env", old_text="one", new_text="two")


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "1\n2\n3", b"1\r\n2\r\n3\r\nc\r\n"),
        (b"a\r\nb\r\n", "b\r\n", "B\r\n", b"a\r\nB\r\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "x\ny", b"x\ny\n"),
        (b"\xef\xbb\xbfa\nb", "a", "A", b"\xef\xbb\xbfA\nb"),
        (b"a\nb", "b", "c", b"a\nc"),
        (b"caf\xe9 a\xff", "a\ufffd", "b", None),
        (b"caf\xe9 one\xff", "one", "\u20ac", b"caf\xe9 \xe2\x82\xac\xff"),
        (b"x\x0cy\xc2\x85z\n", "y", "Y", b"x\x0cY\xc2\x85z\n"),
    ],
)
async def test_every_other_byte_stays(
    edit: EditTool, root: Path, run: Run, before: bytes, old: str, new: str, after: bytes | None
) -> None:
    file = root / "f"
    file.write_bytes(before)
    if after is None:
        with pytest.raises(ToolError, match="is not in f"):
            await run(edit, path="f", old_text=old, new_text=new)
        return
    await run(edit, path="f", old_text=old, new_text=new)
    assert file.read_bytes() == after


async def test_an_edit_of_a_file_that_changed_meanwhile_applies_where_it_still_can(
    edit: EditTool, story: Path, run: Run
) -> None:
    arguments = {"path": "story.txt", "old_text": "three", "new_text": "3"}
    await edit.preview(arguments)
    put(story, "zero\none\nthree\n")
    assert "+3" in (await run(edit, **arguments)).changes[0].diff
    assert text(story) == "zero\none\n3\n"
    with pytest.raises(ToolError, match="is not in"):
        await run(edit, **arguments)


async def test_write_creates_folders_and_undo_removes_the_file(
    write: WriteTool, journal: Journal, root: Path, run: Run
) -> None:
    arguments = {"path": "new/sub/a.txt", "content": "x\ny"}
    file = root / "new" / "sub" / "a.txt"
    expected = f"--- /dev/null\n+++ {file}\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n"
    assert (await write.preview(arguments)).text == expected
    assert not (root / "new").exists()
    result = await run(write, **arguments)
    assert result.text == "new/sub/a.txt was created."
    assert file.read_bytes() == b"x\ny"
    plain = root / "plain"
    plain.touch()
    assert file.stat().st_mode == plain.stat().st_mode
    journal.undo(result.changes[0])
    assert not file.exists()


async def test_write_keeps_mode_line_endings_and_mark(write: WriteTool, root: Path, run: Run) -> None:
    file = root / "run.bat"
    file.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    file.chmod(0o750)
    assert (await run(write, path="run.bat", content="1\n2\r\n3")).text == "run.bat was changed."
    assert file.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3"
    assert stat.S_IMODE(file.stat().st_mode) == 0o750


async def test_what_cannot_be_written_stays(write: WriteTool, root: Path, outside: Path, run: Run) -> None:
    (root / "fixed").write_text("fixed")
    (root / "fixed").chmod(0o444)
    (root / "link").symlink_to(outside / "diary.txt")
    for name, error, why in (
        ("fixed", ToolError, "read-only"),
        ("fixed/below", ToolError, "not a folder"),
        (".", ToolError, "is a folder"),
        ("link", BlockedError, "outside"),
        ("id_rsa", BlockedError, "private key"),
        ("x" * 300, ToolError, "name is too long"),
    ):
        with pytest.raises(error, match=why):
            await run(write, path=name, content="new")
    with pytest.raises(ToolError, match="would be larger"):
        await run(write, path="big", content="x" * 5_000_001)
    assert (root / "fixed").read_text() == "fixed"
    assert (outside / "diary.txt").read_text() == "dear diary\n"
    assert sorted(file.name for file in (root / ".").iterdir()) == ["fixed", "link"]


async def test_a_link_stays_a_link(write: WriteTool, root: Path, run: Run) -> None:
    (root / "real").write_text("a")
    (root / "link").symlink_to("real")
    await run(write, path="link", content="b")
    assert (root / "link").is_symlink()
    assert (root / "real").read_text() == "b"


async def test_undo_loses_nothing_that_came_later(
    edit: EditTool, write: WriteTool, journal: Journal, story: Path, root: Path, run: Run
) -> None:
    (change,) = (await run(edit, path="story.txt", old_text="one", new_text="1")).changes
    (creation,) = (await run(write, path="new", content="x")).changes
    put(story, "by hand")
    (root / "new").write_text("x and more")
    for one in (change, creation):
        with pytest.raises(ToolError, match="was changed since"):
            journal.undo(one)
    assert text(story) == "by hand"
    assert (root / "new").read_text() == "x and more"
    os.unlink(story)  # noqa: PTH108
    (root / "new").unlink()
    (root / "new").mkdir()
    for one in (change, creation):
        with pytest.raises(ToolError, match="was changed since"):
            journal.undo(one)
    assert [file.name for file in (root / ".").iterdir()] == ["new"]


async def test_changes_are_undone_from_the_last_to_the_first(
    edit: EditTool, journal: Journal, story: Path, run: Run
) -> None:
    before = text(story)
    changes: list[FileChange] = []
    for old, new in (("one", "1"), ("1", "I")):
        changes += (await run(edit, path="story.txt", old_text=old, new_text=new)).changes
    with pytest.raises(ToolError, match="Undo what came later first"):
        journal.undo(changes[0])
    journal.undo(changes[1])
    journal.undo(changes[0])
    assert text(story) == before


async def test_a_folder_swapped_for_a_link_is_not_undone_into(
    write: WriteTool, journal: Journal, root: Path, outside: Path, run: Run
) -> None:
    (change,) = (await run(write, path="sub/diary.txt", content="dear diary\n")).changes
    shutil.rmtree(root / "sub")
    (root / "sub").symlink_to(outside)
    with pytest.raises(ToolError, match="was not undone: a part of its path is not a folder, or is a link"):
        journal.undo(change)
    assert (outside / "diary.txt").exists()


def test_the_journal_is_private_and_keeps_each_content_once(journal: Journal, tmp_path: Path) -> None:
    journal.record(tmp_path / "a", b"one", b"two")
    journal.record(tmp_path / "b", b"two", b"one")
    journal.record(tmp_path / "c", None, b"")
    files = sorted((tmp_path / "journal").iterdir())
    assert [file.name for file in files] == sorted(
        hashlib.sha256(text).hexdigest() for text in (b"one", b"two", b"")
    )
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "journal").stat().st_mode) == 0o700


def test_the_oldest_versions_are_dropped_and_undo_says_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", max_bytes=2500)
    file = tmp_path / "f"
    file.write_bytes(b"0" * 1000)
    changes = [journal.change(file, lambda _, n=number: b"%d" % n * 1000) for number in range(1, 6)]
    assert sum(kept.stat().st_size for kept in (tmp_path / "journal").iterdir()) <= 2500
    journal.undo(changes[4])
    with pytest.raises(ToolError, match="no longer kept"):
        journal.undo(changes[3])
    assert file.read_bytes() == b"4" * 1000


def test_a_damaged_version_is_not_restored(journal: Journal, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"before")
    change = journal.change(file, lambda _: b"after")
    (tmp_path / "journal" / str(change.before)).write_bytes(b"befere")
    with pytest.raises(ToolError, match="is damaged"):
        journal.undo(change)
    assert file.read_bytes() == b"after"


async def test_without_a_journal_nothing_is_changed(
    workspace: Workspace, story: Path, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "journal").write_text("in the way")
    edit = EditTool(workspace, Journal(tmp_path / "journal"))
    with pytest.raises(ToolError, match="Nothing was changed, because the version before could not be kept"):
        await run(edit, path="story.txt", old_text="one", new_text="1")
    assert text(story).startswith("one")


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_full_disk_changes_nothing(
    edit: EditTool,
    story: Path,
    root: Path,
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    nth: int,
) -> None:
    """Two copies go to the journal, and the file itself is the third to be written."""
    real, calls = os.fsync, 0

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += stat.S_ISREG(os.fstat(descriptor).st_mode)
        if calls == nth:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(opening.os, "fsync", fsync)
    with pytest.raises(ToolError, match=r"(?i)(not|nothing was) changed.*the disk is full"):
        await run(edit, path="story.txt", old_text="one", new_text="1")
    assert text(story) == STORY
    assert [file.name for file in (root / ".").iterdir()] == ["story.txt"]
    assert not list((tmp_path / "journal").glob(".*"))


async def test_a_cancelled_edit_has_changed_nothing(
    edit: EditTool, story: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go = threading.Event(), threading.Event()
    real = os.fsync

    def fsync(descriptor: int) -> None:
        reached.set()
        go.wait(5)
        real(descriptor)

    monkeypatch.setattr(opening.os, "fsync", fsync)
    running = asyncio.ensure_future(run(edit, path="story.txt", old_text="one", new_text="1"))
    await asyncio.to_thread(reached.wait, 5)
    running.cancel()
    await asyncio.sleep(0.05)
    assert not running.done()
    running.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert text(story) == STORY


async def test_edits_of_one_file_at_once_are_all_made(edit: EditTool, root: Path, run: Run) -> None:
    (root / "f").write_text("".join(f"<{number}>\n" for number in range(30)))
    await asyncio.gather(
        *(run(edit, path="f", old_text=f"<{number}>", new_text=f"[{number}]") for number in range(30))
    )
    assert (root / "f").read_text() == "".join(f"[{number}]\n" for number in range(30))
