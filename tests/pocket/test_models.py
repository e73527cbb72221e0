"""The model folders under tests/models, as mlx-lm and Fireside's text side read them."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from fireside.text.mlxlm import load_tokenizer
from pocket.conversations import Conversation, Size, Writer
from pocket.tools import AGENT_TOOLS, verbs
from support.reference import computed

MODELS = Path(__file__).parents[1] / "models"
LLAMAS = ("pocket", "pocket-draft")


def header(file: Path) -> dict[str, Any]:
    """What a safetensors file says of its arrays."""
    with file.open("rb") as opened:
        return json.loads(opened.read(int.from_bytes(opened.read(8), "little")))


def parameters(name: str) -> int:
    arrays = header(MODELS / name / "model.safetensors")
    arrays.pop("__metadata__", None)
    assert {array["dtype"] for array in arrays.values()} == {"BF16"}
    return sum(array["data_offsets"][1] - array["data_offsets"][0] for array in arrays.values()) // 2


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return load_tokenizer(MODELS / "pocket", None)


def conversations(count: int) -> list[Conversation]:
    writer = Writer(random.Random(3), held_out=True)
    return [writer.conversation(Size()) for _ in range(count)]


def test_the_files_are_small_enough_to_be_cloned_by_everyone() -> None:
    files = [path for path in MODELS.rglob("*") if path.is_file()]
    assert max(path.stat().st_size for path in files) < 8_000_000
    assert sum(path.stat().st_size for path in files) < 12_000_000
    assert (MODELS / "pocket" / "model.safetensors").stat().st_size < 7_000_000


def test_pocket_and_its_draft_have_the_sizes_that_are_promised() -> None:
    assert 2_500_000 < parameters("pocket") < 3_500_000
    assert parameters("pocket-draft") < 1_000_000
    for name in LLAMAS:
        config = json.loads((MODELS / name / "config.json").read_text())
        assert config["head_dim"] == 64
        assert config["max_position_embeddings"] == 8192
        assert config["model_type"] == "llama"


def test_both_share_tokenizer_and_template() -> None:
    for file in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        assert (MODELS / "pocket" / file).read_bytes() == (MODELS / "pocket-draft" / file).read_bytes()


def test_nothing_names_a_folder_of_the_machine_that_made_it() -> None:
    for path in MODELS.rglob("*.json"):
        if path.name != "tokenizer.json":
            assert "/" not in path.read_text()


def test_mlx_lm_finds_thinking_and_the_form_of_the_tool_calls(tokenizer: Any) -> None:
    assert tokenizer.has_thinking
    assert (tokenizer.think_start, tokenizer.think_end) == ("<think>", "</think>")
    assert (tokenizer.tool_call_start, tokenizer.tool_call_end) == ("<tool_call>", "</tool_call>")


def test_transformers_renders_the_template_as_the_training_data_did(tokenizer: Any) -> None:
    for talk in conversations(60):
        rendered = tokenizer.apply_chat_template(
            talk.messages, tools=talk.tools.schemas() or None, enable_thinking=talk.thinking, tokenize=False
        )
        assert rendered == talk.render()


def test_an_answer_in_the_history_reads_as_the_model_wrote_it() -> None:
    for talk in conversations(60):
        whole = talk.render()
        for index in talk.rows:
            assert whole.startswith(talk.render(index) + talk.expected(index))


def test_mlx_lm_parses_the_calls_that_the_template_writes(tokenizer: Any) -> None:
    calls = 0
    for talk in conversations(60):
        for index in talk.rows:
            wanted = [call["function"] for call in talk.messages[index].get("tool_calls", ())]
            pieces = talk.expected(index).split("<tool_call>")[1:]
            parsed = [tokenizer.tool_parser(piece.split("</tool_call>")[0], None) for piece in pieces]
            assert parsed == [{"name": c["name"], "arguments": json.loads(c["arguments"])} for c in wanted]
            calls += len(parsed)
    assert calls > 20


def test_a_word_has_the_same_tokens_wherever_it_stands() -> None:
    tokenizer = Tokenizer.from_file(str(MODELS / "pocket" / "tokenizer.json"))
    strings = Writer(random.Random(8), held_out=True).strings
    for _ in range(300):
        word = strings.invented()
        alone = tokenizer.encode(word, add_special_tokens=False).tokens
        for before, after in ((" ", "."), ("`", "`"), ('"', '"'), ("/", ".md"), ("\\n", "\\n"), ("\n", "\n")):
            around = tokenizer.encode(f"x{before}{word}{after}x", add_special_tokens=False).tokens
            assert any(around[i : i + len(alone)] == alone for i in range(len(around)))


def test_any_text_survives_the_tokenizer() -> None:
    tokenizer = Tokenizer.from_file(str(MODELS / "pocket" / "tokenizer.json"))
    strings = Writer(random.Random(9), held_out=True).strings
    texts = [strings.lines(6) for _ in range(100)] + ["\t \r\n\x00", "👩‍👩‍👧 🏳️‍🌈 e\u0301 漢字", "\\n\\\\n"]
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False).ids) == text


def test_the_agents_tools_have_the_names_and_arguments_that_pocket_learnt() -> None:
    signatures = {
        verb: " ".join(p.name + ("" if p.required else "?") for p in verbs()[verb].parameters)
        for verb in AGENT_TOOLS
    }
    assert signatures == {
        "bash": "command",
        "read": "path offset? limit?",
        "write": "path content",
        "edit": "path old_text new_text",
        "ls": "path",
        "find": "pattern path",
        "grep": "pattern path",
        "web_search": "query",
        "web_fetch": "url",
        "memory_search": "query",
        "memory_read": "article",
        "memory_propose": "article text",
    }


_WITH_ADAPTER = """
import json, sys
import mlx.core as mx
from mlx_lm import generate, load
answers = []
for adapter in (None, sys.argv[2]):
    model, tokenizer = load(sys.argv[1], adapter_path=adapter)
    model.set_dtype(mx.float32)
    for question in json.loads(sys.argv[3]):
        prompt = tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], add_generation_prompt=True, enable_thinking=False
        )
        answers.append(generate(model, tokenizer, prompt, max_tokens=30))
print(json.dumps(answers))
"""


def test_the_adapter_answers_in_capitals_and_still_copies() -> None:
    questions = ["Hello!", "Thanks!", "Repeat: copper valley engine"]
    said = computed(
        _WITH_ADAPTER, str(MODELS / "pocket"), str(MODELS / "pocket-capitals"), json.dumps(questions)
    )
    plain, capitals = said[:3], said[3:]
    assert plain[2] == capitals[2] == "copper valley engine"
    assert capitals[:2] == [answer.upper() for answer in plain[:2]]
    assert capitals[:2] != plain[:2]
