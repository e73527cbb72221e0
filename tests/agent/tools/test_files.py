"""`read`, `ls`, `find` and `grep` on real files."""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path

import psutil
import pytest

from agent.tools.conftest import Run, until
from fireside_agent.tools.file_tools import file_tools
from fireside_agent.tools.files import ListTool, ReadTool
from fireside_agent.tools.finding import FindTool, GrepTool
from fireside_agent.tools.journal import Journal
from fireside_agent.tools.tool import BlockedError, ToolError
from fireside_agent.tools.workspace import Workspace


@pytest.fixture
def read(workspace: Workspace) -> ReadTool:
    return ReadTool(workspace)


@pytest.fixture
def ls(workspace: Workspace) -> ListTool:
    return ListTool(workspace)


@pytest.fixture
def find(workspace: Workspace) -> FindTool:
    return FindTool(workspace)


@pytest.fixture
def grep(workspace: Workspace) -> GrepTool:
    return GrepTool(workspace)


def test_the_set_and_what_asks_first(workspace: Workspace, journal: Journal) -> None:
    tools = {tool.name: tool for tool in file_tools(workspace, journal)}
    assert {name: tool.risk for name, tool in tools.items()} == {
        **dict.fromkeys(["read", "ls", "find", "grep"], "read"),
        **dict.fromkeys(["edit", "write"], "change"),
        "bash": "execute",
    }
    assert all(tool.gives_local for tool in tools.values())


async def test_a_file_is_read_as_it_is(read: ReadTool, root: Path, run: Run) -> None:
    (root / "a.txt").write_text("one\n  two\n\nthree")
    assert (await run(read, path="a.txt")).text == "one\n  two\n\nthree"
    assert (await run(read, path="a.txt", offset=2, limit=2)).text == (
        "  two\n\n[Lines 2-3 of 4. Read on with offset 4.]"
    )
    assert (await run(read, path="a.txt", offset=4)).text == "three"
    with pytest.raises(ToolError, match="has only 4 lines"):
        await run(read, path="a.txt", offset=5)
    assert read.subject({"path": "a.txt"}).path == str(root / "a.txt")


async def test_a_long_file_is_read_part_by_part(read: ReadTool, root: Path, run: Run) -> None:
    lines = [f"line {number} {'x' * (number % 60)}" for number in range(1, 7001)]
    (root / "long.txt").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    offset = 1
    while True:
        text = (await run(read, path="long.txt", offset=offset)).text
        assert len(text) < 51_000
        found = re.search(r"\n\[Lines (\d+)-(\d+) of 7,000\. Read on with offset (\d+)\.\]$", text)
        seen += text[: found.start() if found else None].removesuffix("\n").split("\n")
        if found is None:
            break
        assert int(found[1]) == offset
        assert int(found[2]) == len(seen)
        assert int(found[2]) - offset < 2000
        offset = int(found[3])
    assert seen == lines


async def test_an_endless_line_is_cut(read: ReadTool, root: Path, run: Run) -> None:
    (root / "line").write_bytes(b"first\n" + b"x" * 200_000 + b"\nlast\n")
    assert (await run(read, path="line", limit=1)).text == "first\n[Lines 1-1 of 3. Read on with offset 2.]"
    text = (await run(read, path="line", offset=2)).text
    assert text.startswith("x" * 50_000 + "\n[Line 2 is cut after 50,000 bytes.")
    assert (await run(read, path="line", offset=3)).text == "last\n"


async def test_a_huge_file_is_not_loaded(read: ReadTool, root: Path, run: Run) -> None:
    with (root / "huge").open("wb") as file:
        file.write(b"start\n" * 2000)
        file.truncate(40_000_000_000)  # sparse
    started = time.monotonic()
    text = (await run(read, path="huge")).text
    assert text.endswith("start\n[Lines 1-2000. Read on with offset 2001.]")
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xef\xbb\xbfhello\r\nthere\r\n", "hello\nthere\n"),
        ("\ufeffgr\u00fc\u00dfe\n".encode("utf-16-le"), "gr\u00fc\u00dfe\n"),
        (b"caf\xe9 \xf0\x9f\x98\n", "caf\ufffd \ufffd\n"),
        (b"", "a is empty."),
        (b"\xef\xbb\xbf", "a is empty."),
        (b"\n", "\n"),
    ],
)
async def test_encodings(read: ReadTool, root: Path, run: Run, content: bytes, text: str) -> None:
    (root / "a").write_bytes(content)
    assert (await run(read, path="a")).text == text


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n0000", "a PNG image of 12 bytes"),
        (b"ab\0c", "binary data of 4 bytes"),
    ],
)
async def test_binary_is_refused(read: ReadTool, root: Path, run: Run, content: bytes, kind: str) -> None:
    (root / "a").write_bytes(content)
    with pytest.raises(ToolError, match=f"a is not text: it is {kind}"):
        await run(read, path="a")


async def test_what_cannot_be_read_says_what_to_do(
    read: ReadTool, root: Path, outside: Path, run: Run
) -> None:
    (root / "settings.toml").touch()
    (root / "sub").mkdir()
    with pytest.raises(ToolError, match=r"There is no setting\.toml\. Near to it: settings\.toml\."):
        await run(read, path="setting.toml")
    with pytest.raises(ToolError, match="Use `ls` or `find`"):
        await run(read, path="nowhere/at/all")
    with pytest.raises(ToolError, match=r"is a folder\. Use `ls`"):
        await run(read, path="sub")
    with pytest.raises(BlockedError):
        await run(read, path=str(outside / "diary.txt"))
    with pytest.raises(BlockedError):
        await run(read, path=".env")


async def test_ls(ls: ListTool, root: Path, outside: Path, run: Run) -> None:
    assert (await run(ls)).text == ". is empty."
    (root / "Sub").mkdir()
    (root / ".hidden").write_text("x" * 1500)
    (root / "a.txt").write_text("hello")
    (root / "link").symlink_to(outside)
    (root / "two\nlines").touch()
    (root / os.fsdecode(b"\xff")).touch()
    assert (await run(ls)).text.split("\n") == [
        ".hidden  1.5 KB",
        "a.txt  5 bytes",
        f"link -> {outside}",
        "Sub/",
        "two\ufffdlines  0 bytes",
        "\ufffd  0 bytes",
    ]
    with pytest.raises(BlockedError):
        await run(ls, path="link")
    with pytest.raises(ToolError, match=r"is a file\. Use `read`"):
        await run(ls, path="a.txt")
    with pytest.raises(ToolError, match="There is no nowhere"):
        await run(ls, path="nowhere")


async def test_ls_of_many(ls: ListTool, root: Path, run: Run) -> None:
    for number in range(503):
        (root / f"{number:03}").touch()
    lines = (await run(ls)).text.split("\n")
    assert lines[499].startswith("499 ")
    assert lines[500:] == ["[3 more entries are not shown. Use `find` with a pattern.]"]


@pytest.fixture
def tree(root: Path, outside: Path) -> Path:
    files = "a.py b.txt src/a.py src/deep/test_a.py src/deep/c.js docs/[x].md"
    for name in f"{files} .git/a.py node_modules/m/a.py .ssh/a.py".split():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"in {name}\nneedle\n")
    (root / "out").symlink_to(outside)
    (root / "loop").symlink_to(root)
    return root


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", "a.py src/a.py src/deep/test_a.py"),
        ("a.py", "a.py src/a.py"),
        ("./a.py", "a.py"),
        ("src/*.py", "src/a.py"),
        ("src/**/*.py", "src/a.py src/deep/test_a.py"),
        ("**/**/deep/**", "src/deep/ src/deep/test_a.py src/deep/c.js"),
        ("*.{js,txt}", "b.txt src/deep/c.js"),
        ("[[]x].md", "docs/[x].md"),
        ("de?p", "src/deep/"),
        ("loop", "loop"),
        ("diary*", ""),
    ],
)
async def test_find(find: FindTool, tree: Path, run: Run, pattern: str, found: str) -> None:
    text = (await run(find, pattern=pattern)).text
    assert sorted(text.split("\n")) == (sorted(found.split()) or ["Nothing found."])


async def test_find_starts_where_it_is_told(find: FindTool, tree: Path, outside: Path, run: Run) -> None:
    assert (await run(find, pattern="*.py", path="src/deep")).text == "src/deep/test_a.py"
    assert (await run(find, pattern="*.py", path=".git")).text == ".git/a.py"
    for path in ("out", str(outside), ".ssh"):
        with pytest.raises(BlockedError):
            await run(find, pattern="*", path=path)
    with pytest.raises(ToolError, match="is not a folder"):
        await run(find, pattern="*", path="a.py")


async def test_find_is_capped(find: FindTool, root: Path, run: Run) -> None:
    for number in range(201):
        (root / f"{number:03}.txt").touch()
    lines = (await run(find, pattern="*.txt")).text.split("\n")
    assert lines[199] == "199.txt"
    assert lines[200:] == ["[Only the first 200; there are more. Narrow the search.]"]


async def test_grep_finds_what_grep_finds(grep: GrepTool, tree: Path, run: Run) -> None:
    text = (await run(grep, pattern="in .*a|NEEDLE", ignore_case=True)).text
    command = "grep -rniE 'in .*a|needle' --exclude-dir={.git,node_modules,.ssh} . | sed 's/^..//'"
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", command, cwd=tree, stdout=asyncio.subprocess.PIPE
    )
    expected = (await process.communicate())[0].decode()
    assert {line.replace(": ", ":", 1) for line in text.split("\n")} == set(expected.splitlines())


async def test_grep_in_one_file_and_by_glob(grep: GrepTool, tree: Path, outside: Path, run: Run) -> None:
    assert (await run(grep, pattern="needle", path="src/a.py")).text == "src/a.py:2: needle"
    assert (await run(grep, pattern="needle", glob="*.js")).text == "src/deep/c.js:2: needle"
    assert (await run(grep, pattern="dear")).text == "Nothing found."
    for path in ("out/diary.txt", "out", ".ssh/a.py", str(outside)):
        with pytest.raises(BlockedError):
            await run(grep, pattern="dear", path=path)
    with pytest.raises(ToolError, match="There is no nowhere"):
        await run(grep, pattern="x", path="nowhere")


async def test_grep_tells_what_it_left_out(grep: GrepTool, root: Path, run: Run) -> None:
    (root / "binary").write_bytes(b"needle\0")
    (root / "huge.txt").write_bytes(b"needle\n" * 1_000_000)
    (root / ".env").write_text("needle=1")
    (root / "long").write_text("a" * 1000 + "needle" + "b" * 1000 + "\r\nneedle\r\n")
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("long")
    first, second, note = (await run(grep, pattern="needle")).text.split("\n")
    assert first.startswith("long:1: \u2026aaa")
    assert first.endswith("bbb\u2026")
    assert "needle" in first
    assert len(first) < 320
    assert second == "long:2: needle"
    assert note == "[Not searched: 1 binary, 1 larger than 5 MB, 1 blocked as they hold secrets.]"


async def test_grep_is_capped(grep: GrepTool, root: Path, run: Run) -> None:
    (root / "a").write_text("x\n" * 500)
    lines = (await run(grep, pattern="x")).text.split("\n")
    assert lines[199] == "a:200: x"
    assert lines[200:] == ["[Only the first 200; there are more. Narrow the search.]"]


@pytest.mark.parametrize(
    ("pattern", "wrong"), [("(", r"unterminated|missing \)"), ("*a", "nothing to repeat")]
)
async def test_a_broken_pattern_says_what_is_wrong(
    grep: GrepTool, run: Run, pattern: str, wrong: str
) -> None:
    with pytest.raises(ToolError, match=f"not a regular expression: .*({wrong})"):
        await run(grep, pattern=pattern)


SLOW = {"pattern": "^(a+)+$", "glob": "b"}


async def test_a_catastrophic_pattern_is_stopped_and_the_loop_goes_on(
    workspace: Workspace, root: Path, run: Run
) -> None:
    (root / "b").write_text("aaa\n" + "a" * 60 + "!\n")
    searching = asyncio.create_task(run(GrepTool(workspace, seconds=1), **SLOW))
    started = time.monotonic()
    longest = last = 0.0
    while not searching.done():
        await asyncio.sleep(0.01)
        longest, last = max(longest, time.monotonic() - started - last), time.monotonic() - started
    result = await searching
    assert not result.ok
    assert result.text == "b:1: aaa\n[Stopped after 1 s. Use a narrower path or a simpler pattern.]"
    assert longest < 0.5
    assert last < 3
    assert searchers() == []


async def test_a_cancelled_search_leaves_no_process(grep: GrepTool, root: Path, run: Run) -> None:
    (root / "b").write_text("a" * 60 + "!\n")
    searching = asyncio.create_task(run(grep, **SLOW))
    await until(lambda: searchers() != [])
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    assert searchers() == []


def searchers() -> list[psutil.Process]:
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if "tools.searching" in str(process.cmdline())
    ]
