"""The texts of wordings.toml."""

import tomllib
from functools import cache
from pathlib import Path


@cache
def _all() -> dict[str, list[str]]:
    return tomllib.loads((Path(__file__).parent / "wordings.toml").read_text("utf-8"))


def wordings(name: str) -> list[str]:
    """The ways to say what is meant by `name`."""
    return _all()[name]
