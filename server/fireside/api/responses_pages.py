"""Pages of a response's input items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from fireside.api.responses_items import WithId
from fireside.http.errors import BadRequest

_LIMIT = 20
_MOST = 100
_LIMITS = frozenset(map(str, range(1, _MOST + 1)))


class ItemPage(msgspec.Struct, frozen=True):
    """A part of a list of items; the ids are null where it is empty."""

    data: list[msgspec.Raw]
    first_id: str | None
    last_id: str | None
    has_more: bool
    object: Literal["list"] = "list"


def page_of(items: bytes, query: Mapping[str, str]) -> ItemPage:
    """The page of a JSON array of items that a query string means: `limit`, `order` and `after`.

    Newest first unless `order` says otherwise.

    Raises:
        BadRequest: a parameter is not what it must be.
    """
    limit, order, after = query.get("limit", str(_LIMIT)), query.get("order", "desc"), query.get("after")
    if limit not in _LIMITS:
        raise BadRequest(f"limit: must be a number from 1 to {_MOST}.", param="limit")
    if order not in ("asc", "desc"):
        raise BadRequest("order: must be 'asc' or 'desc'.", param="order")
    listed = msgspec.json.decode(items, type=list[msgspec.Raw])
    ids = [item.id for item in msgspec.json.decode(items, type=list[WithId])]
    if order == "desc":
        listed.reverse()
        ids.reverse()
    start = 0
    if after is not None:
        if after not in ids:
            raise BadRequest(f"after: there is no item {after!r} in this list.", param="after")
        start = ids.index(after) + 1
    end = min(len(ids), start + int(limit))
    page = ids[start:end]
    return ItemPage(
        listed[start:end], page[0] if page else None, page[-1] if page else None, has_more=end < len(ids)
    )
