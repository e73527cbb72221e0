"""The command line of `mlx_lm.server`: each flag is honoured, says that it has no effect, or is refused."""

from __future__ import annotations

import ast
import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from fireside.cli import main
from fireside.cli import serve as serve_command
from fireside.config import ServeConfig
from support.server import Server, prepared_home, serving

Start = Callable[..., tuple[Result, ServeConfig | None]]

REFUSED = {"--adapter-path": "a", "--draft-model": "m", "--kv-bits": "8"}
WITHOUT_EFFECT = {
    "--num-draft-tokens": ["3"],
    "--kv-group-size": ["64"],
    "--quantized-kv-start": ["0"],
    "--prompt-concurrency": ["8"],
    "--prefill-step-size": ["2048"],
    "--prompt-cache-size": ["10"],
    "--trust-remote-code": [],
    "--use-default-chat-template": [],
    "--pipeline": [],
}


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """`fireside serve` up to where it would serve: what it printed, and the configuration it came to."""
    monkeypatch.setenv("FIRESIDE_HOME", str(tmp_path))
    monkeypatch.delenv("FIRESIDE_API_KEY", raising=False)

    def started(*arguments: str) -> tuple[Result, ServeConfig | None]:
        reached: list[ServeConfig] = []

        class Listener:
            url = shown = "http://127.0.0.1:8080"
            link = None

        def run(config: ServeConfig, announce: Callable[[Any], None]) -> None:
            reached.append(config)
            announce(Listener())

        monkeypatch.setattr("fireside.serve.run", run)
        result = CliRunner().invoke(main, ["serve", *arguments])
        return result, reached[0] if reached else None

    return started


def config_of(start: Start, *arguments: str) -> ServeConfig:
    result, config = start(*arguments)
    assert config is not None, result.output
    return config


def reference_flags() -> set[str]:
    """The flags of the mlx_lm.server that is installed, read from its source: importing it would load MLX."""
    package = importlib.util.find_spec("mlx_lm")
    assert package is not None
    assert package.submodule_search_locations is not None
    source = (Path(package.submodule_search_locations[0]) / "server.py").read_text()
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    flags = [
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"
        if isinstance(call.args[0], ast.Constant)
    ]
    return {str(flag) for flag in flags}


def test_every_flag_of_the_reference_is_known_by_name() -> None:
    ours = {name for option in serve_command.params for name in option.opts}
    theirs = reference_flags()
    assert {"--model", "--temp", "--chat-template-args"} <= theirs
    assert theirs - ours == set()


def test_values_mean_what_they_mean_there(start: Start) -> None:
    config = config_of(
        start,
        *("--model", "m", "--host", "localhost", "--port", "9", "--temp", "0.0", "--top-p", "1.0"),
        *("--top-k", "0", "--min-p", "0.05", "--max-tokens", "512", "--decode-concurrency", "32"),
        *("--log-level", "DEBUG", "--allowed-origins", "http://a.example, https://B.example:443"),
    )
    assert (config.model, config.host, config.port) == ("m", "localhost", 9)
    assert (config.temperature, config.top_p, config.top_k, config.min_p) == (0, 1, 0, 0.05)
    assert (config.max_tokens, config.max_rows, config.log_level) == (512, 32, "DEBUG")
    assert config.allow_origins == ("http://a.example", "https://b.example")


@pytest.mark.parametrize(
    ("size", "count"), [("4096", 4096), ("1.5GB", 1_500_000_000), ("64m", 64_000_000), ("2 G", 2 * 10**9)]
)
def test_the_cache_s_bytes_keep_their_unit(start: Start, size: str, count: int) -> None:
    assert config_of(start, "--prompt-cache-bytes", size).prompt_cache == count


def test_ours_are_gigabytes_still(start: Start) -> None:
    assert config_of(start, "--prompt-cache", "4").prompt_cache == 4 * 10**9


def test_a_cache_without_entries_is_off(start: Start) -> None:
    result, config = start("--prompt-cache-size", "0")
    assert config is not None
    assert config.prompt_cache == 0
    assert "no effect" not in result.output


@pytest.mark.parametrize("flag", REFUSED)
def test_what_cannot_be_done_yet_is_refused_by_name(start: Start, flag: str) -> None:
    result, config = start(flag, REFUSED[flag])
    assert config is None
    assert result.exit_code == 2
    assert f"{flag}: " in result.output
    assert "not there yet" in result.output


@pytest.mark.parametrize("flag", WITHOUT_EFFECT)
def test_what_has_no_effect_says_so_and_why(start: Start, flag: str) -> None:
    result, config = start(flag, *WITHOUT_EFFECT[flag])
    assert config is not None
    assert result.output.count("has no effect") == 1
    assert f"  {flag} has no effect: " in result.output


def test_what_is_not_given_is_not_talked_about(start: Start) -> None:
    assert "no effect" not in start()[0].output


def test_template_values_are_json_and_thinking_is_ours_too(start: Start) -> None:
    config = config_of(start, "--chat-template-args", '{"enable_thinking": false, "style": "brief"}')
    assert (config.thinking, config.chat_template_args) == (False, {"style": "brief"})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--chat-template-args", "{"], "is not JSON"),
        (["--chat-template-args", "[1]"], "is no object"),
        (["--chat-template-args", '{"messages": []}'], "--chat-template-args: 'messages' is not"),
        (["--chat-template-args", '{"enable_thinking": true}', "--thinking", "off"], "different things"),
        (["--chat-template", "no-such-file"], "neither a template"),
        (["--allowed-origins", "*"], "no way to allow all"),
        (["--prompt-cache-bytes", "4GiB"], "is not a size"),
        (["--prompt-cache-bytes", "4GB", "--prompt-cache", "3"], "different things"),
        (["--prompt-cache-size", "0", "--prompt-cache", "3"], "different things"),
        (["--log-level", "loud"], "is not one of"),
        (["--min-p", "2"], "is not in the range"),
    ],
)
def test_what_is_wrong_ends_the_start(start: Start, arguments: list[str], words: str) -> None:
    result, config = start(*arguments)
    assert config is None
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_a_template_is_a_file_or_a_text(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "own.jinja"
    file.write_text("{{ messages[0].content }}")
    assert config_of(start, "--chat-template", str(file)).chat_template == "{{ messages[0].content }}"
    assert config_of(start, "--chat-template", "{{ 1 }}").chat_template == "{{ 1 }}"


TEMPLATE = (
    "{{ greeting }}:{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
MESSAGES = [{"role": "user", "content": "Name a colour."}]


@pytest.fixture(scope="module")
def flagged(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that was started as one starts mlx_lm.server."""
    home = prepared_home(tmp_path_factory.mktemp("flagged"), server.home)
    template = home / "own.jinja"
    template.write_text(TEMPLATE)
    values = json.dumps({"greeting": "Good day"})
    with serving(
        home,
        *("--chat-template", str(template), "--chat-template-args", values, "--min-p", "1"),
        *("--log-level", "DEBUG", "--prompt-cache-bytes", "1MB", "--trust-remote-code"),
    ) as running:
        yield running.wait_ready()


def rendered(server: Server, **fields: Any) -> str:
    tokens = server.post("/tokenize", {"messages": MESSAGES, **fields})["tokens"]
    return str(server.post("/detokenize", {"tokens": tokens})["prompt"])


def test_the_template_and_its_values_are_used(flagged: Server) -> None:
    assert rendered(flagged).startswith("Good day:<|im_start|>user\nName a colour.<|im_end|>")
    assert rendered(flagged, chat_template_kwargs={"greeting": "Yo"}).startswith("Yo:<|im_start|>")


def test_min_p_holds_where_a_request_says_nothing(flagged: Server) -> None:
    def answer(**fields: Any) -> str:
        body = {"messages": MESSAGES, "max_tokens": 8, "seed": 1, **fields}
        return str(flagged.post("/v1/chat/completions", body)["choices"][0]["message"]["content"])

    # With 1, only the likeliest token is left, however hot it gets.
    assert answer(temperature=5) == answer(temperature=0)
    assert answer(temperature=5, min_p=0) != answer(temperature=0)


def test_the_cache_and_the_log_are_as_asked(flagged: Server) -> None:
    assert flagged.get("/stats")["prompt_cache"]["max_bytes"] == 1_000_000
    assert "DEBUG " in flagged.log.read_text()


def test_the_request_fields_of_the_reference_are_taken_or_named(flagged: Server) -> None:
    body: dict[str, Any] = {"messages": MESSAGES, "max_tokens": 1, "adapters": None}
    fields = {
        "draft_model": "default_model",
        "num_draft_tokens": 3,
        "role_mapping": {"user": "U: "},
        "logit_bias": {"5": -1.5},
        "xtc_probability": 0.1,
        "xtc_threshold": 0.1,
        "repetition_penalty": 1.1,
        "repetition_context_size": 20,
        "top_logprobs": -1,
    }
    flagged.post("/v1/chat/completions", {**body, **fields})
    for wrong in ({"draft_model": "some/model"}, {"adapters": "some/adapter"}, {"num_draft_tokens": -1}):
        reply = httpx.post(f"{flagged.url}/v1/chat/completions", json={**body, **wrong}, timeout=30)
        assert (reply.status_code, reply.json()["error"]["param"]) == (400, *wrong)
