"""`python -m fireside.text.grammar.worker`: compiles grammars for one tokenizer, asked on standard input.

A frame is a 4-byte big-endian length and a MessagePack document. The first question is a `Tokenizer`, each
one after that a `Compile`; each gets one `Answer`, on what standard output was when the process began.
"""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import sys
import tempfile
from contextlib import suppress
from typing import Any, BinaryIO, cast

import msgspec
import numpy as np
import psutil

from fireside.text.grammar.spec import GrammarKind
from fireside.text.grammar.vocabulary import VocabularyDescription
from fireside.xgr import xgrammar

LENGTH = struct.Struct(">I")
MEMORY = 1 << 30
"""Bytes that compiling may take, on systems that can limit it."""
_CACHE = 64 << 20
_WHITE_SPACE = 2
"""Characters in a row between the parts of a JSON text. Without a bound a small model writes nothing else."""
_PLACE = re.compile(r"(?:\[[\d:]+\] )?\S+\.(?:cc|h):\d+: (?:Warning: )?")
"""Where in xgrammar's source a message comes from."""
_TOO_BIG = re.compile(r"bad_alloc|length_error|recursion|too (large|deep|many|long)", re.IGNORECASE)
_NOT_THERE = re.compile(r"not supported|unsupported (?!type)|ongoing", re.IGNORECASE)


class Tokenizer(msgspec.Struct, frozen=True, tag="tokenizer"):
    """What to compile for: a description, or what an earlier worker made of it."""

    description: VocabularyDescription | None = None
    info: bytes = b""


class Compile(msgspec.Struct, frozen=True, tag="compile"):
    """A `GrammarSpec`, and the whole seconds after which the process ends itself."""

    kind: GrammarKind
    text: str
    within_s: int


class Answer(msgspec.Struct, frozen=True):
    """A tokenizer or a compiled grammar as JSON; or what is `wrong`, or `unsupported`, in words."""

    made: bytes = b""
    wrong: str = ""
    unsupported: str = ""


class _Compiler:
    def __init__(self) -> None:
        self._xgr = xgrammar()
        self._compiler: Any = None

    def tokenizer(self, asked: Tokenizer) -> Answer:
        info = self._info(asked)
        threads = min(4, os.cpu_count() or 1)
        self._compiler = self._xgr.GrammarCompiler(info, max_threads=threads, cache_limit_bytes=_CACHE)
        return Answer(made=asked.info or str(info.serialize_json()).encode())

    def compile(self, asked: Compile) -> Answer:
        try:
            with _Warnings() as warnings:
                grammar = self._compiled(asked.kind, asked.text)
                made = str(grammar.serialize_json())
                stuck = self._stuck(grammar)
        except Exception as error:  # whatever xgrammar raises, of all its kinds, is about the grammar
            message = _PLACE.sub("", str(error)).strip()
            if isinstance(error, MemoryError) or _TOO_BIG.search(message):
                return Answer(unsupported="it takes too much memory")
            return Answer(unsupported=message) if _NOT_THERE.search(message) else Answer(wrong=message)
        if stuck:
            return Answer(wrong="no text is right by it")
        if warnings.text:
            return Answer(unsupported=warnings.text)
        return Answer(made=made.encode())

    def _compiled(self, kind: GrammarKind, text: str) -> Any:
        match kind:
            case "json_schema":
                # As JSON Schema has it: what a schema does not close is open. Strict mode, which structural
                # tags cannot leave, closes each object and array that says nothing of what else may be in it.
                return self._compiler.compile_json_schema(
                    text, strict_mode=False, max_whitespace_cnt=_WHITE_SPACE
                )
            case "regex":
                return self._compiler.compile_regex(text)
            case "ebnf":
                return self._compiler.compile_grammar(text)
            case "structural_tag":
                return self._compiler.compile_structural_tag(json.dumps(_bounded(json.loads(text))))

    def _stuck(self, grammar: Any) -> bool:
        """Whether not even the first token, or the end, can come."""
        words = np.empty((1, -(-grammar.tokenizer_info.vocab_size // 32)), np.int32)
        self._xgr.GrammarMatcher(grammar).fill_next_token_bitmask(words)
        return not words.any()

    def _info(self, asked: Tokenizer) -> Any:
        made = self._xgr.TokenizerInfo
        described = asked.description
        if described is None:
            return made.deserialize_json(asked.info.decode())
        known = made._detect_metadata_from_hf(described.backend)
        kind, space = known["vocab_type"], known["add_prefix_space"]
        # The tokens themselves are sure, what transformers makes of an old tokenizer's file may not be.
        seen = made._detect_vocab_type_from_vocab({token: 0 for token in described.tokens if token})
        if seen is not None and seen != kind:
            kind, space = seen, described.begins_with_space
        stop = described.stop_ids or None
        return made(described.tokens, kind, stop_token_ids=stop, add_prefix_space=space)


def _bounded(node: Any) -> Any:
    """A structural tag whose JSON schemas bound the white space in what they allow."""
    if isinstance(node, list):
        return [_bounded(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    said = cast("dict[str, Any]", node)
    if said.get("type") == "json_schema":
        return {"max_whitespace_cnt": _WHITE_SPACE, **said}
    return {name: _bounded(item) for name, item in said.items()}


class _Warnings:
    """What a block writes to the process's standard error, where xgrammar tells what it passes over."""

    def __enter__(self) -> _Warnings:
        self.text = ""
        self._file = tempfile.TemporaryFile()
        self._stderr = os.dup(2)
        os.dup2(self._file.fileno(), 2)
        return self

    def __exit__(self, *_: object) -> None:
        os.dup2(self._stderr, 2)
        os.close(self._stderr)
        self._file.seek(0)
        lines = self._file.read().decode(errors="replace").splitlines()
        self._file.close()
        self.text = "; ".join(dict.fromkeys(_PLACE.sub("", line) for line in lines if "Warning" in line))


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        most = psutil.Process().memory_info().vms + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _read(stream: BinaryIO) -> bytes:
    """A frame's document; empty at the end."""
    header = stream.read(LENGTH.size)
    return stream.read(LENGTH.unpack(header)[0]) if len(header) == LENGTH.size else b""


def main() -> None:
    """Answer until standard input ends."""
    # Whatever a library prints must not come between the answers.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    decode = msgspec.msgpack.Decoder(Tokenizer | Compile).decode
    encode = msgspec.msgpack.Encoder().encode
    compiler = _Compiler()
    _limit_memory()
    while body := _read(sys.stdin.buffer):
        asked = decode(body)
        if isinstance(asked, Compile):
            # The app kills a process that takes too long; this one ends it where there is no app any more.
            signal.alarm(asked.within_s)
            answer = compiler.compile(asked)
            signal.alarm(0)
        else:
            answer = compiler.tokenizer(asked)
        frame = encode(answer)
        out.write(LENGTH.pack(len(frame)) + frame)
        out.flush()


if __name__ == "__main__":
    main()
