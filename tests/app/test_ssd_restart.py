"""A conversation that outlives the process: its next turn reads only what is new."""

from __future__ import annotations

import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from fireside.app import operations
from fireside.cli import main
from fireside.config import ServeConfig
from fireside.paths import Home
from support.completions import Answer, ask, assistant, body_of, user
from support.server import Server, gone_within, prepared_home, serving

HOUSES = " ".join(f"The {number}th house on the left has a green door." for number in range(122))
FIRST = [user(f"Remember this. {HOUSES}")]
CAPITAL = user("What is the capital of France?")


def turn(server: Server, messages: list[dict[str, str]]) -> Answer:
    return ask(server, messages, max_tokens=24, return_progress=True)


@pytest.fixture(scope="module")
def used(server: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """A home in which a conversation was begun, and its first answer."""
    home = prepared_home(tmp_path_factory.mktemp("ssd"), server.home)
    with serving(home) as running:
        answer = turn(running.wait_ready(), FIRST)
        assert running.stop() < 5
        assert "Prompt cache: 1 entry written to the disk" in running.log.read_text()
    return home, answer


def test_the_next_turn_after_a_restart(used: tuple[Path, Answer], server: Server) -> None:
    home, first = used
    assert first.prompt_tokens >= 3000
    messages = [*FIRST, assistant(first.text), CAPITAL]
    with serving(home) as running:
        answer = turn(running.wait_ready(), messages)
        # The tier tells of itself a few times a second.
        deadline = time.monotonic() + 5
        while not (stats := running.get("/stats")["ssd_cache"])["restores"]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        # The core that dies takes nothing with it that was written, and the next one finds it too.
        running.kill_core()
        running.core_pid()
        again = turn(running, messages)
    assert answer.text == again.text == turn(server, messages).text
    for each in (answer, again):
        assert each.cached_tokens >= first.prompt_tokens - 4
        assert each.usage["fireside"]["from_ssd"] == each.cached_tokens
        assert each.usage["fireside"]["from_ram"] == 0
    assert (stats["restores"], stats["quarantined"], stats["dir"]) == (1, 0, str(home / "ssd-cache"))
    assert stats["restore_ms_last"] > 0


def test_nobody_else_may_read_it(used: tuple[Path, Answer]) -> None:
    folder = used[0] / "ssd-cache"
    files = list(folder.iterdir())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_drain_by_the_unix_socket_and_a_second_ctrl_c(home: Path) -> None:
    path = home / "run" / "socket"
    with serving(home, "--unix-socket", str(path), "--ssd-demote-idle", "0") as running:
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), timeout=60) as client:
            while client.get("http://localhost/health").status_code != 200:
                time.sleep(0.05)
            private = body_of([user("Whisper. " * 300)], max_tokens=4, prompt_cache_retention="in_memory")
            assert client.post("http://localhost/v1/chat/completions", json=private).status_code == 200
            body = body_of([user("Count. " * 100)], max_tokens=4)
            assert client.post("http://localhost/v1/chat/completions", json=body).status_code == 200
            told = client.post("http://localhost/admin/drain").raise_for_status().json()
            deadline = time.monotonic() + 5
            # What is private stays where it is.
            while client.get("http://localhost/stats").json()["prompt_cache"]["entries"] > 1:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            metrics = client.get("http://localhost/metrics").text
            core = client.get("http://localhost/stats").json()["engine"]["pid"]
        os.kill(core, signal.SIGSTOP)  # a disk that takes its time
        running.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + 5
        while "Ctrl-C stops at once" not in running.log.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert running.stop() < 1
        assert running.process.returncode == 130
        assert gone_within(core, 1)
    assert told["drained"] is True
    assert told["written"] == told["demotions"] == len(list((home / "ssd-cache").glob("*.safetensors"))) == 1
    assert told["written_bytes"] == sum(file.stat().st_size for file in (home / "ssd-cache").iterdir())
    assert f"fireside_ssd_cache_spills_total {told['written']:.1f}" in metrics
    described = operations(ServeConfig(Home(home), unix_socket=path))
    assert ("POST", "/admin/drain") in [(operation.method, operation.path) for operation in described]


def test_no_drain_by_tcp(server: Server) -> None:
    assert httpx.post(f"{server.url}/admin/drain", timeout=10).status_code in (404, 405)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ssd-cache", "{tmp}/tier", "--prompt-cache", "0"], "--prompt-cache 0 turns that off"),
        (["--ssd-cache", "{tmp}/tier", "--prompt-cache-size", "0"], "--prompt-cache 0 turns that off"),
        (["--ssd-cache", "{tmp}/file/tier"], "cannot be made"),
        (["--ssd-cache-max", "much"], "is not a size"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FIRESIDE_HOME", str(tmp_path / "home"))
    options = [each.replace("{tmp}", str(tmp_path)) for each in arguments]
    result = CliRunner().invoke(main, ["serve", *options])
    assert result.exit_code == 2
    assert words in result.output


def test_flags_and_their_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[Any] = []
    monkeypatch.setenv("FIRESIDE_HOME", str(tmp_path))
    monkeypatch.setattr("fireside.serve.run", lambda config, announce: reached.append(config.ssd_cache))
    runner = CliRunner()
    runner.invoke(main, ["serve"])
    runner.invoke(main, ["serve", "--prompt-cache", "0"])
    runner.invoke(main, ["serve", "--ssd-cache", "off"])
    runner.invoke(
        main,
        ["serve", "--ssd-cache", str(tmp_path / "t"), "--ssd-cache-max", "4", "--ssd-cache-verify"],
        env={"FIRESIDE_SSD_SPILL_QUEUE_GB": "0", "FIRESIDE_SSD_WRITEBEHIND": "0"},
    )
    default, without, off, full = reached
    assert (default.folder, default.max_bytes, default.queue_bytes) == (None, None, 2 * 10**9)
    assert (default.demote_idle_s, default.verify, default.write_behind) == (300, False, True)
    assert without is None
    assert off is None
    assert (full.folder, full.max_bytes, full.queue_bytes) == (tmp_path / "t", 4 * 10**9, 0)
    assert (full.verify, full.write_behind) == (True, False)
