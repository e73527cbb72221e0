"""MCP servers as tools: real servers over pipes and HTTP, and what becomes of them and of calls."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.mcp_harness import (
    call,
    free_port,
    gone,
    named,
    of,
    running,
    served,
    state,
    stdio,
    until,
    write,
)
from fireside_agent.tools.mcp.faults import Limits
from fireside_agent.tools.mcp.servers import McpServers
from fireside_agent.tools.mcp.tools import MAX_RESULT_BYTES, tool_name
from fireside_agent.tools.mcp.transport import GUARD
from fireside_agent.tools.registry import NAME
from fireside_agent.tools.tool import ChatFacts, ToolError, ToolResult


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The URL of a server of today's protocol that all tests share, and the file of its notes."""
    port, notes = free_port(), tmp_path_factory.mktemp("web") / "notes"
    with served(port, "--notes", str(notes)):
        yield f"http://127.0.0.1:{port}/mcp", notes


async def test_a_program_is_started_used_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESIDE_PLANTED_SECRET", "hunter2")
    notes = tmp_path / "notes"
    entry = stdio("--notes", str(notes), env={"GIVEN": "by the entry"})
    async with running(tmp_path, {"demo": entry}, Limits(call_s=0.4)) as servers:
        await check_limit_and_cancellation(servers, notes)
        assert state(servers).state == "ready"
        assert (await call(of(servers, "demo__add"), a=1, b=2)).text == "3"
        environment = (await call(of(servers, "demo__environment"))).text
        assert "GIVEN=by the entry" in environment
        assert "hunter2" not in environment
        assert f"PATH={os.environ['PATH']}" in environment
        pid = int((await call(named(servers, "who am I?"))).text)
        group = [
            one.pid for one in psutil.process_iter() if one.pid > 1 and os.getpgid(one.pid) == os.getpgid(pid)
        ]
        assert pid in group
        assert os.getpgid(pid) != os.getpgid(0)
        add = of(servers, "demo__add")

        # A change of the file leaves alone what it does not change.
        write(tmp_path, {"off": {"command": "sh", "disabled": True}, "demo": entry})
        await servers.reload()
        assert [one.state for one in servers.states()] == ["disabled", "ready"]
        assert int((await call(named(servers, "who am I?"))).text) == pid

        assert "demo__added" not in [tool.name for tool in servers.tools()]
        assert (await call(of(servers, "demo__grow"))).ok
        await until(lambda: "demo__added" in [tool.name for tool in servers.tools()])
        assert (await call(of(servers, "demo__added"), a=2, b=2)).text == "4"
    await until(lambda: gone(*group))
    with pytest.raises(ToolError, match="removed"):
        await call(add, a=1, b=2)


async def test_results_errors_and_risks_over_http(tmp_path: Path, web: tuple[str, Path]) -> None:
    async with running(tmp_path, {"demo": {"url": web[0]}}) as servers:
        assert (state(servers).transport, state(servers).state) == ("http", "ready")
        add, reads = of(servers, "demo__add"), of(servers, "demo__environment")
        assert (add.source, add.gives_local, add.description) == ("demo", True, "Adds two numbers.")
        assert add.parameters["required"] == ["a", "b"]
        assert await call(add, a=1, b=2) == ToolResult("3")
        failed = await call(of(servers, "demo__fail"))
        assert not failed.ok
        assert "full of ice" in failed.text
        assert not (await call(add, a="x", b=2)).ok

        big = (await call(of(servers, "demo__big"))).text
        assert big.startswith("é" * (MAX_RESULT_BYTES // 2) + "\n\n[cut: 100,000 bytes")
        gallery = (await call(of(servers, "demo__gallery"))).text
        assert gallery == (
            "first\n\n[image, image/png, 3 bytes, not shown]\n\n[resource report: https://example.org/report]\n\n"
            "[resource file:///notes.txt, text/plain]\na note\n\nlast"
        )

        assert (add.risk, reads.risk) == ("execute", "send")
        assert "demo" in (add.question({}, ChatFacts()) or "")
        assert reads.question({}, ChatFacts()) is None
        assert "local content" in (reads.question({}, ChatFacts(local=True)) or "")
        preview = await add.preview({"a": 1, "b": 2})
        assert json.loads(preview.text) == {"server": "demo", "tool": "add", "arguments": {"a": 1, "b": 2}}


async def test_a_slow_call_over_http_ends_at_its_limit_and_when_cancelled(
    tmp_path: Path, web: tuple[str, Path]
) -> None:
    async with running(tmp_path, {"demo": {"url": web[0]}}, Limits(call_s=0.4)) as servers:
        await check_limit_and_cancellation(servers, web[1])


async def check_limit_and_cancellation(servers: McpServers, notes: Path) -> None:
    slow, shown = of(servers, "demo__slow"), list[str]()
    assert (await call(slow, seconds=0)).text == "done"
    began = time.monotonic()
    with pytest.raises(ToolError, match=r"did not finish `slow` within 0.4 s"):
        await call(slow, shown, seconds=60)
    assert time.monotonic() - began < 2
    assert shown == ["half way\n"]
    await until(lambda: notes.read_text() == "cancelled")

    cancelled = asyncio.create_task(call(slow, seconds=60))
    await until(lambda: notes.read_text() == "started")
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await until(lambda: notes.read_text() == "cancelled")
    assert (await call(of(servers, "demo__add"), a=1, b=2)).text == "3"


async def test_a_killed_server_is_started_again_when_it_is_used(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    entry = stdio("--notes", str(notes))
    async with running(tmp_path, {"demo": entry}) as servers:
        who = named(servers, "who am I?")
        first = int((await call(who)).text)
        os.kill(first, signal.SIGKILL)
        await until(lambda: state(servers).error.startswith("it ended ("))
        assert state(servers).state == "failed"
        assert state(servers).error.endswith("ended with signal 9)")
        assert [tool.tool for tool in state(servers).tools][:2] == ["add", "environment"]
        second = int((await call(who)).text)
        assert second != first
        assert (state(servers).state, state(servers).error) == ("ready", "")

        # The call that runs while it dies fails, and says that nobody knows how far it came.
        lost = asyncio.create_task(call(of(servers, "demo__slow"), seconds=60))
        await until(lambda: notes.exists() and notes.read_text() == "started")
        os.kill(second, signal.SIGKILL)
        with pytest.raises(ToolError, match="was lost during `slow`, which may have taken effect"):
            await lost
        with pytest.raises(ToolError, match=r"does not run: it ended .*tried again in [12] s"):
            await call(who)


async def test_rubbish_on_standard_output_and_a_family_that_will_not_leave(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    entry = stdio("--rubbish", "--family", "--stubborn", "--notes", str(notes))
    async with running(tmp_path, {"demo": entry}) as servers:
        assert (await call(of(servers, "demo__add"), a=1, b=2)).text == "3"
        pids = [
            int((await call(named(servers, "who am I?"))).text),
            int(notes.with_suffix(".child").read_text()),
        ]
        assert not gone(*pids)
        began = time.monotonic()
    assert time.monotonic() - began < 6
    # Killed they are, only their passing may take a moment on a busy machine.
    await until(lambda: gone(*pids))


async def test_servers_that_fail_hold_nothing_up_and_say_why(tmp_path: Path) -> None:
    entries = {
        "missing": {"command": "no-such-program"},
        "crash": {"command": "sh", "args": ["-c", "echo no licence found >&2; exit 3"]},
        "deaf": {"command": "sleep", "args": ["600"]},
        "nowhere": {"command": "sh", "cwd": "not/there"},
        "unreachable": {"url": f"http://127.0.0.1:{free_port()}/mcp"},
        "off": {"command": "no-such-program", "disabled": True},
        "both": {"command": "sh", "url": "http://127.0.0.1/"},
        "neither": {},
        "odd": {"command": 7},
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": entries}))
    servers = McpServers(path, Limits(start_s=0.6))
    began = time.monotonic()
    await servers.start()
    assert servers.tools() == []
    assert state(servers, "deaf").state == "starting"
    assert time.monotonic() - began < 0.5
    await until(lambda: all(one.state != "starting" for one in servers.states()))
    errors = {one.name: (one.state, one.error) for one in servers.states()}
    assert errors["missing"] == (
        "failed",
        "There is no program 'no-such-program'. Install it, or give its full path",
    )
    assert errors["crash"] == ("failed", "it ended (no licence found / ended with exit status 3)")
    assert errors["deaf"] == ("failed", "it did not start within 0.6 s")
    assert "not/there does not exist" in errors["nowhere"][1]
    assert errors["unreachable"] == ("failed", "All connection attempts failed")
    assert errors["off"] == ("disabled", "")
    assert "either `command`" in errors["both"][1]
    assert "either `command`" in errors["neither"][1]
    assert "`$.command`" in errors["odd"][1]
    await servers.close()
    assert [one for one in psutil.Process().children() if one.name() in ("sh", "sleep")] == []


async def test_a_server_that_failed_is_tried_again_with_growing_pauses(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    entry = {"command": "sh", "args": ["-c", f"echo x >> {starts}; exit 1"]}
    async with running(tmp_path, {"demo": entry}, Limits(pause_s=0.2)) as servers:
        began = time.monotonic()
        while time.monotonic() - began < 0.9:
            servers.tools()
            await asyncio.sleep(0.02)
        # At 0, 0.2 and 0.6 seconds, each a little later for the time that a start takes.
        assert 2 <= len(starts.read_text().split()) <= 3
        count = len(starts.read_text().split())
        assert await servers.restart("demo")
        await until(lambda: len(starts.read_text().split()) == count + 1)
        assert not await servers.restart("unknown")


async def test_an_old_server_tells_of_changes_and_is_found_again_after_its_restart(tmp_path: Path) -> None:
    port = free_port()
    with served(port, "--old"):
        servers = McpServers(write(tmp_path, {"demo": {"url": f"http://127.0.0.1:{port}/mcp"}}))
        await servers.start()
        await until(lambda: state(servers).state == "ready")
        add = of(servers, "demo__add")
        assert (await call(of(servers, "demo__grow"))).ok
        await until(lambda: "demo__added" in [tool.name for tool in servers.tools()])
    with served(port, "--old"):
        assert (await call(add, a=1, b=2)).text == "3"
        await servers.close()


async def test_nothing_of_a_server_outlives_a_killed_app(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = f"trap '' TERM; sleep 600 & echo $! $$ > {pids}; sleep 600"
    guarded = [sys.executable, "-I", "-S", str(GUARD), "sh", "-c", program]
    app = (
        "import subprocess, sys\n"
        f"one = subprocess.Popen({guarded!r}, stdin=-1, stdout=-1, start_new_session=True)\n"
        "one.wait()"
    )
    process = subprocess.Popen([sys.executable, "-c", app])  # noqa: ASYNC220 - it takes no time
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    started = [int(pid) for pid in pids.read_text().split()]
    guard = psutil.Process(started[1]).ppid()
    assert not gone(guard, *started)
    process.kill()
    process.wait()
    await until(lambda: gone(guard, *started))


def test_mcp_is_not_imported_without_a_server_that_is_switched_on(tmp_path: Path) -> None:
    path = write(tmp_path, {"off": {"command": "sh", "disabled": True}})
    program = (
        "import asyncio, sys, pathlib\n"
        "from fireside_agent.tools.mcp.routes import create_blueprint\n"
        "from fireside_agent.tools.mcp.servers import McpServers\n"
        "from fireside_agent.tools.registry import Registry\n"
        "async def main():\n"
        f"    servers = McpServers(pathlib.Path({str(path)!r}))\n"
        "    create_blueprint(servers)\n"
        "    await servers.start()\n"
        "    assert Registry([], [servers.tools]).specs(None) == []\n"
        "    assert servers.states()[0].state == 'disabled'\n"
        "    await servers.close()\n"
        "asyncio.run(main())\n"
        "print(sorted({'mcp', 'anyio', 'jsonschema', 'httpx', 'pydantic'} & sys.modules.keys()))\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), unique=True))
def test_names_of_tools_are_allowed_unique_and_stable(pairs: list[tuple[str, str]]) -> None:
    taken: set[str] = set()
    for server, tool in pairs:
        name = tool_name(server, tool, taken)
        assert NAME.fullmatch(name)
        assert name not in taken
        assert name == tool_name(server, tool, set()) or tool_name(server, tool, set()) in taken
        taken.add(name)
    assert tool_name("files", "read_file", set()) == "files__read_file"
