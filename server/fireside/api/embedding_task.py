"""What an embeddings request asks for, checked against the model that is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeGuard

import msgspec
from msgspec import Meta

from fireside.engine.engine import Engine
from fireside.http.errors import BadRequest, ContextOverBudget
from fireside.text.embedding import EmbeddingText

MAX_TEXTS = 2048
"""Of a request, as in OpenAI's API."""

MAX_TOKENS = 1_000_000
"""Of all texts of a request together."""

Token = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True)
class ServedEmbedder:
    """A model that makes vectors of texts.

    Attributes:
        model_id: as clients know it.
        size: numbers of a vector.
        max_tokens: of a text, those included that the tokenizer adds.
        vocab_size: token ids are smaller.
        dimensions: sizes to which a vector may be cut; None if it may not be, empty for all.
        prompt: stands before every text for which no instruction is given.
        query: what follows `Instruct: …` and comes before a query; None if the model knows no instructions.
        created: when its folder last changed, in seconds since 1970.
    """

    model_id: str
    text: EmbeddingText
    engine: Engine
    size: int
    max_tokens: int
    vocab_size: int
    dimensions: tuple[int, ...] | None = None
    prompt: str = ""
    query: str | None = None
    created: int = 0


class EmbeddingsBody(msgspec.Struct, frozen=True):
    """What to embed.

    Attributes:
        input: a text, texts, a text as token ids, or texts as token ids. Ids are read as they are; for texts
            the tokenizer adds what the model expects around them.
        model: any name; the one served answers.
        encoding_format: `base64` is of float32, little-endian.
        dimensions: cut the vectors to so many numbers, where the model is made for it.
        instruction: what the texts are queries for, for models that want to be told; not for token ids.
        user: without effect.
    """

    input: str | list[str | Token | list[Token]]
    model: str | None = None
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1)] | None = None
    instruction: str | None = None
    user: str | None = None


@dataclass(frozen=True)
class EmbeddingTask:
    """Token ids to embed, and how large the vectors are to be."""

    texts: list[list[int]]
    size: int

    @property
    def tokens(self) -> int:
        """Of all texts."""
        return sum(map(len, self.texts))


async def task_of(body: EmbeddingsBody, served: ServedEmbedder) -> EmbeddingTask:
    """Tokenize and check a request.

    Raises:
        BadRequest: a field is wrong, or asks for what the model cannot do.
        ContextOverBudget: a text is longer than what the model reads.
    """
    size = _size(body.dimensions, served)
    given = body.input
    if isinstance(given, str):
        texts = await _tokenized([given], body.instruction, served)
    elif not given:
        raise BadRequest("input: it is empty; give at least one text.", param="input")
    elif _all_tokens(given):
        texts = [list(given)]
    elif len(given) > MAX_TEXTS:
        raise BadRequest(
            f"input: {len(given)} texts are too many; {MAX_TEXTS} may be in a request.", param="input"
        )
    elif _all_texts(given):
        texts = await _tokenized(given, body.instruction, served)
    elif _all_lists(given):
        texts = [list(tokens) for tokens in given]
    else:
        raise BadRequest("input: texts, token ids and lists of them cannot be mixed.", param="input")
    if body.instruction is not None and not _of_texts(given):
        raise BadRequest("instruction: it cannot be put before token ids; give texts.", param="instruction")
    _check(texts, served)
    return EmbeddingTask(texts, size)


async def _tokenized(
    texts: Sequence[str], instruction: str | None, served: ServedEmbedder
) -> list[list[int]]:
    for index, text in enumerate(texts):
        if not text:
            raise BadRequest(f"input: text {index} is empty.", param="input")
    if instruction is None:
        before = served.prompt
    elif served.query is None:
        raise BadRequest(
            f"instruction: {served.model_id} is not made to be told what texts are for. Leave the field out.",
            param="instruction",
        )
    else:
        before = f"Instruct: {instruction}\n{served.query}"
    return await served.text.encode([before + text for text in texts])


def _size(dimensions: int | None, served: ServedEmbedder) -> int:
    if dimensions is None or dimensions == served.size:
        return served.size
    allowed = served.dimensions
    if allowed is None:
        raise BadRequest(
            f"dimensions: the vectors of {served.model_id} have {served.size} numbers and cannot be cut. "
            "Leave the field out.",
            param="dimensions",
        )
    if dimensions > served.size or (allowed and dimensions not in allowed):
        sizes = f"one of {', '.join(map(str, sorted(allowed)))}" if allowed else f"at most {served.size}"
        raise BadRequest(f"dimensions: {dimensions} is not {sizes}.", param="dimensions")
    return dimensions


def _check(texts: Sequence[Sequence[int]], served: ServedEmbedder) -> None:
    for index, text in enumerate(texts):
        if not text:
            raise BadRequest(f"input: text {index} has no tokens.", param="input")
        if len(text) > served.max_tokens:
            raise ContextOverBudget(
                f"input: text {index} has {len(text)} tokens; {served.model_id} reads {served.max_tokens} at"
                " most. Split it.",
                param="input",
            )
        if (largest := max(text)) >= served.vocab_size:
            raise BadRequest(
                f"input: text {index} has the token id {largest}; {served.model_id} has {served.vocab_size} "
                "tokens, from 0 on.",
                param="input",
            )
    if (total := sum(map(len, texts))) > MAX_TOKENS:
        raise BadRequest(
            f"input: {total} tokens are too many; {MAX_TOKENS} may be in a request. Split it.", param="input"
        )


def _of_texts(given: str | Sequence[object]) -> bool:
    return isinstance(given, str) or isinstance(given[0], str)


def _all_tokens(given: Sequence[object]) -> TypeGuard[Sequence[int]]:
    return all(isinstance(item, int) for item in given)


def _all_texts(given: Sequence[object]) -> TypeGuard[Sequence[str]]:
    return all(isinstance(item, str) for item in given)


def _all_lists(given: Sequence[object]) -> TypeGuard[Sequence[Sequence[int]]]:
    return all(isinstance(item, list) for item in given)
