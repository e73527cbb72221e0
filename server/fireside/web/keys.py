"""`/api/keys`: the API keys, for the page."""

from __future__ import annotations

from typing import Annotated

import msgspec
from quart import Blueprint, Response

from fireside.http.answers import json_answer
from fireside.http.errors import BadRequest, NotFound
from fireside.http.keys import KeyInfo, KeyRing, TooManyKeys, info_of
from fireside.http.security import json_body
from fireside.http.validation import decode


class NewKey(msgspec.Struct, frozen=True):
    """The body of a request for a key."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class MadeKey(msgspec.Struct, frozen=True):
    """A key that was just made: the only time that it is shown."""

    key: str
    info: KeyInfo


class Keys(msgspec.Struct, frozen=True):
    """All keys.

    Attributes:
        required: whether requests need one.
    """

    required: bool
    keys: list[KeyInfo]


def create_blueprint(ring: KeyRing, required: bool) -> Blueprint:
    """The routes over the keys in `ring`."""
    blueprint = Blueprint("keys", __name__)

    @blueprint.get("/api/keys")
    async def listing() -> Response:
        return json_answer(Keys(required, ring.infos()))

    @blueprint.post("/api/keys")
    async def create() -> Response:
        wanted = decode(await json_body(), NewKey)
        try:
            key, secret = await ring.create(wanted.name)
        except TooManyKeys as error:
            raise BadRequest(str(error), code="too_many_keys") from error
        return json_answer(MadeKey(secret, info_of(key)), 201)

    @blueprint.delete("/api/keys/<key_id>")
    async def delete(key_id: str) -> Response:
        if await ring.delete(key_id):
            return Response(status=204)
        if ring.holds(key_id):
            raise BadRequest("A key that was given at the start ends when Fireside is started without it.")
        raise NotFound(f"There is no key with the id {key_id[:80]!r}.")

    return blueprint
