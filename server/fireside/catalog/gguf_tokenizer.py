"""A Hugging Face tokenizer from the vocabulary inside a GGUF file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE


class TokenType(IntEnum):
    """GGUF's `tokenizer.ggml.token_type`."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True)
class GgufVocabulary:
    """The `tokenizer.*` entries of a GGUF file, as plain Python values.

    Attributes:
        tokens: in the order of their ids, in GPT-2's alphabet of printable bytes.
        token_types: one `TokenType` a token.
        merges: most important first, "left right".
        split: GGUF's name of the rule that cuts text into words, such as "smollm".
        special_ids: ids by role: "bos", "eos", "unk", "pad".
    """

    tokens: Sequence[str]
    token_types: Sequence[int]
    merges: Sequence[str]
    split: str
    special_ids: Mapping[str, int]
    chat_template: str
    context_length: int


def tokenizer_json(vocabulary: GgufVocabulary) -> str:
    """The text of `tokenizer.json`: a byte-level BPE with every control token known as special.

    Raises:
        ValueError: the vocabulary cuts text by a rule that is not implemented here, or a merge is
            not a pair of tokens.
    """
    # Bytes without a token of their own are left out of a text: the vocabulary names no substitute,
    # and the "unknown" token of this family ends an answer.
    tokenizer = Tokenizer(BPE(vocab=_ids(vocabulary), merges=_merge_pairs(vocabulary.merges)))
    tokenizer.pre_tokenizer = _word_splitter(vocabulary.split)
    tokenizer.decoder = decoders.ByteLevel()
    for kind in (TokenType.CONTROL, TokenType.USER_DEFINED):
        tokenizer.add_tokens(_added(vocabulary, kind))  # pyright: ignore[reportUnknownMemberType]
    return tokenizer.to_str(pretty=True)


def tokenizer_config_json(vocabulary: GgufVocabulary) -> str:
    """The text of `tokenizer_config.json`, chat template included."""
    roles = {f"{role}_token": vocabulary.tokens[index] for role, index in vocabulary.special_ids.items()}
    config: dict[str, object] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": vocabulary.context_length,
        "chat_template": vocabulary.chat_template,
        **roles,
    }
    return json.dumps(config, indent=2, ensure_ascii=False)


def _ids(vocabulary: GgufVocabulary) -> dict[str, int]:
    return {token: index for index, token in enumerate(vocabulary.tokens)}


def _merge_pairs(merges: Sequence[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for merge in merges:
        left, separator, right = merge.partition(" ")
        if not separator:
            raise ValueError(f"The merge {merge!r} is not two tokens with a space between them.")
        pairs.append((left, right))
    return pairs


def _word_splitter(split: str) -> pre_tokenizers.PreTokenizer:
    if split != "smollm":
        raise ValueError(f"The tokenizer rule {split!r} is not known; only 'smollm' is.")
    digits = pre_tokenizers.Digits(individual_digits=True)
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    return pre_tokenizers.Sequence([digits, words])


def _added(vocabulary: GgufVocabulary, kind: TokenType) -> list[AddedToken]:
    return [
        AddedToken(token, normalized=False, special=kind is TokenType.CONTROL)
        for token, token_type in zip(vocabulary.tokens, vocabulary.token_types, strict=True)
        if token_type == kind
    ]
