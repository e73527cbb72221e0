"""`/api/sessions/deleted`: deleted chats, to restore or to delete for good."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Annotated

import msgspec
from quart import Blueprint, Response

from fireside_agent.answers import RefusedError, answer_errors, json_answer, read_json
from fireside_agent.errors import FrameRefusedError
from fireside_agent.store.sessions import UNDO_DAYS
from fireside_agent.trash.sessions import DeletedSession
from fireside_agent.trash.trash import Trash

ADDRESS = "/api/sessions/deleted"
MOST_AT_ONCE = 10_000


class DeletedList(msgspec.Struct):
    """The deleted chats that can be restored, the last deleted first, and for how long they can."""

    sessions: list[DeletedSession]
    kept_days: int


class Restoring(msgspec.Struct):
    """Which chat is wanted back."""

    id: str


class Purging(msgspec.Struct):
    """Which chats are to be deleted for good: all of them, or none where one is not deleted."""

    ids: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MOST_AT_ONCE)]


class Done(msgspec.Struct):
    """It was done."""

    ok: bool = True


def create_blueprint(trash: Trash, restore: Callable[[str], Awaitable[None]]) -> Blueprint:
    """The routes over what is in the trash."""
    blueprint = Blueprint("trash", __name__)
    answer_errors(blueprint)

    @blueprint.get(ADDRESS)
    async def deleted() -> Response:  # pyright: ignore[reportUnusedFunction]
        return json_answer(DeletedList(await trash.list(), UNDO_DAYS))

    @blueprint.post(f"{ADDRESS}/restore")
    async def take_back() -> Response:  # pyright: ignore[reportUnusedFunction]
        wanted = await read_json(Restoring)
        with _refusals("id"):
            await restore(wanted.id)
        return json_answer(Done())

    @blueprint.delete(ADDRESS)
    async def purge() -> Response:  # pyright: ignore[reportUnusedFunction]
        wanted = await read_json(Purging)
        with _refusals("ids"):
            await trash.purge(wanted.ids)
        return json_answer(Done())

    return blueprint


@contextmanager
def _refusals(param: str) -> Generator[None]:
    try:
        yield
    except FrameRefusedError as error:
        status = 404 if error.code == "unknown_session" else 409
        raise RefusedError(status, error.code, str(error), param) from error
