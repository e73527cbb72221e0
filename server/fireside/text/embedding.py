"""The text side of an embedder: texts to token ids, nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class EmbeddingText:
    """An embedder's tokenizer, with a thread of its own: a long text takes seconds.

    It is read straight from tokenizer.json, whose rules for what stands before and after a text are what
    the model was trained with.

    Args:
        end_token: ends every text, also where those rules leave it out; None for no such token.
    """

    def __init__(self, tokenizer: Tokenizer, end_token: str | None) -> None:
        # Both are set in many files; a text that is too long is refused instead, and the core pads.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._end_id = None if end_token is None else tokenizer.token_to_id(end_token)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="text")

    @classmethod
    async def load(cls, folder: Path, end_token: str | None) -> EmbeddingText:
        """Load a model folder's tokenizer.

        Raises:
            ValueError: there is no tokenizer.json, or one that cannot be read.
        """
        # Slow to import, and needed only for embedders.
        from tokenizers import Tokenizer

        path = folder / "tokenizer.json"
        if not path.is_file():
            raise ValueError(f"an embedder needs a tokenizer.json; there is none in {folder}")
        return cls(await asyncio.to_thread(Tokenizer.from_file, str(path)), end_token)

    async def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of texts, those included that the model expects around them."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._encode, texts)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        found = [list(encoding.ids) for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        if self._end_id is not None:
            for ids in found:
                if not ids or ids[-1] != self._end_id:
                    ids.append(self._end_id)
        return found
