"""The tokenizer that is written for the embedded model, against a naive one and against the file."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from fireside.catalog.gguf_tokenizer import GgufVocabulary, tokenizer_json
from support.gguf_reference import GgufFile, ReferenceTokenizer

TEXTS = [
    "The capital of France is Paris.",
    "  two leading blanks, a tab\tand\n\n  line breaks \r\n",
    "don't, we'll, I'M, they've",
    "1234567890 3.14 1e-9 0x1F",
    "½ ² ١٢٣ Ⅳ 第5章",
    "naïve café, e\u0301 is not é, ﬁ is one letter",
    "🙂 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "中文字符，日本語のテキスト、한국어",
    "العربية עברית हिन्दी ไทย",
    "zero\u200bwidth, no\u00a0break, line\u2028separator, \ufeffmark",
    "def f(x):\n    return {'a': x**2}  # ok\n",
    "\U0001f9ff\U0002a6d6",
    "a" * 300,
    "",
]


@pytest.fixture(scope="module")
def tokenizer(model_folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(model_folder)


@pytest.fixture(scope="module")
def reference(gguf: GgufFile) -> ReferenceTokenizer:
    return ReferenceTokenizer(gguf.metadata)


@pytest.fixture
def tiny() -> GgufVocabulary:
    return GgufVocabulary(
        tokens=["<end>", "a", "b", "ab"],
        token_types=[3, 1, 1, 1],
        merges=["a b"],
        split="smollm",
        special_ids={"eos": 0},
        chat_template="",
        context_length=8,
    )


@pytest.mark.parametrize("text", TEXTS)
def test_text_becomes_the_same_ids_as_in_a_naive_tokenizer_and_comes_back(
    tokenizer: Any, reference: ReferenceTokenizer, text: str
) -> None:
    ids = tokenizer.encode(text)
    assert ids == reference.encode(text)
    assert tokenizer.decode(ids) == text


def test_bytes_without_a_token_are_left_out(tokenizer: Any, reference: ReferenceTokenizer) -> None:
    ids = tokenizer.encode("a\x04\x06b")
    assert ids == reference.encode("a\x04\x06b")
    assert tokenizer.decode(ids) == "ab"


def test_every_id_stands_for_the_bytes_that_the_file_says(
    tokenizer: Any, gguf: GgufFile, reference: ReferenceTokenizer
) -> None:
    assert len(tokenizer) == len(reference.tokens)
    types = gguf.metadata["tokenizer.ggml.token_type"]
    for index, kind in enumerate(types):
        expected = (
            reference.tokens[index] if kind == 3 else reference.decode_bytes(index).decode(errors="replace")
        )
        assert tokenizer.decode([index]) == expected


def test_control_tokens_are_special_and_never_split(tokenizer: Any, gguf: GgufFile) -> None:
    types = gguf.metadata["tokenizer.ggml.token_type"]
    control = [index for index, kind in enumerate(types) if kind == 3]
    assert len(control) == 17
    for index in control:
        assert tokenizer.encode(tokenizer.convert_ids_to_tokens(index)) == [index]
        assert tokenizer.decode([index], skip_special_tokens=True) == ""


def test_roles_and_chat_template_are_those_of_the_file(tokenizer: Any, gguf: GgufFile) -> None:
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<|im_start|>", "<|im_end|>")
    assert tokenizer.chat_template == gguf.metadata["tokenizer.chat_template"]
    messages = [{"role": "user", "content": "Hi"}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")


def test_an_unknown_way_to_split_is_refused(tiny: GgufVocabulary) -> None:
    with pytest.raises(ValueError, match="'llama-bpe' is not known"):
        tokenizer_json(dataclasses.replace(tiny, split="llama-bpe"))


def test_a_merge_that_is_no_pair_is_refused(tiny: GgufVocabulary) -> None:
    with pytest.raises(ValueError, match="'ab' is not two tokens"):
        tokenizer_json(dataclasses.replace(tiny, merges=["ab"]))
