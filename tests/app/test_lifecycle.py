"""Starting, listening and stopping, as a user meets them on the command line."""

import http.client
import json
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from websockets.sync.client import unix_connect

from fireside import __version__
from support.chat import LONG, Chat, chatting
from support.server import COMMAND, POCKET, Server, children, gone_within, refused_start, serving


def port_of(server: Server) -> int:
    found = urlsplit(server.url).port
    assert found
    return found


def test_the_page_is_served_while_the_model_loads_and_says_so(home: Path) -> None:
    with serving(home) as server:
        page = httpx.get(server.url)
        status = server.get("/api/status")["engine"]
        health = httpx.get(f"{server.url}/health")
        models = httpx.get(f"{server.url}/v1/models")
        index = httpx.get(f"{server.url}/v1")
        assert "<html" in page.text
        assert status["phase"] not in ("ready", "failed")
        assert health.status_code == index.status_code == 503
        assert models.json()["data"] == []
        assert health.json()["phase"] not in ("ready", "failed")
        assert int(index.headers["Retry-After"]) >= 1
        assert server.get("/health/live") == {"status": "ok"}
        server.wait_ready()
        assert server.get("/health") == {"status": "ok"}


def test_the_status_stream_tells_every_phase_up_to_ready(home: Path) -> None:
    phases: list[str] = []
    with (
        serving(home) as server,
        httpx.stream("GET", f"{server.url}/api/status/events", timeout=60) as events,
    ):
        for line in events.iter_lines():
            if line.startswith("data: "):
                phases.append(json.loads(line.removeprefix("data: "))["engine"]["phase"])
            if phases[-1:] == ["ready"]:
                break
    order = ["starting", "importing", "preparing", "loading", "warming", "ready"]
    seen = list(dict.fromkeys(phases))
    assert seen == [phase for phase in order if phase in seen]
    # So small a model may have been loaded before anybody can be told that it is being loaded.
    assert seen[-1] == "ready"
    assert len(seen) > 1


def test_the_core_has_its_heap_in_huge_pages(server: Server) -> None:
    assert "glibc.malloc.hugetlb=1" in psutil.Process(server.core_pid()).environ()["GLIBC_TUNABLES"]


def test_a_taken_port_is_named_and_whether_fireside_has_it(server: Server, tmp_path: Path) -> None:
    ours = refused_start(tmp_path, "--port", str(port_of(server)))
    assert ours.returncode == 1
    assert f"Port {port_of(server)}" in ours.stderr
    assert "Fireside itself" in ours.stderr
    with socket.create_server(("127.0.0.1", 0)) as other:
        theirs = refused_start(tmp_path, "--port", str(other.getsockname()[1]))
    assert theirs.returncode == 1
    assert "another program" in theirs.stderr


def test_a_second_start_in_the_same_home_names_the_first(server: Server) -> None:
    second = refused_start(server.home, "--port", "0")
    assert second.returncode == 1
    assert server.url in second.stderr
    assert str(server.process.pid) in second.stderr


def test_a_lock_left_behind_is_taken_over(home: Path) -> None:
    (home / "fireside.lock").write_text(json.dumps({"pid": 1, "address": "http://127.0.0.1:1"}))
    with serving(home) as server:
        lock = json.loads((home / "fireside.lock").read_text())
        assert lock == {"pid": server.process.pid, "address": server.url}
        assert server.get("/health/live")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7"])
def test_an_address_that_others_can_reach_is_refused(tmp_path: Path, host: str) -> None:
    refused = refused_start(tmp_path, "--port", "0", "--host", host)
    assert refused.returncode == 1
    assert "API keys" in refused.stderr


def test_a_model_that_is_not_there_is_shown_and_not_a_crash(tmp_path: Path) -> None:
    with serving(tmp_path, "--model", "org/no-such-model", HF_HUB_CACHE=str(tmp_path / "hub")) as server:
        engine = wait_for_phase(server, "failed")
        assert "org/no-such-model" in engine["error"]
        body = {"messages": [{"role": "user", "content": "Hi"}]}
        assert httpx.post(f"{server.url}/v1/chat/completions", json=body).status_code == 503
        assert httpx.get(server.url).status_code == 200


def test_a_folder_that_mlx_cannot_load_is_shown_with_the_reason(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "nonesuch"}')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")
    with serving(home, "--model", str(folder)) as server:
        assert "nonesuch" in wait_for_phase(server, "failed")["error"]


def wait_for_phase(server: Server, phase: str) -> dict[str, str]:
    for _ in range(600):
        engine: dict[str, str] = server.get("/api/status")["engine"]
        if engine["phase"] == phase:
            return engine
        time.sleep(0.1)
    raise AssertionError(server.log.read_text())


def test_a_signal_ends_everything_within_five_seconds_whatever_is_open(home: Path) -> None:
    with serving(home) as server, chatting(server.wait_ready()) as chat:
        session = chat.new_session()
        chat.prompt(session, LONG)
        chat.until(lambda f: f["type"] == "text_delta")
        body = {"messages": [{"role": "user", "content": LONG}], "stream": True, "max_tokens": 4000}
        with httpx.stream("POST", f"{server.url}/v1/chat/completions", json=body, timeout=60) as reply:
            next(reply.iter_lines())
            cores = children(server.process.pid)
            assert server.stop(signal.SIGTERM) < 5
        assert server.process.returncode == 0
        assert all(gone_within(core.pid, 1) for core in cores)
    with serving(home) as server, chatting(server) as chat:
        assert chat.history(session)["messages"][1]["status"] == "interrupted"


def test_a_second_ctrl_c_ends_at_once(home: Path) -> None:
    with serving(home) as server:
        server.wait_ready()
        cores = children(server.process.pid)
        server.process.send_signal(signal.SIGINT)
        server.process.send_signal(signal.SIGINT)
        assert server.stop() < 2
        assert all(gone_within(core.pid, 1) for core in cores)


def test_one_turn_under_a_unix_socket(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "fireside.sock"
    with serving(home, "--unix-socket", str(path)):
        assert path.stat().st_mode & 0o077 == 0
        transport = httpx.HTTPTransport(uds=str(path))
        with httpx.Client(transport=transport, base_url="http://localhost", timeout=120) as client:
            for _ in range(300):
                if client.get("/health").status_code == 200:
                    break
                time.sleep(0.1)
            body = {
                "messages": [{"role": "user", "content": "Repeat: one fine day"}],
                "temperature": 0,
            }
            answer = client.post("/v1/chat/completions", json=body).json()
            assert "one fine day" in answer["choices"][0]["message"]["content"]
            assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
            with _chat_over(path) as chat:
                assert "one fine day" in chat.ask(chat.new_session(), "Repeat: one fine day")["text"]
    assert not path.exists()


@contextmanager
def _chat_over(path: Path) -> Iterator[Chat]:
    with unix_connect(str(path), "ws://localhost/ws") as opened:
        yield Chat(opened)


def test_one_turn_on_another_local_address_under_an_allowed_name(home: Path) -> None:
    with (
        serving(home, "--host", "127.0.0.2", "--allow-host", "fireside.test") as server,
        chatting(server) as chat,
    ):
        assert server.url.startswith("http://127.0.0.2:")
        assert chat.ask(chat.new_session(), "Say hello.")["status"] == "done"
        connection = http.client.HTTPConnection("127.0.0.2", port_of(server))
        for name, status in (("fireside.test", 200), ("other.test", 403)):
            connection.request("GET", "/health", headers={"Host": name})
            reply = connection.getresponse()
            reply.read()
            assert reply.status == status
        connection.close()


def test_api_only_has_neither_page_nor_agent(home: Path) -> None:
    with serving(home, "--api-only") as server:
        for path in ("/", "/ws", "/sw.js"):
            assert httpx.get(server.url + path).status_code == 404
        assert httpx.get(f"{server.url}/v1/models").status_code == 200
        assert not (home / "fireside.db").exists()


def test_the_private_listener_demands_the_agents_key(server: Server) -> None:
    sockets = psutil.Process(server.process.pid).net_connections()
    listening = {s.laddr.port for s in sockets if s.status == psutil.CONN_LISTEN}
    (private,) = listening - {port_of(server)}
    for path in ("/v1/models", "/", "/health"):
        assert httpx.get(f"http://127.0.0.1:{private}{path}").status_code == 403
        wrong = {"Authorization": "Bearer wrong"}
        assert httpx.get(f"http://127.0.0.1:{private}{path}", headers=wrong).status_code == 403


def test_an_app_that_has_chatted_has_never_loaded_mlx(server: Server) -> None:
    with chatting(server) as chat:
        assert chat.ask(chat.new_session(), "Say hello.")["status"] == "done"
    maps = Path(f"/proc/{server.process.pid}/maps").read_text()
    assert "libmlx" not in maps
    assert "mlx/core" not in maps
    (core,) = [child for child in children(server.process.pid) if "fireside.core" in child.cmdline()]
    assert "libmlx" in Path(f"/proc/{core.pid}/maps").read_text()
    limits = Path(f"/proc/{server.process.pid}/limits").read_text()
    (line,) = [line for line in limits.splitlines() if line.startswith("Max open files")]
    assert line.split()[3] == str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def test_stats_name_the_blas_the_weights_and_the_versions(server: Server) -> None:
    engine = server.get("/stats")["engine"]
    assert engine["weights"] == "float32"
    assert {"mlx", "mlx-lm"} <= engine["versions"].keys()
    assert engine["device"] == "cpu"
    assert engine["blas"]["name"]


def test_the_version_is_printed() -> None:
    printed = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert __version__ in printed.stdout


@pytest.mark.parametrize("name", ["~nobodyhere/model", "x" * 5000])
def test_a_name_that_no_folder_can_have_is_told_on_the_page(home: Path, name: str) -> None:
    with serving(home, "--model", name) as server:
        assert "model" in wait_for_phase(server, "failed")["error"]
        assert server.get("/health/live") == {"status": "ok"}


def test_numbers_that_no_model_has_fail_once_and_not_five_times(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    shutil.copytree(POCKET, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_attention_heads": 0}))
    with serving(home, "--model", str(folder)) as server:
        assert "cannot be used" in wait_for_phase(server, "failed")["error"]
        assert "Traceback" not in server.log.read_text()


def test_damaged_weights_are_found_by_the_first_inference_and_not_by_a_user(
    home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(POCKET, folder)
    _overwrite(folder / "model.safetensors", "model.norm.weight", b"\xff")
    with serving(home, "--model", str(folder)) as damaged:
        assert "finite" in wait_for_phase(damaged, "failed")["error"]
        assert httpx.get(f"{damaged.url}/health").status_code == 503


def _overwrite(path: Path, name: str, byte: bytes) -> None:
    """Fill one array of a safetensors file; with 0xff every bfloat16 in it is a NaN."""
    content = bytearray(path.read_bytes())
    begin = 8 + int.from_bytes(content[:8], "little")
    first, last = json.loads(content[8:begin])[name]["data_offsets"]
    content[begin + first : begin + last] = byte * (last - first)
    path.write_bytes(content)


def test_a_database_of_a_newer_fireside_is_refused_in_plain_words(server: Server, home: Path) -> None:
    with (
        closing(sqlite3.connect(server.home / "fireside.db")) as current,
        closing(sqlite3.connect(home / "fireside.db")) as database,
    ):
        current.backup(database)
        columns = "migration_set, name, applied_at"
        database.execute(
            f"INSERT INTO _sqlite_migrations ({columns}) SELECT migration_set, 'm999_later', applied_at"
            " FROM _sqlite_migrations LIMIT 1"
        )
        database.commit()
    refused = refused_start(home, "--port", "0")
    assert refused.returncode == 1
    assert "m999_later" in refused.stderr
    assert "Traceback" not in refused.stderr
