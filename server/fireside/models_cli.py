"""`fireside models`: the models on this machine, on the command line."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fireside import hub_cli
from fireside.paths import Home

if TYPE_CHECKING:
    from fireside.catalog.library import Library, LibraryRow
    from fireside.catalog.registry import Catalog, Progress

MODELS_DIR = click.option(
    "--models-dir",
    "models_dirs",
    multiple=True,
    type=click.Path(file_okay=False, path_type=Path),
    envvar="FIRESIDE_MODELS",
    metavar="DIR",
    help="A folder with models, as DIR/name or DIR/owner/name, beside the Hugging Face cache and "
    "FIRESIDE_HOME/models. Repeatable; also FIRESIDE_MODELS, with a colon between several.",
)
"""For every command that looks for models."""

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group()
@MODELS_DIR
@click.pass_context
def models(ctx: click.Context, models_dirs: tuple[Path, ...]) -> None:
    """The models on this machine: in the Hugging Face cache, in FIRESIDE_HOME/models and in other folders."""
    ctx.obj = models_dirs


@models.command("ls")
@click.argument("query", nargs=-1)
@_JSON
@click.pass_context
def list_models(ctx: click.Context, query: tuple[str, ...], as_json: bool) -> None:
    """List them, or those with all words of QUERY in their names."""
    from fireside.catalog.query import matching

    rows = _rows(ctx.obj)
    if query:
        names = set(matching(" ".join(query), (row.repo_id for row in rows)))
        rows = [row for row in rows if row.repo_id in names]
    if as_json:
        _print_json(rows)
        return
    if not rows:
        raise click.ClickException(
            "No model has such a name." if query else "There are no models yet; see: fireside models fit"
        )
    _print_table(
        ("MODEL", "SIZE", "PARAMETERS", "BITS", "CONTEXT", "FITS UP TO", "TOKENS/S", "WHAT"),
        [_cells(row) for row in rows],
        left=(0, 7),
    )


@models.command()
@_JSON
@click.pass_context
def scan(ctx: click.Context, as_json: bool) -> None:
    """Read all models again, also those whose files are as they were."""
    catalog = _catalog(ctx.obj)
    with _progress() as progress:
        found = catalog.refresh(progress, everything=True)
    if as_json:
        _print_json(found)
        return
    usable = sum(model.usable for model in found)
    click.echo(f"{len(found)} models, {usable} of which can be served.")
    for model in found:
        if not model.complete:
            click.echo(f"{model.repo_id} is not complete: {'; '.join(model.missing)}")


@models.command()
@click.argument("model", required=False)
@click.option(
    "--context",
    type=click.IntRange(1, 1 << 24),
    metavar="N",
    help="Tokens of a conversation that should fit.",
)
@_JSON
@click.pass_context
def fit(ctx: click.Context, model: str | None, context: int | None, as_json: bool) -> None:
    """Whether MODEL fits here and on other machines; without MODEL, which models would suit this machine."""
    if model is None:
        _print_recommended(ctx.obj, as_json)
        return
    import asyncio

    from fireside.catalog.fit_report import MATRIX_CONTEXT
    from fireside.catalog.query import AmbiguousModelError, UnknownModelError

    try:
        found = asyncio.run(_library(ctx.obj).fit(model, context))
    except (AmbiguousModelError, UnknownModelError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        _print_json(found)
        return
    for line in found.report:
        click.echo(line)
    click.echo(f"\nOn other machines, for conversations of {MATRIX_CONTEXT:,} tokens:\n")
    _print_table(
        ("MACHINE", "FITS", "UP TO", "TOKENS/S"),
        [
            (
                row.chip,
                "yes" if row.fits else "no",
                _number(row.max_safe_context),
                _number(row.predicted_decode_tps),
            )
            for row in found.matrix
        ],
        left=(0,),
    )


def _print_recommended(folders: Sequence[Path], as_json: bool) -> None:
    import asyncio

    library = _library(folders)
    machine, found = asyncio.run(library.machine()), asyncio.run(library.recommended())
    if as_json:
        _print_json({"machine": machine, "models": found})
        return
    speed = f", which it reads with {_size(machine.bandwidth)} a second" if machine.bandwidth else ""
    click.echo(f"{machine.chip} with {_size(machine.memory_bytes)} of memory{speed}")
    if not found:
        click.echo("None of the models that we know of leaves enough memory to other programs.")
        return
    click.echo("Models that suit it:\n")
    _print_table(
        ("MODEL", "SIZE", "TOKENS/S", "HERE", "FOR"),
        [
            (
                row.repo_id,
                _size(row.size_bytes),
                _number(row.predicted_decode_tps),
                "yes" if row.here else "no",
                row.purpose,
            )
            for row in found
        ],
        left=(0, 4),
    )


def _catalog(folders: Sequence[Path]) -> Catalog:
    from fireside.catalog.registry import Catalog

    home = Home.from_environment()
    try:
        home.create()
        return Catalog.of_home(home, folders)
    except (OSError, sqlite3.Error) as error:
        raise click.ClickException(f"{home.root} cannot be used: {error}") from error


def _library(folders: Sequence[Path]) -> Library:
    from fireside.catalog.library import Library

    catalog = _catalog(folders)
    with _progress() as progress:
        catalog.refresh(progress)
    return Library(catalog)


def _rows(folders: Sequence[Path]) -> list[LibraryRow]:
    import asyncio

    return asyncio.run(_library(folders).rows())


@contextmanager
def _progress() -> Generator[Progress | None]:
    """A bar on a terminal, as soon as there is something to read."""
    if not sys.stderr.isatty():
        yield None
        return
    bars: list[Any] = []

    def shown(item: Any) -> str | None:
        return item

    def progress(done: int, total: int, name: str) -> None:
        if not bars:
            bar = click.progressbar(
                length=total, label="Reading models", file=sys.stderr, item_show_func=shown
            )
            bars.append(bar.__enter__())
        bars[0].update(done - bars[0].pos, name)

    try:
        yield progress
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)


def _cells(row: LibraryRow) -> tuple[str, ...]:
    fitting = row.assessment
    return (
        row.repo_id,
        _size(row.size_bytes),
        _count(row.parameters),
        _number(row.quant_bits),
        _number(row.context_window),
        _number(fitting.max_safe_context) if fitting.fits else "no",
        _number(fitting.decode_tps),
        _what(row),
    )


def _what(row: LibraryRow) -> str:
    if not row.complete:
        return f"not complete: {row.missing[0]}"
    if not row.supported:
        return f"{row.kind}, cannot be served"
    abilities = [name for name in ("vision", "audio", "tools", "thinking") if getattr(row, name)]
    return ", ".join([row.kind, *abilities])


def _print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> None:
    """Columns as wide as they must be; those that are not `left` hold numbers."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    for row in (headers, *rows):
        cells = (
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        click.echo("  ".join(cells).rstrip())


def _print_json(value: Any) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def _size(count: int | None) -> str:
    if count is None:
        return ""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,}"


def _count(value: int | None) -> str:
    """How many parameters, as their makers write it: 135M, 8.2B."""
    if value is None:
        return ""
    return f"{value / 1e9:.1f}B" if value >= 1e9 else f"{value / 1e6:.0f}M"


hub_cli.add_to(models)
