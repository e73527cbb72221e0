"""`/v1` and `/v1/models`."""

from __future__ import annotations

from typing import Literal

import msgspec
from quart import Blueprint, Response

from fireside import __version__
from fireside.api.embedding_task import ServedEmbedder
from fireside.api.sampling import SamplingFields, choose
from fireside.api.served import Serving
from fireside.http.answers import json_answer
from fireside.http.errors import NotFound

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
    """What holds where a request says nothing: the server's flags over the model's own; null is no cut."""

    temperature: float
    top_p: float | None
    top_k: int | None


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
    """The list of models: the one that is served."""
    blueprint = Blueprint("models", __name__)

    def row() -> ModelRow:
        served = serving.any()
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
            gen_defaults=GenerationDefaults(usual.temperature, usual.top_p or None, usual.top_k or None),
        )

    @blueprint.get("/v1")
    async def about() -> Response:
        return json_answer(About("fireside", __version__, serving.any().model_id, _ENDPOINTS))

    @blueprint.get("/v1/models")
    async def models() -> Response:
        return json_answer(ModelList([row()]))

    @blueprint.get("/v1/models/<path:model_id>")
    async def model(model_id: str) -> Response:
        found = row()
        if found.id != model_id:
            raise NotFound(f"There is no model {model_id!r}; {found.id!r} is served.", code="model_not_found")
        return json_answer(found)

    return blueprint
