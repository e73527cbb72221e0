"""What a core is started with."""

from __future__ import annotations

import pytest

from fireside.engine.link import core_environment

HUGE = "glibc.malloc.hugetlb=1"


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (None, HUGE),
        ("", HUGE),
        ("glibc.malloc.arena_max=2", f"glibc.malloc.arena_max=2:{HUGE}"),
        ("glibc.malloc.hugetlb=0", "glibc.malloc.hugetlb=0"),
        ("a=1:glibc.malloc.hugetlb=2", "a=1:glibc.malloc.hugetlb=2"),
    ],
)
def test_the_heap_is_in_huge_pages_unless_the_user_says_otherwise(own: str | None, expected: str) -> None:
    environment = {"HOME": "/h"} if own is None else {"HOME": "/h", "GLIBC_TUNABLES": own}
    assert core_environment(environment) == {"HOME": "/h", "GLIBC_TUNABLES": expected}
