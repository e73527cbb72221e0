"""The snippets of docs/clients.md are what they say, and docs/migrating.md knows every flag and default."""

from __future__ import annotations

import ast
import itertools
import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from fireside.cli import main
from fireside.config import DEFAULT_HOST, DEFAULT_PORT

DOCS = Path(__file__).resolve().parent.parent / "docs"
ADDRESS = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"

FENCE = re.compile(r"^```(\w+)$", re.MULTILINE)

CLIENTS = ("Claude Code", "Codex", "aider", "Continue", "Zed", "Open WebUI", "llm", "pi")


def clients() -> str:
    return (DOCS / "clients.md").read_text()


def snippets() -> dict[str, tuple[str, str]]:
    """Language and text, by file."""
    blocks = re.split(r"\n\n(?=```\w)", clients())
    found: dict[str, tuple[str, str]] = {}
    for before, block in itertools.pairwise(blocks):
        language, _, rest = block.removeprefix("```").partition("\n")
        paragraph = before.rpartition("\n\n")[2]
        if language != "python":
            assert paragraph.endswith(":"), paragraph
            found[re.findall(r"`([^`]+)`", paragraph)[-1]] = (language, rest.partition("\n```")[0] + "\n")
    return found


SNIPPETS = snippets()


def shell(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def jsonc(text: str) -> Any:
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


PARSERS: dict[str, Callable[[str], Any]] = {
    "json": json.loads,
    "jsonc": jsonc,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "sh": shell,
}


def parsed(name: str) -> Any:
    language, text = SNIPPETS[name]
    return PARSERS[language](text)


def test_every_client_has_its_section_and_every_snippet_a_file() -> None:
    assert [name for name in CLIENTS if f"\n## {name}\n" not in clients()] == []
    fences = [language for language in FENCE.findall(clients()) if language != "python"]
    assert sorted(fences) == sorted(language for language, _ in SNIPPETS.values())


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_parses_and_names_our_address(name: str) -> None:
    parsed(name)
    text = SNIPPETS[name][1]
    # Which model Codex takes is in a file of its own, beside the one with the address.
    assert ADDRESS in text or 'model_provider = "fireside"' in text
    assert re.findall(r"https?://[^\s/\"]+", text) in ([ADDRESS], [])


def test_the_python_one_parses() -> None:
    (text,) = re.findall(r"```python\n(.*?)```", clients(), re.DOTALL)
    ast.parse(text)
    assert ADDRESS in text


@pytest.mark.parametrize(
    ("client", "documented"),
    {
        "claude-code": {"~/.claude/settings.json": "~/.claude/settings.json"},
        "codex": {name: name for name in ("~/.codex/config.toml", "~/.codex/fireside.config.toml")},
        "llm": {"~/.config/io.datasette.llm/extra-openai-models.yaml": "llm/extra-openai-models.yaml"},
        "pi": {"~/.pi/agent/models.json": "~/.pi/agent/models.json"},
    }.items(),
)
def test_what_is_documented_is_what_connect_writes(
    client: str, documented: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "FIRESIDE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.setenv("FIRESIDE_HOME", str(tmp_path / "fireside"))
    assert CliRunner().invoke(main, ["connect", client]).exit_code == 0
    for name, file in documented.items():
        text = (tmp_path / file.removeprefix("~/")).read_text()
        assert PARSERS[SNIPPETS[name][0]](text) == parsed(name)


def reference() -> dict[str, Any]:
    """The flags of the mlx_lm.server that is installed, with their defaults."""
    package = find_spec("mlx_lm")
    assert package is not None
    assert package.submodule_search_locations is not None
    source = (Path(package.submodule_search_locations[0]) / "server.py").read_text()
    flags: dict[str, Any] = {}
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument":
            default = next((word.value for word in call.keywords if word.arg == "default"), None)
            name = ast.literal_eval(call.args[0])
            flags[name] = default.value if isinstance(default, ast.Constant) else None
    return flags


def test_every_flag_of_mlx_lm_server_is_in_the_table() -> None:
    text = (DOCS / "migrating.md").read_text()
    assert [flag for flag in reference() if f"`{flag}`" not in text] == []


def test_the_defaults_there_are_as_the_table_says() -> None:
    text = (DOCS / "migrating.md").read_text()
    rows = re.findall(r"^\| `(--[\w-]+)` \| `?([^`|]+?)`? \| [^|]+ \|$", text, re.MULTILINE)
    assert len(rows) == 7
    assert dict(rows) == {flag: str(reference()[flag]) for flag, _ in rows}
