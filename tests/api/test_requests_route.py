"""`/api/requests` and `/api/logs`: what is being answered, and what was."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from fireside.api.request_lines import LogReader
from fireside.api.request_log import FILE, RequestLog, RequestRecord
from fireside.http.errors import BadRequest
from support.server import Server

SECRET = "quicksilver"
LONG = {"messages": [{"role": "user", "content": f"Count to 5000. {SECRET}"}], "max_tokens": 3000}


def in_flight(server: Server) -> list[dict[str, Any]]:
    answer = httpx.get(f"{server.url}/api/requests")
    assert SECRET not in answer.text
    found: list[dict[str, Any]] = answer.json()["requests"]
    return found


def within(seconds: float, look: Callable[[], Any]) -> Any:
    """What `look` finds, once that is something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError(f"nothing after {seconds} s")


@contextmanager
def streaming(server: Server, **fields: Any) -> Iterator[Iterator[str]]:
    """The lines of a stream that goes on for long."""
    body = {**LONG, "stream": True, **fields}
    with httpx.stream("POST", f"{server.url}/v1/chat/completions", json=body, timeout=60) as stream:
        yield stream.iter_lines()


def cancel(server: Server, request_id: str) -> int:
    return httpx.delete(f"{server.url}/api/requests/{request_id}").status_code


def logged(server: Server, request_id: str) -> dict[str, Any]:
    """The line of an answer in the log."""

    def look() -> dict[str, Any] | None:
        lines = server.get("/api/logs?limit=1000")["lines"]
        return next((line for line in lines if line["id"] == request_id), None)

    found: dict[str, Any] = within(5, look)
    return found


def test_a_request_is_shown_from_the_queue_to_its_cancellation(server: Server) -> None:
    assert in_flight(server) == []
    with streaming(server) as lines:
        first = json.loads(next(lines).removeprefix("data: "))
        row = within(30, lambda: next((r for r in in_flight(server) if r["generated_tokens"] > 4), None))
        assert row["id"] == first["id"]
        assert (row["route"], row["model"]) == ("/v1/chat/completions", "pocket")
        assert (row["state"], row["lane"], row["priority"]) == ("decoding", "batched", "normal")
        assert row["position"] is None
        assert row["prompt_tokens"] == row["prefill_done"] > 5
        assert row["max_tokens"] > row["generated_tokens"]
        assert row["decode_tps"] > 0
        assert 0 < row["age_s"] < 60
        with streaming(server, seed=1, priority="background") as waiting:
            behind = within(5, lambda: next((r for r in in_flight(server) if r["state"] == "queued"), None))
            assert (behind["position"], behind["lane"]) == (0, "serial")
            assert (behind["priority"], behind["generated_tokens"]) == ("background", 0)
            assert cancel(server, behind["id"]) == 204
            assert "request_cancelled" in "".join(waiting)
        assert cancel(server, row["id"]) == 204
        rest = [line for line in lines if line]
        assert json.loads(rest[-2].removeprefix("data: "))["error"]["code"] == "request_cancelled"
        assert rest[-1] == "data: [DONE]"
    assert in_flight(server) == []
    assert cancel(server, row["id"]) == 404
    line = logged(server, row["id"])
    assert (line["finish"], line["client_gone"]) == ("cancelled", False)
    assert line["completion_tokens"] > 4


def test_an_answer_that_is_no_stream_is_cancelled_with_a_status(server: Server) -> None:
    answers: list[httpx.Response] = []

    def ask() -> None:
        body = {"prompt": "1, 2, 3", "max_tokens": 3000, "n": 2}
        answers.append(httpx.post(f"{server.url}/v1/completions", json=body, timeout=60))

    thread = threading.Thread(target=ask)
    thread.start()
    rows = within(10, lambda: in_flight(server)[1:] and in_flight(server))
    assert len({row["id"] for row in rows}) == 1, "both answers of a request have its id"
    assert cancel(server, rows[0]["id"]) == 204
    thread.join()
    assert answers[0].status_code == 499
    assert answers[0].json()["error"]["code"] == "request_cancelled"
    assert in_flight(server) == []


def test_the_log_is_read_on_from_a_cursor(server: Server) -> None:
    def ask() -> str:
        return str(server.post("/v1/completions", {"prompt": SECRET, "max_tokens": 1})["id"])

    logged(server, ask())
    page = server.get("/api/logs?limit=1")
    assert len(page["lines"]) == 1
    new = [ask(), ask()]

    def look() -> dict[str, Any] | None:
        later = server.get(f"/api/logs?after={page['next']}")
        return later if len(later["lines"]) == 2 else None

    later = within(5, look)
    assert [line["id"] for line in later["lines"]] == new
    assert later["more"] is later["gone"] is False
    assert server.get(f"/api/logs?after={later['next']}")["lines"] == []
    assert SECRET not in httpx.get(f"{server.url}/api/logs?limit=1000").text


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "limit=", "after=", "after=x", "after=0-0"]
)
def test_a_wrong_parameter_of_the_log_is_refused(server: Server, query: str) -> None:
    answer = httpx.get(f"{server.url}/api/logs?{query}")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, query.partition("=")[0])


def record(number: int, **fields: Any) -> RequestRecord:
    values: dict[str, Any] = {
        "id": f"cmpl-{number}", "route": "/v1/completions", "lane": "batched", "queue_ms": 1.0,
        "ttft_ms": None, "decode_tps": 20.5, "total_ms": 100.0, "prompt_tokens": 5, "cached_tokens": 2,
        "completion_tokens": 3, "finish": "stop", "seed": 2**64 - 1, "priority": "normal", "resumed": 0,
        "client_gone": False, "time": 1.5,
    }  # fmt: skip
    return RequestRecord(**{**values, **fields})


def write(folder: Path, numbers: range, **fields: Any) -> None:
    log = RequestLog(folder, max_bytes=2000, backups=3)
    for number in numbers:
        log.write(record(number, **fields))
    log.close()


def ids(lines: list[RequestRecord]) -> list[int]:
    return [int(line.id.removeprefix("cmpl-")) for line in lines]


def test_a_log_that_is_not_there_is_empty_and_its_cursor_holds(tmp_path: Path) -> None:
    reader = LogReader(tmp_path / "logs")
    page = reader.newest(10)
    assert (page.lines, page.more, page.gone) == ([], False, False)
    write(tmp_path / "logs", range(3))
    assert ids(reader.after(page.next, 10).lines) == [0, 1, 2]
    assert not reader.after(page.next, 10).gone


def test_a_cursor_survives_rotations_and_says_when_it_could_not(tmp_path: Path) -> None:
    reader = LogReader(tmp_path)
    write(tmp_path, range(3))
    cursor = reader.newest(1).next
    write(tmp_path, range(3, 15))
    assert (tmp_path / f"{FILE}.1").exists()
    assert ids(reader.newest(10).lines) == list(range(5, 15))
    seen: list[int] = []
    more = True
    while more:
        page = reader.after(cursor, 5)
        seen += ids(page.lines)
        cursor, more = page.next, page.more
        assert not page.gone
    assert seen == list(range(3, 15))
    write(tmp_path, range(15, 100))
    page = reader.after(cursor, 1000)
    assert page.gone
    assert ids(page.lines) == list(range(ids(page.lines)[0], 100))
    assert ids(reader.newest(1000).lines) == ids(page.lines)


def test_what_is_not_a_whole_line_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, range(2))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"id": "half\n')
        file.write('{"id": "still being written')
    reader = LogReader(tmp_path)
    page = reader.newest(10)
    assert (ids(page.lines), page.unreadable) == ([0, 1], 1)
    assert reader.after(page.next, 10).lines == []
    with (tmp_path / FILE).open("a") as file:
        file.write("\n")
    write(tmp_path, range(2, 4))
    later = reader.after(page.next, 10)
    assert (ids(later.lines), later.unreadable) == ([2, 3], 1)


def test_long_lines_are_read_in_pages_that_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireside.api.request_lines._MAX_BYTES", 250_000)
    log = RequestLog(tmp_path, texts=True)
    for number in range(6):
        log.write(record(number, prompt="ž" * 50_000, answer="x"))
    log.close()
    reader = LogReader(tmp_path)
    assert ids(reader.newest(100).lines) == [4, 5]
    page = reader.after("0" * 16 + "-0", 100)
    assert (ids(page.lines), page.more) == ([0, 1], True)
    assert page.lines[0].prompt == "ž" * 50_000
    assert ids(reader.after(page.next, 1).lines) == [2]


def test_a_cursor_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest):
        LogReader(tmp_path).after("requests", 1)
