"""`GET /api/search` and `GET /api/sessions/search`."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from quart import Blueprint, Response, request
from werkzeug.datastructures import MultiDict

from fireside_agent.answers import error_answer, json_answer
from fireside_agent.errors import StorageError
from fireside_agent.messages import Role
from fireside_agent.search.results import (
    DEFAULT_LIMIT,
    KINDS,
    MAX_LIMIT,
    ROLES,
    SESSION_KINDS,
    InvalidSearchError,
    Kind,
    Search,
    SupersededError,
)
from fireside_agent.search.searcher import Searcher


def create_blueprint(searcher: Searcher) -> Blueprint:
    """The search routes of `searcher`."""
    blueprint = Blueprint("search", __name__)

    @blueprint.get("/api/search")
    async def search_everything() -> Response:  # pyright: ignore[reportUnusedFunction]
        return await _respond(searcher, KINDS)

    @blueprint.get("/api/sessions/search")
    async def search_sessions() -> Response:  # pyright: ignore[reportUnusedFunction]
        return await _respond(searcher, SESSION_KINDS)

    return blueprint


async def _respond(searcher: Searcher, kinds: Sequence[Kind]) -> Response:
    parameters = request.args
    try:
        answer = await searcher.search(
            read_search(parameters, kinds),
            cursor=parameters.get("cursor") or None,
            limit=_limit(parameters),
            client=parameters.get("client") or None,
        )
    except InvalidSearchError as error:
        return error_answer(400, "invalid_value", str(error), error.param)
    except SupersededError as error:
        return error_answer(409, "superseded", str(error))
    except StorageError as error:
        return error_answer(503, "storage_failed", str(error))
    return json_answer(answer)


def read_search(parameters: "MultiDict[str, str]", kinds: Sequence[Kind]) -> Search:
    """The search that the parameters of a request ask for, among `kinds`.

    Raises:
        InvalidSearchError: one of them is wrong.
    """
    query = parameters.get("q")
    if query is None:
        raise InvalidSearchError("q", "q is missing; it is the text to look for.")
    return Search(
        query=query,
        kinds=_kinds(parameters, kinds),
        role=_role(parameters),
        before=_time(parameters, "before"),
        after=_time(parameters, "after"),
        session_id=parameters.get("session_id") or None,
    )


def _kinds(parameters: "MultiDict[str, str]", allowed: Sequence[Kind]) -> tuple[Kind, ...]:
    named = [kind for value in parameters.getlist("kind") for kind in value.split(",") if kind]
    for kind in named:
        if kind not in allowed:
            raise InvalidSearchError(
                "kind", f"kind must be one or more of {', '.join(allowed)}, with commas, not {kind!r}."
            )
    return tuple(kind for kind in allowed if kind in named or not named)


def _role(parameters: "MultiDict[str, str]") -> Role | None:
    value = parameters.get("role") or None
    for role in ROLES:
        if role == value:
            return role
    if value is not None:
        raise InvalidSearchError("role", f"role must be {' or '.join(ROLES)}, not {value!r}.")
    return None


def _time(parameters: "MultiDict[str, str]", name: str) -> float | None:
    value = parameters.get(name) or None
    if value is None:
        return None
    try:
        time = float(value)
    except ValueError:
        time = _date(value)
    if not math.isfinite(time):
        raise InvalidSearchError(
            name, f"{name} must be seconds since 1970 or a date such as 2026-01-31, not {value!r}."
        )
    return time


def _date(value: str) -> float:
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return math.nan


def _limit(parameters: "MultiDict[str, str]") -> int:
    value = parameters.get("limit") or str(DEFAULT_LIMIT)
    if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= MAX_LIMIT and len(value) < 9):
        raise InvalidSearchError("limit", f"limit must be a number from 1 to {MAX_LIMIT}, not {value!r}.")
    return int(value)
