"""`/v1/prompt_cache/forget`: what a client has let the engine read is removed from memory and disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from quart import Blueprint, Response

from fireside.engine.engine import Engine
from fireside.engine.owners import owner_of, remove_files
from fireside.http.answers import json_answer
from fireside.http.errors import EngineError
from fireside.http.security import json_body
from fireside.http.validation import decode


class ForgetBody(msgspec.Struct, frozen=True, kw_only=True):
    """Whose keys and values are to go: those of requests with this `prompt_cache_key`."""

    prompt_cache_key: Annotated[str, Meta(min_length=1)]


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What was removed from the disk; what was in memory is gone too.

    Attributes:
        files: of the SSD cache, of all models.
        bytes: of those.
    """

    files: int
    bytes: int
    object: Literal["prompt_cache.forgotten"] = "prompt_cache.forgotten"


def create_blueprint(engines: Callable[[], list[Engine]], folder: Path) -> Blueprint:
    """The route.

    Args:
        engines: those that run.
        folder: of the SSD tier; need not be there.
    """
    blueprint = Blueprint("prompt_cache", __name__)

    @blueprint.post("/v1/prompt_cache/forget")
    async def forget() -> Response:
        owner = owner_of(decode(await json_body(), ForgetBody).prompt_cache_key)
        try:
            files, nbytes = await asyncio.to_thread(remove_files, folder, owner)
        except OSError as error:
            raise EngineError(
                f"A file of the SSD cache cannot be removed: {error}. Check the permissions of {folder}."
            ) from error
        finally:
            # After the files: a core removes those that it finishes meanwhile, and misses none that are gone.
            for engine in engines():
                engine.forget(owner)
        return json_answer(Forgotten(files=files, bytes=nbytes))

    return blueprint
