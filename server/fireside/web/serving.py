"""`POST /api/hub/serve`: change the served model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta
from quart import Blueprint, Response

from fireside.http.answers import json_answer
from fireside.http.operations import Answer, Operation
from fireside.http.security import json_body
from fireside.http.validation import decode


class ServeBody(msgspec.Struct, frozen=True):
    """Which model to serve: its name, words of it, or a folder."""

    model: Annotated[str, Meta(min_length=1, max_length=1000)]


class Chosen(msgspec.Struct, frozen=True):
    """The model that is served from now on, or soon: how it gets there is in `/api/status`."""

    id: str
    name: str


class Named(Protocol):
    """A model by its names."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


OPERATION = Operation(
    "POST",
    "/api/hub/serve",
    "Models on this machine",
    "Serve another model",
    "The answers that are being written come to their end first, for 30 seconds at most; requests that come "
    "meanwhile wait for the new model. If it cannot be loaded, the old one is started again. With "
    "`--model-pool` the old one goes on beside it.",
    body=ServeBody,
    example={"model": "mlx-community/Qwen3-4B-4bit"},
    answers={202: Answer("The change has begun, or that model is served already.", Chosen)},
    errors=(404, 409),
)


def create_blueprint(switch: Callable[[str], Awaitable[Named]]) -> Blueprint:
    """The route over whoever keeps models running."""
    blueprint = Blueprint("serving", __name__)

    @blueprint.post("/api/hub/serve")
    async def serve() -> Response:
        body = decode(await json_body(), ServeBody)
        chosen = await switch(body.model)
        return json_answer(Chosen(chosen.id, chosen.name), 202)

    return blueprint
