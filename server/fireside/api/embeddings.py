"""`/v1/embeddings`."""

from __future__ import annotations

import asyncio
import base64
import math
import struct
from collections.abc import Sequence

import msgspec
from quart import Blueprint, Response

from fireside.api.embedding_task import EmbeddingsBody, task_of
from fireside.api.served import Serving
from fireside.http.answers import json_answer
from fireside.http.security import json_body
from fireside.http.validation import decode
from fireside.wire import Vectors

_encode = msgspec.json.Encoder().encode


class Embedding(msgspec.Struct, frozen=True):
    """A text's vector, of unit length: numbers, or base64 of float32, little-endian."""

    index: int
    embedding: list[float] | str
    object: str = "embedding"


class EmbeddingsUsage(msgspec.Struct, frozen=True):
    """Tokens of all texts, those included that the tokenizer added."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(msgspec.Struct, frozen=True):
    """The vectors, in the order of the texts."""

    data: list[Embedding]
    model: str
    usage: EmbeddingsUsage
    object: str = "list"


def create_blueprint(serving: Serving) -> Blueprint:
    """The embeddings route over the model that `serving` serves."""
    blueprint = Blueprint("embeddings", __name__)

    @blueprint.post("/v1/embeddings")
    async def embeddings() -> Response:
        body = decode(await json_body(), EmbeddingsBody)
        served = await serving.embedder(body.model or "")
        task = await task_of(body, served)
        vectors = await served.engine.embeddings.embed(task.texts)
        usage = EmbeddingsUsage(task.tokens, task.tokens)
        as_base64 = body.encoding_format == "base64"

        def answer() -> bytes:
            return _encode(EmbeddingsAnswer(_rows(vectors, task.size, as_base64), served.model_id, usage))

        # Thousands of vectors are millions of numbers to write.
        return json_answer(await asyncio.to_thread(answer))

    return blueprint


def _rows(vectors: Vectors, size: int, as_base64: bool) -> list[Embedding]:
    """The vectors, cut to `size` numbers where that is fewer, and brought back to unit length then."""
    rows: list[Embedding] = []
    for index, values in enumerate(struct.iter_unpack(f"<{vectors.size}f", vectors.data)):
        row: Sequence[float] = values
        if size < vectors.size:
            length = math.hypot(*row[:size]) or 1.0
            row = [value / length for value in row[:size]]
        packed = base64.b64encode(struct.pack(f"<{size}f", *row)).decode() if as_base64 else list(row)
        rows.append(Embedding(index, packed))
    return rows
