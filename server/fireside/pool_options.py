"""Flags of `fireside serve` about more than one model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--model-pool",
        type=click.IntRange(min=1, max=64),
        default=1,
        show_default=True,
        metavar="N",
        help="Models that may run at the same time. With more than one, a request that names another model "
        "of this machine starts it; the one that was asked longest ago is stopped when there is no room.",
    ),
    click.option(
        "--pin",
        "pinned",
        multiple=True,
        metavar="MODEL",
        help="A model that is never stopped to make room, or for want of use. Repeatable.",
    ),
    click.option(
        "--model-alias",
        "model_aliases",
        multiple=True,
        metavar="NAME=MODEL",
        help="With a pool: what a name means that clients ask for; NAME may be a pattern such as gpt-*. "
        "MODEL `default` is the served one. Repeatable.",
    ),
    click.option(
        "--idle-unload",
        type=click.FloatRange(min=1),
        metavar="SECONDS",
        help="Stop a model that nobody has asked for so long; the next request starts it again.",
    ),
)


def pool_options(command: F) -> F:
    """Add the flags to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def aliases_of(values: tuple[str, ...]) -> dict[str, str]:
    """What `--model-alias` was given, in its order.

    Raises:
        click.UsageError: one is not of the form NAME=MODEL.
    """
    aliases: dict[str, str] = {}
    for value in values:
        name, _, model = value.partition("=")
        if not name.strip() or not model.strip():
            raise click.UsageError(f"--model-alias: {value!r} is not of the form NAME=MODEL.")
        aliases[name.strip()] = model.strip()
    return aliases
