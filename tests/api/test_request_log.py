"""The line that every answer leaves in the request log."""

import errno
import json
import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fireside.api import request_log
from fireside.api.request_log import FILE, RequestLog, RequestRecord
from support.server import Server, prepared_home, serving

SECRET = "quicksilver"


def record(number: int = 0, **fields: Any) -> RequestRecord:
    values: dict[str, Any] = {
        "id": f"cmpl-{number}",
        "route": "/v1/completions",
        "lane": "batched",
        "queue_ms": 1.0,
        "ttft_ms": None,
        "decode_tps": 20.5,
        "total_ms": 100.0,
        "prompt_tokens": 5,
        "cached_tokens": 2,
        "completion_tokens": 3,
        "finish": "stop",
        "seed": 2**64 - 1,
        "priority": "normal",
        "resumed": 0,
        "client_gone": False,
        "time": 1.5,
    }
    return RequestRecord(**{**values, **fields})


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text().split("\n") if line]


def lines_within(folder: Path, count: int, seconds: float = 5) -> list[dict[str, Any]]:
    """The lines, once there are so many."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (folder / FILE).exists() and len(found := lines(folder)) >= count:
            return found
        time.sleep(0.02)
    raise AssertionError(f"there are not {count} lines after {seconds} s")


def test_a_line_is_the_record_as_json_and_private(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "logs")
    log.write(record(7))
    log.write(record(8, prompt="100 % \n", answer="žluť\u2028"))
    log.close()
    first, second = lines(tmp_path / "logs")
    assert first["id"] == "cmpl-7"
    assert first["seed"] == 2**64 - 1
    assert first["ttft_ms"] is None
    assert not {"prompt", "answer"} & first.keys()
    assert (second["prompt"], second["answer"]) == ("100 % \n", "žluť\u2028")
    assert (tmp_path / "logs" / FILE).stat().st_mode & 0o777 == 0o600
    log.write(record(9))
    log.close()
    assert len(lines(tmp_path / "logs")) == 2


def test_the_file_is_rotated_and_the_oldest_is_dropped(tmp_path: Path) -> None:
    log = RequestLog(tmp_path, max_bytes=2000, backups=2)
    for number in range(60):
        log.write(record(number))
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, f"{FILE}.1", f"{FILE}.2"]
    assert all(path.stat().st_size <= 2000 for path in tmp_path.iterdir())
    assert lines(tmp_path)[-1]["id"] == "cmpl-59"


def test_two_logs_do_not_mix_and_no_other_handler_sees_the_lines(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs = [RequestLog(tmp_path / name) for name in ("a", "b")]
    for number, log in enumerate(logs):
        log.write(record(number))
        log.close()
    assert [lines(tmp_path / name)[0]["id"] for name in ("a", "b")] == ["cmpl-0", "cmpl-1"]
    assert caplog.records == []


def test_a_disk_that_is_full_loses_lines_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(request_log, "_RETRY_AFTER_S", 0.0)
    full = threading.Event()
    write = os.write

    class Disk:
        """Stands for the file; while the disk is full, half of what is written arrives."""

        def __init__(self, path: str) -> None:
            self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
            self._size = 0

        def write(self, text: str) -> None:
            if full.is_set():
                write(self._file, text[:20].encode())
                raise OSError(errno.ENOSPC, "No space left on device")
            write(self._file, text.encode())

        def flush(self) -> None: ...
        def seek(self, *_: int) -> None: ...
        def tell(self) -> int:
            return 0

        def close(self) -> None:
            os.close(self._file)

    monkeypatch.setattr("fireside.api.request_log._File._open", lambda self: Disk(self.baseFilename))
    log = RequestLog(tmp_path)
    log.write(record(0))
    lines_within(tmp_path, 1)
    full.set()
    for number in (1, 2, 3):
        log.write(record(number))
    deadline = time.monotonic() + 5
    while len(caplog.records) < 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    full.clear()
    log.write(record(4))
    log.close()
    written = (tmp_path / FILE).read_text().splitlines()
    assert [json.loads(line)["id"] for line in written if line.endswith("}")] == ["cmpl-0", "cmpl-4"]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2, "said once, and once that it is over"
    assert "No space left" in messages[0]
    assert caplog.records[0].levelno == logging.WARNING


def test_a_folder_that_cannot_be_made_is_said_and_harmless(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "logs").write_text("in the way")
    log = RequestLog(tmp_path / "logs")
    log.write(record())
    log.write(record())
    log.close()
    assert len(caplog.records) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_device_that_is_always_full_is_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE).symlink_to("/dev/full")
    log = RequestLog(tmp_path)
    log.write(record())
    log.write(record())
    log.close()
    (told,) = caplog.records
    assert "No space left on device" in told.getMessage()


def test_a_slow_disk_never_makes_the_writer_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(request_log, "_MAX_PENDING", 10)
    stuck = threading.Event()
    monkeypatch.setattr("fireside.api.request_log._File.emit", lambda *_: stuck.wait(10))
    log = RequestLog(tmp_path)
    begin = time.monotonic()
    for number in range(100):
        log.write(record(number))
    assert time.monotonic() - begin < 5
    stuck.set()
    log.close()
    assert [r.getMessage() for r in caplog.records] == [
        "the request log is written too slowly; lines are left out"
    ]


@pytest.fixture(scope="module")
def logging_texts(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = prepared_home(tmp_path_factory.mktemp("log-prompts"), server.home)
    with serving(home, "--log-prompts") as running:
        yield running.wait_ready()


def chat(server: Server, text: str = f"Repeat: {SECRET}", **fields: Any) -> Any:
    body = {"messages": [{"role": "user", "content": text}], "temperature": 0, **fields}
    return server.post("/v1/chat/completions", {"reasoning_effort": "none", **body})


def test_every_answer_leaves_a_line_with_its_numbers_and_no_text(home: Path) -> None:
    with serving(home) as fresh:
        fresh.wait_ready()
        answer = chat(fresh, seed=11)
        several = fresh.post("/v1/completions", {"prompt": [SECRET, "b"], "max_tokens": 3, "temperature": 0})
        chatted, *completed = lines_within(home / "logs", 3)
        assert chatted["id"] == answer["id"]
        assert chatted["route"] == "/v1/chat/completions"
        assert chatted["finish"] == answer["choices"][0]["finish_reason"] == "stop"
        assert chatted["prompt_tokens"] == answer["usage"]["prompt_tokens"]
        assert chatted["completion_tokens"] == answer["usage"]["completion_tokens"]
        assert (chatted["seed"], chatted["client_gone"], chatted["resumed"]) == (11, False, 0)
        assert 0 <= chatted["queue_ms"] <= chatted["ttft_ms"] <= chatted["total_ms"]
        assert [line["id"] for line in completed] == [several["id"]] * 2
        counting = f"<|im_start|>user\nCount to 900. {SECRET}<|im_end|>\n<|im_start|>assistant\n1, 2"
        body = {"prompt": counting, "max_tokens": 4000, "stream": True}
        with httpx.stream("POST", f"{fresh.url}/v1/completions", json=body) as reply:
            rows = reply.iter_lines()
            assert any('"text":","' in row for row in rows)
        left = lines_within(home / "logs", 4)[-1]
        assert (left["finish"], left["client_gone"]) == ("cancelled", True)
        assert 0 < left["completion_tokens"] < 4000
    assert SECRET not in (home / "logs" / FILE).read_text()


def test_texts_are_logged_only_where_somebody_asked_for_them(logging_texts: Server) -> None:
    chat(logging_texts, stop=["silver"])
    logging_texts.post("/v1/completions", {"prompt": f"{SECRET} 漢", "max_tokens": 2, "temperature": 0})
    chatted, completed = lines_within(logging_texts.home / "logs", 2)
    assert f"Repeat: {SECRET}<|im_end|>" in chatted["prompt"]
    assert chatted["answer"].startswith("quick")
    assert chatted["finish"] == "stop"
    assert completed["prompt"] == f"{SECRET} 漢"
    assert completed["answer"]
