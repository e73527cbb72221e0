"""`fireside connect`: other programs' settings get ours, keep their own, and lose ours again."""

from __future__ import annotations

import http.server
import json
import shutil
import stat
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from fireside.cli import main
from support.server import Server

Connect = Callable[..., Result]

KEY = "key-0123456789abcdef"

FILES = {
    "claude-code": {".claude/settings.json": '{\n\t"model": "opus",\n\t"env": {\n\t\t"A": "ü"\n\t}\n}'},
    "codex": {".codex/config.toml": '# mine\nmodel = "gpt-5.5"  # and this\n\n[tui]\nx = 1\n'},
    "llm": {
        "llm/extra-openai-models.yaml": "# mine\n- model_id: other\n  model_name: o  # and this\n",
        "llm/keys.json": '{\n  "openai": "sk-1"\n}\n',
    },
    "pi": {".pi/agent/models.json": '{\n "providers": {\n  "x": {\n   "baseUrl": "http://x"\n  }\n }\n}\n'},
}


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of somebody who has all of the programs."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "FIRESIDE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FIRESIDE_HOME", str(tmp_path / "fireside"))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    for files in FILES.values():
        for name, text in files.items():
            write(tmp_path / name, text)
    return tmp_path


@pytest.fixture
def connect(person: Path) -> Connect:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["connect", *arguments])

    return run


@pytest.fixture
def locked() -> Iterator[str]:
    """The address of a server that wants a key."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            good = self.headers["Authorization"] == f"Bearer {KEY}"
            body = json.dumps({"data": [{"id": "big/model", "context_window": 40_000}]} if good else {})
            self.send_response(200 if good and self.path == "/v1/models" else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file but the copies that were made of some."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".bak")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("client", FILES)
def test_what_is_written_is_added_once_and_taken_out_whole(
    person: Path, connect: Connect, client: str
) -> None:
    untouched = snapshot(person)
    assert connect(client, "--api-key", KEY).exit_code == 0
    connected = snapshot(person)
    assert connected != untouched
    again = connect(client, "--api-key", KEY)
    assert "Nothing to change" in again.output
    assert snapshot(person) == connected
    assert connect(client, "--remove").exit_code == 0
    assert snapshot(person) == untouched
    assert "was not connected" in connect(client, "--remove").output


@pytest.mark.parametrize("client", FILES)
def test_where_there_was_nothing_nothing_is_left(person: Path, connect: Connect, client: str) -> None:
    for name in FILES[client]:
        shutil.rmtree((person / name).parent, ignore_errors=True)
    untouched = snapshot(person)
    for arguments in (["--api-key", KEY], [], ["--remove"]):
        assert connect(client, *arguments).exit_code == 0
    assert snapshot(person) == untouched


def test_codex_gets_a_provider_and_a_profile(person: Path, connect: Connect, server: Server) -> None:
    result = connect("codex", "--url", f"{server.url}/v1/")
    assert "codex --profile fireside" in result.output
    config = tomllib.loads((person / ".codex/config.toml").read_text())
    provider = {"name": "Fireside", "base_url": f"{server.url}/v1", "wire_api": "responses"}
    own = {"model": "gpt-5.5", "tui": {"x": 1}}
    assert config == {**own, "model_providers": {"fireside": provider}}
    assert (person / ".codex/config.toml").read_text().startswith(FILES["codex"][".codex/config.toml"])
    profile = tomllib.loads((person / ".codex/fireside.config.toml").read_text())
    window = server.get("/v1/models")["data"][0]["context_window"]
    assert profile == {"model": "pocket", "model_provider": "fireside", "model_context_window": window}


def test_claude_code_gets_variables_beside_its_own(person: Path, connect: Connect, server: Server) -> None:
    connect("claude-code", "--url", server.url)
    settings = json.loads((person / ".claude/settings.json").read_text())
    assert settings["model"] == "opus"
    assert settings["env"]["A"] == "ü"
    assert settings["env"]["ANTHROPIC_BASE_URL"] == server.url
    assert settings["env"]["ANTHROPIC_AUTH_TOKEN"]
    assert settings["env"]["ANTHROPIC_DEFAULT_HAIKU_MODEL"] == "pocket"
    assert all(isinstance(value, str) for value in settings["env"].values())


def test_llm_gets_a_model_and_a_key(person: Path, connect: Connect, locked: str) -> None:
    connect("llm", "--url", locked, "--api-key", KEY)
    models = yaml.safe_load((person / "llm/extra-openai-models.yaml").read_text())
    assert [model["model_id"] for model in models] == ["other", "fireside"]
    assert models[1]["api_base"] == f"{locked}/v1"
    assert (models[1]["model_name"], models[1]["api_key_name"]) == ("big/model", "fireside")
    assert json.loads((person / "llm/keys.json").read_text()) == {"openai": "sk-1", "fireside": KEY}


def test_pi_gets_a_provider(person: Path, connect: Connect, server: Server) -> None:
    connect("pi", "--url", server.url)
    providers = json.loads((person / ".pi/agent/models.json").read_text())["providers"]
    assert providers["x"] == {"baseUrl": "http://x"}
    window = server.get("/v1/models")["data"][0]["context_window"]
    assert providers["fireside"]["baseUrl"] == f"{server.url}/v1"
    assert providers["fireside"]["api"] == "openai-completions"
    (model,) = providers["fireside"]["models"]
    assert (model["id"], model["contextWindow"], model["reasoning"]) == ("pocket", window, True)
    assert 0 < model["maxTokens"] < window


def test_the_running_fireside_is_found(
    person: Path, connect: Connect, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRESIDE_HOME", str(server.home))
    assert f'+base_url = "{server.url}/v1"' in connect("codex", "--print").output


def test_without_one_it_is_the_usual_address(connect: Connect) -> None:
    assert '+base_url = "http://127.0.0.1:8080/v1"' in connect("codex", "--print").output


@pytest.mark.parametrize("arguments", [["--api-key", KEY], ["--remove"]])
def test_print_writes_nothing(person: Path, connect: Connect, arguments: list[str]) -> None:
    if "--remove" in arguments:
        connect("claude-code")
    untouched = {path: path.stat().st_mtime_ns for path in person.rglob("*")}
    result = connect("claude-code", "--print", *arguments)
    assert 'ANTHROPIC_BASE_URL": "http://127.0.0.1:8080"' in result.output
    assert {path: path.stat().st_mtime_ns for path in person.rglob("*")} == untouched


@pytest.mark.parametrize(
    ("client", "name"), [("claude-code", ".claude/settings.json"), ("llm", "llm/keys.json")]
)
def test_a_key_is_kept_from_others_and_from_the_screen(
    person: Path, connect: Connect, client: str, name: str
) -> None:
    (person / name).chmod(0o644)
    outputs = [connect(client, "--api-key", KEY).output, connect(client, "--api-key", f"{KEY}-2").output]
    assert stat.S_IMODE((person / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((person / "fireside/connect.json").stat().st_mode) == 0o600
    outputs.append(connect(client, "--remove").output)
    assert KEY not in "".join(outputs)
    assert "(a key)" in outputs[2]


def test_a_server_that_needs_a_key_says_so(person: Path, connect: Connect, locked: str) -> None:
    untouched = snapshot(person)
    assert "needs a key" in connect("pi", "--url", locked).output
    assert "needs another key" in connect("pi", "--url", locked, "--api-key", "wrong").output
    assert snapshot(person) == untouched


def test_what_was_there_before_comes_back(person: Path, connect: Connect) -> None:
    file = person / ".claude/settings.json"
    write(file, '{\n  "env": {\n    "ANTHROPIC_BASE_URL": "https://gateway",\n    "B": "1"\n  }\n}\n')
    before = file.read_text()
    connect("claude-code", "--url", "http://127.0.0.1:1")
    connect("claude-code", "--url", "http://127.0.0.1:2")
    assert json.loads(file.read_text())["env"]["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:2"
    connect("claude-code", "--remove")
    assert file.read_text() == before


def test_what_somebody_has_changed_since_stays(person: Path, connect: Connect) -> None:
    connect("claude-code")
    file = person / ".claude/settings.json"
    settings = json.loads(file.read_text())
    settings["env"] |= {"ANTHROPIC_MODEL": "theirs", "LATER": "1"}
    file.write_text(json.dumps(settings))
    result = connect("claude-code", "--remove")
    assert "env.ANTHROPIC_MODEL" in result.output
    assert json.loads(file.read_text()) == {
        "model": "opus",
        "env": {"A": "ü", "ANTHROPIC_MODEL": "theirs", "LATER": "1"},
    }


def test_a_copy_is_kept_and_a_link_stays_one(person: Path, connect: Connect) -> None:
    file, real = person / ".codex/config.toml", person / "dotfiles.toml"
    file.rename(real)
    real.chmod(0o640)
    file.symlink_to(real)
    before = real.read_text()
    connect("codex")
    assert file.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "fireside" in real.read_text()
    (copy,) = person.glob("dotfiles.toml.*.bak")
    assert copy.read_text() == before


@pytest.mark.parametrize(
    ("variable", "client", "name"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", "settings.json"),
        ("CODEX_HOME", "codex", "config.toml"),
        ("LLM_USER_PATH", "llm", "extra-openai-models.yaml"),
        ("PI_CODING_AGENT_DIR", "pi", "models.json"),
    ],
)
def test_a_program_s_folder_may_be_elsewhere(
    person: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch, variable: str, client: str, name: str
) -> None:
    monkeypatch.setenv(variable, str(person / "else where"))
    connect(client)
    assert "8080" in (person / "else where" / name).read_text()


@pytest.mark.parametrize(
    ("client", "name", "text", "words"),
    [
        ("claude-code", ".claude/settings.json", '{"a": 1} // mine', "not plain JSON"),
        ("claude-code", ".claude/settings.json", '{"a": 1, "a": 2}', "twice"),
        ("claude-code", ".claude/settings.json", '{"env": []}', "something else"),
        ("pi", ".pi/agent/models.json", "[]", "no JSON object"),
        ("codex", ".codex/config.toml", "[model_providers.fireside]\nname = 'x'\n", "of its own"),
        ("codex", ".codex/config.toml", "model_providers = {x = {}}\n", "of its own"),
        ("codex", ".codex/config.toml", "not = toml = at all", "not TOML"),
        ("llm", "llm/extra-openai-models.yaml", "[{model_id: a}]\n", "no YAML list"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(
    person: Path, connect: Connect, client: str, name: str, text: str, words: str
) -> None:
    write(person / name, text)
    untouched = snapshot(person)
    result = connect(client)
    assert result.exit_code == 1
    assert str(person / name) in result.output
    assert words in result.output
    assert snapshot(person) == untouched
    assert list(person.rglob("*.bak")) == []


def test_lines_that_would_move_into_another_table_are_told(person: Path, connect: Connect) -> None:
    connect("codex")
    file = person / ".codex/config.toml"
    file.write_text(file.read_text() + "request_max_retries = 9\n")
    before = file.read_text()
    assert "move them above" in connect("codex", "--remove").output
    assert file.read_text() == before


def test_what_codex_writes_into_our_block_is_its_own(person: Path, connect: Connect) -> None:
    """Its `codex mcp add` puts a table after our last value, and so before the mark that closes the block."""
    theirs = "\n# Tools.\n[mcp_servers.x]\ncommand = 'x'\n"
    file = person / ".codex/config.toml"
    before = file.read_text()
    connect("codex")
    file.write_text(file.read_text().replace("# <<<", f"{theirs}# <<<"))
    connect("codex", "--url", "http://127.0.0.1:1")
    config = tomllib.loads(file.read_text())
    assert config["mcp_servers"] == {"x": {"command": "x"}}
    assert config["model_providers"]["fireside"]["base_url"] == "http://127.0.0.1:1/v1"
    connect("codex", "--remove")
    assert file.read_text() == before + theirs


@pytest.mark.parametrize(
    "text", ["- model_id: a\n  model_name: b\n", "---\n  - model_id: a\n    model_name: b", "# no\n"]
)
def test_a_list_keeps_its_depth(person: Path, connect: Connect, text: str) -> None:
    file = person / "llm/extra-openai-models.yaml"
    write(file, text)
    connect("llm")
    models = yaml.safe_load(file.read_text())
    assert [each["model_id"] for each in models] == [*(["a"] if "a" in text else []), "fireside"]
    connect("llm", "--remove")
    assert file.read_text().rstrip("\n") == text.rstrip("\n")
