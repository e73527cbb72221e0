"""`bash`: what it shows and gives back, and that nothing of it stays behind."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from agent.tools.conftest import Run, open_descriptors, until
from fireside_agent.tools import processes
from fireside_agent.tools.environment import plain_environment
from fireside_agent.tools.shell import BashTool
from fireside_agent.tools.tool import Preview, ToolError
from fireside_agent.tools.workspace import Workspace


@pytest.fixture
def bash(workspace: Workspace) -> BashTool:
    return BashTool(workspace)


async def test_a_command_runs_in_the_working_folder(bash: BashTool, root: Path, run: Run) -> None:
    arguments = {"command": "pwd; echo wrong >&2; cat"}
    assert await bash.preview(arguments) == Preview("command", "pwd; echo wrong >&2; cat")
    assert bash.subject(arguments).command == arguments["command"]
    result = await run(bash, **arguments)
    assert result.ok
    assert result.text == f"{root}\nwrong"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("exit 3", "[Exit status 3.]"),
        ("echo out; false", "out\n[Exit status 1.]"),
        ("kill -KILL $$", "[Ended by SIGKILL.]"),
        ("nonsense-that-is-nowhere 2>/dev/null", "[Exit status 127.]"),
    ],
)
async def test_failures_are_results(bash: BashTool, run: Run, command: str, text: str) -> None:
    result = await run(bash, command=command)
    assert (result.ok, result.text) == (False, text)


async def test_nothing_printed(bash: BashTool, run: Run) -> None:
    assert (await run(bash, command="true")).text == "[No output.]"


@pytest.mark.parametrize("command", ["", "  \n", "a\0b", "\ud83d"])
async def test_what_is_no_command_asks_nobody(bash: BashTool, run: Run, command: str) -> None:
    for attempt in (bash.preview({"command": command}), run(bash, command=command)):
        with pytest.raises(ToolError, match="`command`"):
            await attempt


async def test_what_cannot_start_is_an_error_for_the_model(bash: BashTool, root: Path, run: Run) -> None:
    before = open_descriptors()
    with pytest.raises(ToolError, match="could not be started"):
        await run(bash, command="true " + "x" * 3_000_000)
    (root / ".").rmdir()
    with pytest.raises(ToolError, match="it does not exist"):
        await run(bash, command="true")
    assert open_descriptors() == before


async def test_output_is_shown_as_it_comes_and_in_order(bash: BashTool, root: Path, run: Run) -> None:
    shown: list[str] = []
    command = (
        "for n in 1 2 3; do echo out $n; echo err $n >&2; while [ ! -e go$n ]; do sleep 0.01; done; done"
    )
    running = asyncio.ensure_future(run(bash, shown.append, command=command))
    for number in (1, 2, 3):
        await until(lambda number=number: f"err {number}\n" in "".join(shown))
        assert not running.done()
        (root / f"go{number}").touch()
    expected = "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"
    assert (await running).text == expected.removesuffix("\n")
    assert "".join(shown) == expected


async def test_characters_are_never_split(bash: BashTool, run: Run) -> None:
    shown: list[str] = []
    halves = r"printf '\360\237'; sleep 0.1; printf '\224\245\303'; sleep 0.1; printf '\251\377'"
    result = await run(bash, shown.append, command=halves)
    assert result.text == "".join(shown) == "\U0001f525\u00e9\ufffd"
    assert len(shown) == 2 or shown[0] == "\U0001f525"


async def test_of_long_output_the_start_and_the_end_are_kept(bash: BashTool, run: Run) -> None:
    shown: list[str] = []
    text = (await run(bash, shown.append, command="seq 1 200000")).text
    start, note, end = text.split("\n[")[0], text.split("\n[")[1].split("]\n")[0], text.split("]\n")[1]
    everything = "".join(f"{number}\n" for number in range(1, 200_001))
    assert everything.startswith(start)
    assert everything.endswith(end + "\n")
    assert len(start) == 15_000
    assert 14_900 < len(end) <= 15_000
    assert note == f"{len(everything) - 30_000:,} characters are left out here."
    assert "".join(shown).startswith(everything[:500_000])
    assert len("".join(shown)) < 600_000


async def test_a_flood_of_output_leaves_the_loop_free(bash: BashTool, run: Run) -> None:
    running = asyncio.ensure_future(run(bash, command="yes", timeout=1))
    longest = 0.0
    while not running.done():
        started = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - started)
    assert longest < 0.5
    assert (await running).text.endswith(
        "y\ny\n[Ended after 1 s, its time limit. `timeout` can be up to 600.]"
    )


async def test_the_environment_holds_no_secrets(
    bash: BashTool, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = "OPENAI_API_KEY HF_TOKEN MY_SECRET DB_PASSWORD HTTPS_PROXY SSH_AUTH_SOCK BASH_ENV ANYTHING"
    for name in f"{planted} XDG_TOKEN LC_KEY".split():
        monkeypatch.setenv(name, "/planted-1234")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.setenv("LC_TIME", "C")
    text = (await run(bash, command="env; echo done")).text
    assert "planted" not in text
    seen = dict(line.split("=", 1) for line in text.split("\n") if "=" in line)
    assert seen["PATH"] == os.environ["PATH"]
    assert (seen["TERM"], seen["PAGER"], seen["GIT_TERMINAL_PROMPT"]) == ("dumb", "cat", "0")
    assert (seen["XDG_DATA_HOME"], seen["LC_TIME"]) == ("/data", "C")


def test_settings_for_unattended_programs_win() -> None:
    assert plain_environment({"TERM": "xterm", "PAGER": "less", "PATH": "/bin"})["TERM"] == "dumb"


STUBBORN = (
    "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "os.setsid() if 'daemon' in sys.argv and os.fork() == 0 else None; "
    "open(f'pid-{os.getpid()}', 'w').close(); time.sleep(60)"
)


def started(root: Path) -> list[int]:
    return [int(file.name.removeprefix("pid-")) for file in root.glob("pid-*")]


def living(pids: list[int]) -> list[int]:
    return [
        pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ]


def stubborn(*arguments: str) -> str:
    return f'"{sys.executable}" -S -c "{STUBBORN}" {" ".join(arguments)}'


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs get less time than usual to end by themselves."""
    monkeypatch.setattr(processes, "TERM_SECONDS", 0.3)


async def test_the_time_limit_ends_everything(bash: BashTool, root: Path, run: Run) -> None:
    below = f"({stubborn()} & {stubborn()}; echo never)"
    command = f"echo before; trap '' TERM; {below} & {stubborn('daemon')}; echo never"
    result = await run(bash, command=command, timeout=2)
    assert (result.ok, result.text) == (
        False,
        "before\n[Ended after 2 s, its time limit. `timeout` can be up to 600.]",
    )
    assert len(started(root)) == 4
    assert living(started(root)) == []


async def test_a_polite_program_may_clean_up(bash: BashTool, root: Path, run: Run) -> None:
    result = await run(
        bash, command="trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.05; done", timeout=1
    )
    assert "cleaned\n[Ended after 1 s" in result.text


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("times", [1, 3])
async def test_cancelling_ends_everything_first(bash: BashTool, root: Path, run: Run, times: int) -> None:
    running = asyncio.ensure_future(run(bash, command=f"{stubborn()} & {stubborn('daemon')}"))
    await until(lambda: len(started(root)) == 3)
    assert len(living(started(root))) == 3
    for _ in range(times):
        running.cancel()
        await asyncio.sleep(0.05)
    assert not running.done()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert living(started(root)) == []


async def test_cancelling_in_the_first_moment_leaves_nothing(bash: BashTool, root: Path, run: Run) -> None:
    before = open_descriptors()
    for turns in range(6):
        running = asyncio.ensure_future(run(bash, command="touch pid-$$; exec sleep 60"))
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert living(started(root)) == []
    assert [child for child in psutil.Process().children(recursive=True) if child.name() == "sleep"] == []
    assert open_descriptors() == before


@pytest.mark.usefixtures("impatient")
async def test_what_stays_in_the_background_is_ended_with_the_command(
    bash: BashTool, root: Path, run: Run
) -> None:
    started_at = time.monotonic()
    programs = f"sleep 60 & touch pid-$!; {stubborn('daemon')} >/dev/null & (env -i {stubborn()} &)"
    wait = "; while [ $(ls | wc -l) -lt 4 ]; do sleep 0.01; done"
    result = await run(bash, command=f"{programs}{wait}; echo done")
    assert result.ok
    assert result.text == "done\n[What it had left running in the background was ended.]"
    assert time.monotonic() - started_at < 3
    assert len(started(root)) == 4
    assert living(started(root)) == []


async def test_output_that_comes_behind_the_shell_is_not_lost(bash: BashTool, run: Run) -> None:
    assert (await run(bash, command="(sleep 0.1; echo late) & echo first")).text == "first\nlate"
