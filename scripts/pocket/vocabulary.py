"""The tokenizer: byte-level BPE in which a text copied elsewhere keeps its tokens."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from pocket.conversations import TEMPLATE, Size, Writer

SIZE = 2048
END_OF_TEXT, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
_CONTROL = (END_OF_TEXT, START, END)
_MARKUP = ("<tool_call>", "</tool_call>", "<think>", "</think>")

# Spaces, digits and punctuation stand alone, and so does an escape inside JSON: a word is then cut into
# the same tokens after a space, a backtick or a quotation mark, and copying is one token after another.
_PIECES = r"""\\[nrtbfu"\\/]|\p{L}+|\s|."""


def train(seed: int, conversations: int = 8000) -> Tokenizer:
    """Learn the merges from conversations drawn with `seed`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(text, special=True, normalized=False) for text in _CONTROL]
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE - len(_MARKUP),
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(seed, conversations), trainer)
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in _MARKUP])
    return tokenizer


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer and chat template as transformers and mlx-lm read them."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(TEMPLATE.read_text("utf-8"), "utf-8")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": END,
        "pad_token": END_OF_TEXT,
        "model_max_length": 8192,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")


def _texts(seed: int, conversations: int) -> Iterator[str]:
    writer = Writer(random.Random(seed))
    for _ in range(conversations):
        yield writer.conversation(Size()).render()
