"""What the socket says about itself, the list of chats, and frames that are not acted upon."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from quart import Quart
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from agent.harness import Client, Served, agent_config, eventually, served_agent
from agent.scripted import Upstream, serving
from fireside_agent.agent import Agent
from fireside_agent.errors import StorageError
from fireside_agent.socket import create_blueprint
from fireside_agent.store.sessions import SessionStore


async def forever() -> None:
    await asyncio.Event().wait()


def our_tasks() -> list[str]:
    """The running coroutines of the agent."""
    coroutines: list[Any] = [task.get_coro() for task in asyncio.all_tasks()]
    return [c.__qualname__ for c in coroutines if "fireside_agent" in c.cr_code.co_filename]


async def test_the_first_frame_is_hello(client: Client) -> None:
    assert client.frames[0] == {"type": "hello", "protocol": 3, "epoch": "epoch-1"}


async def test_ready_names_the_first_model_of_the_server(served: Served, upstream: Upstream) -> None:
    row = {"id": "scripted-1", "context_window": 4096, "reasoning": True, "gen_defaults": {"top_k": 20}}
    upstream.models = {"data": [row, {"id": "other"}]}
    async with served.client() as client:
        ready = await client.until("ready")
    assert ready == {
        "type": "ready",
        "model": "scripted-1",
        "context_window": 4096,
        "thinking": True,
        "thinks": False,
        "vision": False,
        "audio": False,
        "gen_defaults": {"top_k": 20},
    }
    async with served.client() as client:
        assert (await client.next())["type"] == "ready"


async def test_ready_comes_when_the_model_has_been_loaded(upstream: Upstream, database_path: Path) -> None:
    upstream.loading = 2
    async with served_agent(database_path, upstream.base_url) as served, served.client() as client:
        assert served.agent.ready is None
        await client.until("ready")


@pytest.mark.parametrize(
    ("message", "code", "words"),
    [
        ("{", "invalid_json", "JSON"),
        ("", "invalid_json", "JSON"),
        ("[]", "invalid_frame", "object"),
        ("{}", "invalid_frame", "type"),
        ('{"type": "dance"}', "invalid_frame", "dance"),
        ('{"type": "prompt", "session_id": "s", "text": 5, "client_id": "c"}', "invalid_frame", "$.text"),
        ('{"type": "prompt", "session_id": "s", "text": "x"}', "invalid_frame", "client_id"),
        (
            '{"type": "prompt", "session_id": "s", "text": "\\ud800", "client_id": "c"}',
            "invalid_json",
            "JSON",
        ),
        (b'{"type": "list_sessions"}', "invalid_frame", "Binary"),
    ],
)
async def test_a_bad_frame_is_answered_and_the_socket_stays(
    client: Client, message: str | bytes, code: str, words: str
) -> None:
    await client.socket.send(message)
    error = await client.until("error")
    assert error["code"] == code
    assert words in error["message"]
    await client.send("list_sessions")
    await client.until("sessions")


async def test_a_prompt_without_a_client_id_of_its_own_is_refused(client: Client) -> None:
    await client.send("prompt", session_id=client.session_id, text="Hello?", client_id="")
    assert (await client.until("error"))["code"] == "invalid_frame"


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "prompt", "session_id": "nowhere", "text": "x", "client_id": "c"},
        {"type": "abort", "session_id": "nowhere"},
        {"type": "open_session", "id": "nowhere"},
        {"type": "delete_session", "id": "nowhere"},
    ],
)
async def test_an_unknown_session_is_named(client: Client, frame: dict[str, str]) -> None:
    await client.socket.send(json.dumps(frame))
    error = await client.until("error")
    assert (error["code"], error["session_id"]) == ("unknown_session", "nowhere")
    assert error["client_id"] == frame.get("client_id")


async def test_plain_http_is_told_to_upgrade(served: Served) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        response = await http.get(f"http://127.0.0.1:{served.port}/ws")
    assert response.status_code == 426
    assert response.headers["upgrade"] == "websocket"
    assert response.json()["error"]["message"] == "expected websocket"


async def test_a_session_is_listed_with_its_first_prompt(
    served: Served, client: Client, upstream: Upstream
) -> None:
    go = asyncio.Event()
    upstream.scripts = [[go.wait, "Hi"]]  # type: ignore[list-item]
    await client.send("list_sessions")
    assert (await client.until("sessions"))["sessions"] == []
    async with served.client() as other:
        await client.ask("  First line\nSecond line")
        running = await other.until("sessions", lambda frame: frame["sessions"][0]["running"])
        go.set()
        done = await other.until("sessions", lambda frame: not frame["sessions"][0]["running"])
    assert running["sessions"][0]["title"] == "First line"
    assert done["sessions"][0]["id"] == client.session_id
    assert done["sessions"][0]["message_count"] == 2


async def test_the_chat_that_was_used_last_comes_first(served: Served) -> None:
    async with served.client() as client:
        ids: list[str] = []
        for text in ("one", "two"):
            await client.new_session()
            await client.ask(text)
            await client.until("turn_end")
            ids.append(client.session_id)
        await client.open(ids[0])
        await client.until("history")
        await client.ask("again")
        await client.until("turn_end")
        await client.send("list_sessions")
        listed = await client.until("sessions", lambda frame: not frame["sessions"][0]["running"])
    assert [row["id"] for row in listed["sessions"]] == ids
    assert [row["message_count"] for row in listed["sessions"]] == [4, 2]


async def test_a_prompt_may_go_to_a_session_that_is_not_followed(served: Served, client: Client) -> None:
    async with served.client() as other:
        prompt = {"session_id": client.session_id, "text": "Hello?", "client_id": "c1"}
        await other.socket.send(json.dumps({"type": "prompt", **prompt}))
        other.session_id, other.seq = client.session_id, client.seq
        accepted = await other.until("accepted")
        assert accepted["message"]["client_id"] == "c1"
        await client.until("turn_end")


async def test_a_running_session_is_stopped_and_deleted(
    served: Served, client: Client, upstream: Upstream
) -> None:
    upstream.scripts = [["endless ", forever]]
    await client.ask("first")
    await client.ask("second")
    await client.until_shown("endless ")
    async with served.client() as other:
        await other.send("delete_session", id=client.session_id)
        assert (await other.until("deleted"))["session_id"] == client.session_id
        assert (await other.until("sessions"))["sessions"] == []
    assert (await client.until("turn_end"))["status"] == "aborted"
    await client.until("deleted")
    await eventually(lambda: upstream.open_streams == 0)
    await client.send("open_session", id=client.session_id)
    assert (await client.until("error"))["code"] == "unknown_session"
    assert len(upstream.requests) == 1


async def test_a_long_session_can_be_deleted(client: Client) -> None:
    for number in range(15):
        await client.ask(f"Prompt {number}")
        await client.until("turn_end")
    await client.send("delete_session", id=client.session_id)
    await client.until("deleted")
    await client.send("list_sessions")
    assert (await client.until("sessions"))["sessions"] == []


async def test_a_socket_may_open_before_the_agent_has_started(
    upstream: Upstream, database_path: Path
) -> None:
    agent = Agent(agent_config(database_path, upstream.base_url))
    app = Quart(__name__)
    app.register_blueprint(create_blueprint(agent))
    async with serving(app) as port, Served(agent, port).client() as client:
        await client.send("list_sessions")
        await asyncio.sleep(0.05)
        await agent.start()
        await client.until("sessions")
        assert client.of("error") == []
        await agent.close()


async def test_closing_says_goodbye_and_leaves_no_task_and_no_thread(
    upstream: Upstream, database_path: Path
) -> None:
    agent = Agent(agent_config(database_path, upstream.base_url))
    app = Quart(__name__)
    app.register_blueprint(create_blueprint(agent))
    upstream.scripts = [["partial ", forever]]
    async with serving(app) as port:
        await agent.start()
        async with connect(f"ws://127.0.0.1:{port}/ws", proxy=None) as socket:
            client = Client(socket)
            await client.new_session()
            await client.ask("Hello?")
            await client.ask("Never asked")
            await client.until_shown("partial ")
            assert our_tasks() != []
            await agent.close()
            assert (await client.until("turn_end"))["status"] == "interrupted"
            with pytest.raises(ConnectionClosed) as closed:
                await client.until("never")
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1001
        await agent.close()
        assert our_tasks() == []
    await eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("fireside")])


async def test_agents_can_be_started_and_closed_many_times(upstream: Upstream, tmp_path: Path) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    counts: list[int] = []
    for number in range(8):
        agent = Agent(agent_config(tmp_path / f"{number % 2}.db", upstream.base_url))
        await agent.start()
        await agent.close()
        counts.append(open_files())
    assert counts[-1] == counts[1]


async def test_two_agents_live_in_one_process(upstream: Upstream, tmp_path: Path) -> None:
    async with (
        served_agent(tmp_path / "a.db", upstream.base_url, "a") as one,
        served_agent(tmp_path / "b.db", upstream.base_url, "b") as two,
        one.client() as first,
        two.client() as second,
    ):
        await (await first.new_session()).ask("Hello?")
        await first.until("turn_end")
        await second.open(first.session_id)
        assert (await second.until("error"))["code"] == "unknown_session"


async def test_an_agent_that_cannot_start_leaves_nothing_behind(upstream: Upstream, tmp_path: Path) -> None:
    agent = Agent(agent_config(tmp_path / "nowhere" / "fireside.db", upstream.base_url))
    with pytest.raises(StorageError):
        await agent.start()
    await agent.close()
    await eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("fireside")])


async def test_a_socket_that_opens_after_the_agent_has_closed_is_sent_away(served: Served) -> None:
    await served.agent.close()
    async with served.client() as client:
        with pytest.raises(ConnectionClosed) as closed:
            await client.next()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001


async def test_closing_does_not_wait_for_a_client_that_does_not_read(served: Served, client: Client) -> None:
    await client.ask("x" * 900_000, client_id="big")
    await client.until("turn_end")
    address = f"ws://127.0.0.1:{served.port}/ws"
    async with connect(address, proxy=None, max_size=None, max_queue=1, compression=None) as deaf:
        for _ in range(30):
            await deaf.send(json.dumps({"type": "open_session", "id": client.session_id}))
            await asyncio.sleep(0.01)
        async with asyncio.timeout(5):
            await served.agent.close()
        await eventually(lambda: our_tasks() == [])
        deaf.transport.abort()


async def test_a_list_that_cannot_be_read_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*args: Any) -> None:
        raise StorageError("the list is gone")

    monkeypatch.setattr(SessionStore, "list", fail)
    await client.ask("Hello?")
    announced = await client.until("error")
    assert (announced["code"], announced["message"]) == ("storage_failed", "the list is gone")
    await client.send("list_sessions")
    assert (await client.until("error"))["message"] == "the list is gone"
