"""What the store of responses keeps, for how long, and the pages of its items."""

import json
from typing import Any

import pytest

from fireside.api.responses_pages import page_of
from fireside.api.responses_store import ResponseStore, Stored
from fireside.http.errors import BadRequest


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def stored(size: int, *ids: str) -> Stored:
    return Stored(b"r" * (size - 1), b"i", ids)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> ResponseStore:
    return ResponseStore(ttl_s=60, max_bytes=100, clock=clock)


def test_a_response_is_there_until_its_time_is_over(store: ResponseStore, clock: Clock) -> None:
    store.put("a", stored(10, "m1"))
    clock.now = 30
    store.put("b", stored(10, "m2"))
    clock.now = 59.9
    assert store.get("a") == stored(10, "m1")
    clock.now = 60
    assert store.get("a") is None
    assert store.owner("m1") is None
    assert store.owner("m2") == stored(10, "m2")
    assert store.stats() == {
        "entries": 1, "bytes": 10, "max_bytes": 100, "ttl_s": 60, "evicted": 0, "expired": 1
    }  # fmt: skip


def test_being_used_does_not_make_it_live_longer(store: ResponseStore, clock: Clock) -> None:
    store.put("a", stored(10))
    for clock.now in range(0, 60, 10):
        assert store.get("a")
    clock.now = 60
    assert store.get("a") is None


def test_the_one_that_was_not_used_for_longest_makes_room(store: ResponseStore) -> None:
    store.put("a", stored(40, "m1"))
    store.put("b", stored(40, "m2"))
    assert store.get("a")
    store.put("c", stored(40))
    assert store.get("b") is None
    assert store.owner("m2") is None
    assert store.get("a")
    assert store.stats()["bytes"] == 80
    assert store.stats()["evicted"] == 1


def test_a_response_exactly_as_large_as_the_store_is_kept_and_a_larger_one_is_not(
    store: ResponseStore,
) -> None:
    store.put("a", stored(100))
    assert store.get("a")
    store.put("b", stored(101, "m"))
    assert store.get("b") is None
    assert store.owner("m") is None
    assert store.get("a")
    assert store.stats()["bytes"] == 100


def test_what_is_deleted_is_gone_with_its_items_and_its_bytes(store: ResponseStore, clock: Clock) -> None:
    store.put("a", stored(10, "m1"))
    store.put("b", stored(20))
    assert store.delete("a")
    assert not store.delete("a")
    assert store.owner("m1") is None
    assert store.stats()["bytes"] == 20
    clock.now = 60
    assert not store.delete("b")
    assert store.stats()["expired"] == 1


ITEMS = json.dumps([{"id": f"i{n}"} for n in range(5)]).encode()


@pytest.mark.parametrize(
    ("query", "ids", "more"),
    [
        ({}, "i4 i3 i2 i1 i0", False),
        ({"order": "asc"}, "i0 i1 i2 i3 i4", False),
        ({"limit": "2"}, "i4 i3", True),
        ({"limit": "2", "after": "i3"}, "i2 i1", True),
        ({"limit": "2", "after": "i1"}, "i0", False),
        ({"limit": "2", "order": "asc", "after": "i1"}, "i2 i3", True),
        ({"after": "i0"}, "", False),
    ],
)
def test_a_page_of_items(query: dict[str, str], ids: str, more: bool) -> None:
    page = page_of(ITEMS, query)
    found = [json.loads(bytes(item))["id"] for item in page.data]
    assert found == ids.split()
    assert page.has_more is more
    assert (page.first_id, page.last_id) == ((found[0], found[-1]) if found else (None, None))


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"limit": "9" * 5000}, "limit"),
        ({"order": "random"}, "order"),
        ({"after": "nobody"}, "after"),
    ],
)
def test_a_wrong_parameter_is_named(query: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as refused:
        page_of(ITEMS, query)
    assert refused.value.param == param
