"""A second reading of GGUF files and of their vocabulary, for comparison: plain Python, slow and simple."""

from __future__ import annotations

import itertools
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import regex

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_ALIGNMENT = 32
_BLOCK = 32

# What llama.cpp cuts text with where a file says "smollm": numerals one by one, then GPT-2's rule.
_NUMERAL = r"\p{N}"
_WORD = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


@dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    kind: int
    offset: int


class GgufFile:
    """Metadata and tensors of a GGUF file."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 0
        magic, _version, tensors, entries = self._unpack("4sIQQ")
        assert magic == b"GGUF"
        self.metadata = {self._string(): self._value(self._unpack("I")[0]) for _ in range(entries)}
        self.tensors = {self._string(): self._tensor() for _ in range(tensors)}
        self._data = -(-self._at // _ALIGNMENT) * _ALIGNMENT

    def q4_1(self, name: str) -> npt.NDArray[np.float32]:
        """A tensor of 4-bit blocks with a scale and a minimum each, as float32."""
        tensor = self.tensors[name]
        assert tensor.kind == 3
        block = np.dtype([("scale", "<f2"), ("minimum", "<f2"), ("nibbles", "u1", 16)])
        blocks = np.frombuffer(
            self._bytes, block, int(np.prod(tensor.shape)) // _BLOCK, self._data + tensor.offset
        )
        values = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
        scale, minimum = (blocks[part].astype(np.float32)[:, None] for part in ("scale", "minimum"))
        return (scale * values + minimum).reshape(tensor.shape)

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return values

    def _string(self) -> str:
        (length,) = self._unpack("Q")
        return self._unpack(f"{length}s")[0].decode()

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            item, count = self._unpack("IQ")
            return [self._value(item) for _ in range(count)]
        return self._unpack(_SCALARS[kind])[0]

    def _tensor(self) -> Tensor:
        (dimensions,) = self._unpack("I")
        shape = self._unpack(f"{dimensions}Q")[::-1]
        return Tensor(shape, *self._unpack("IQ"))


class ReferenceTokenizer:
    """Byte pair encoding by the book: again and again join the pair that was learned first."""

    def __init__(self, metadata: dict[str, Any]) -> None:
        self.tokens: list[str] = metadata["tokenizer.ggml.tokens"]
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        self._ranks = {tuple(m.split(" ")): rank for rank, m in enumerate(metadata["tokenizer.ggml.merges"])}
        self._letter_of = gpt2_letters()
        self._byte_of = {letter: byte for byte, letter in self._letter_of.items()}

    def encode(self, text: str) -> list[int]:
        """Ids of a text without control tokens. Bytes that have no token are left out."""
        parts = [part for part in regex.split(f"({_NUMERAL})", text) if part]
        words = [word for part in parts for word in regex.findall(_WORD, part)]
        return [index for word in words for index in self._word(word)]

    def decode_bytes(self, index: int) -> bytes:
        """The bytes that one ordinary token stands for."""
        return bytes(self._byte_of[letter] for letter in self.tokens[index])

    def _word(self, word: str) -> list[int]:
        symbols = [letter for byte in word.encode() if (letter := self._letter_of[byte]) in self._ids]
        while len(symbols) > 1:
            pairs = list(itertools.pairwise(symbols))
            best = min(range(len(pairs)), key=lambda at: self._ranks.get(pairs[at], len(self._ranks)))
            if pairs[best] not in self._ranks:
                break
            symbols[best : best + 2] = ["".join(pairs[best])]
        return [self._ids[symbol] for symbol in symbols]


def gpt2_letters() -> dict[int, str]:
    """The printable letter of each byte: itself where it is one, else the next from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{byte: chr(byte) for byte in printable}, **{b: chr(256 + n) for n, b in enumerate(others)}}
