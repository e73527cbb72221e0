"""`/v1` and `/v1/models`."""

from __future__ import annotations

from typing import Literal

import msgspec
from quart import Blueprint, Response

from fireside import __version__
from fireside.api.embedding_task import ServedEmbedder
from fireside.api.generation import Served
from fireside.api.sampling import SamplingFields, choose
from fireside.api.served import Available, Serving
from fireside.http.answers import json_answer
from fireside.http.errors import NotFound, NotReady

_ENDPOINTS = [
    "/v1/models",
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses",
    "/tokenize",
    "/detokenize",
]


class GenerationDefaults(msgspec.Struct, frozen=True):
    """What holds where a request says nothing: the server's flags over the model's own; null is off."""

    temperature: float
    top_p: float | None
    top_k: int | None
    min_p: float | None
    repetition_penalty: float | None


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A model in OpenAI's format, and what it can do.

    Attributes:
        created: when its folder last changed, in seconds since 1970.
        context_window: tokens, of prompt and answer together.
        max_model_len: the same, for clients of vLLM.
        reasoning: whether it can reason before it answers.
        thinking: whether it does unless a request says otherwise.
        type: `chat`, or `embedding` for one that only makes vectors.
        dimensions: numbers of a vector; absent for one that chats.
        gen_defaults: absent for one that embeds.
    """

    id: str
    object: str = "model"
    created: int
    owned_by: str = "fireside"
    context_window: int
    max_model_len: int
    reasoning: bool
    thinking: bool
    vision: bool = False
    audio: bool = False
    type: Literal["chat", "embedding"] = "chat"
    dimensions: int | msgspec.UnsetType = msgspec.UNSET
    gen_defaults: GenerationDefaults | msgspec.UnsetType = msgspec.UNSET


class ModelList(msgspec.Struct, frozen=True):
    """The models that can be asked."""

    data: list[ModelRow]
    object: str = "list"


class About(msgspec.Struct, frozen=True):
    """What answers under `/v1`."""

    name: str
    version: str
    model: str
    endpoints: list[str]


def create_blueprint(serving: Serving) -> Blueprint:
    """The list of models: those that can be asked, the served one first; none while that one is loading."""
    blueprint = Blueprint("models", __name__)

    def row(served: Served | ServedEmbedder) -> ModelRow:
        if isinstance(served, ServedEmbedder):
            return ModelRow(
                id=served.model_id,
                created=served.created,
                context_window=served.max_tokens,
                max_model_len=served.max_tokens,
                reasoning=False,
                thinking=False,
                type="embedding",
                dimensions=served.size,
            )
        window = served.text.context_window
        thinks = served.text.thinks and served.thinking is not False
        usual = choose(SamplingFields(), served.flags, served.text, thinks)
        return ModelRow(
            id=served.model_id,
            created=served.created,
            context_window=window,
            max_model_len=window,
            reasoning=served.text.thinks,
            thinking=thinks,
            gen_defaults=GenerationDefaults(
                temperature=usual.temperature,
                top_p=usual.top_p or None,
                top_k=usual.top_k or None,
                min_p=usual.min_p or None,
                repetition_penalty=None
                if usual.repetition_penalty == 1
                else usual.repetition_penalty or None,
            ),
        )

    @blueprint.get("/v1")
    async def about() -> Response:
        return json_answer(About("fireside", __version__, serving.any().model_id, _ENDPOINTS))

    async def rows() -> list[ModelRow]:
        first = serving.any()
        others = [served for served in serving.host.running if served is not first]
        asleep = [_row_of(model) for model in await serving.host.available() if model.id != first.model_id]
        return [*map(row, (first, *others)), *asleep]

    @blueprint.get("/v1/models")
    async def models() -> Response:
        # Clients that list models before they ask take an error for a broken server.
        try:
            return json_answer(ModelList(await rows()))
        except NotReady:
            return json_answer(ModelList([]))

    @blueprint.get("/v1/models/<path:model_id>")
    async def model(model_id: str) -> Response:
        listed = {found.id: found for found in await rows()}
        if model_id not in listed:
            raise NotFound(
                f"There is no model {model_id!r}. Can be asked: {', '.join(listed)}.", code="model_not_found"
            )
        return json_answer(listed[model_id])

    return blueprint


def _row_of(model: Available) -> ModelRow:
    """A model that does not run yet, as far as its files tell."""
    return ModelRow(
        id=model.id,
        created=model.created,
        context_window=model.context_window,
        max_model_len=model.context_window,
        reasoning=model.thinks,
        thinking=model.thinks,
    )
