"""`fireside memory`: the long-term memory on the command line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fireside.paths import Home

if TYPE_CHECKING:
    from fireside_agent.memory.records import Status
    from fireside_agent.memory.vault import Vault

T = TypeVar("T")


def memory_root() -> Path:
    """The vault's folder: `FIRESIDE_WIKI`, by default `wiki` in `FIRESIDE_HOME`."""
    return Home.from_environment().wiki


@click.group()
def memory() -> None:
    """What Fireside remembers: plain Markdown in FIRESIDE_WIKI, by default FIRESIDE_HOME/wiki."""


@memory.command()
def init() -> None:
    """Make the memory, or what is missing of it. Nothing that is there is changed."""
    state = _run(_vault().init())
    _print_status(state)
    if not state.git_program:
        click.echo(
            "There is no git program: install git, then run this again. Until then it can only be read."
        )


@memory.command()
def status() -> None:
    """Where the memory is, what it holds, and what has changed last."""
    _print_status(_run(_vault().status()))


@memory.command("list")
def list_articles() -> None:
    """The names of all articles."""
    for each in _run(_vault().summaries()):
        click.echo(each.name)


@memory.command()
@click.argument("query", nargs=-1, required=True)
def search(query: tuple[str, ...]) -> None:
    """Articles that hold the words, best first, with the lines."""
    found = _run(_vault().search(" ".join(query)))
    for result in found.results:
        click.echo(f"{result.name}: {result.occurrences} × {', '.join(result.terms)}")
        for hit in result.hits:
            click.echo(f"    {hit.line}: {hit.text}")
    if found.total > len(found.results):
        click.echo(f"… and {found.total - len(found.results)} more articles.")
    if not found.results:
        raise click.ClickException("Nothing was found.")


@memory.command()
@click.argument("name")
def read(name: str) -> None:
    """Print an article."""
    click.echo(_run(_vault().read(name)).text, nl=False)


@memory.command()
@click.argument("name")
def links(name: str) -> None:
    """What an article links to, and what links to it."""
    found = _run(_vault().links(name))
    click.echo("Links to:")
    for out in found.outbound:
        place = f"#{out.heading}" if out.heading else ""
        click.echo(f"    {out.article or out.target}{place}{_broken(out.broken)}")
    click.echo("Linked from:")
    for back in found.inbound:
        click.echo(f"    {back.article}, line {back.line}{_broken(back.broken)}")


@memory.command("open")
@click.argument("name", required=False)
def open_memory(name: str | None) -> None:
    """Open the memory's folder, or an article, in the program that the desktop has for it."""
    vault = _vault()
    path = _run(vault.locate(name)) if name else _existing_root(vault)
    click.echo(str(path))
    if click.launch(str(path)) != 0:
        raise click.ClickException("No program of the desktop opened it.")


@memory.command("import")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def import_folder(folder: Path) -> None:
    """Take over the articles of another memory or folder of notes; those that exist are skipped."""
    done = _run(_vault().import_articles(folder))
    click.echo(f"{len(done.added)} imported, {len(done.skipped)} skipped, for they exist.")
    for name, reason in done.failed.items():
        click.echo(f"Not imported: {name}: {reason}", err=True)
    if done.failed:
        raise SystemExit(1)


def _vault() -> Vault:
    from fireside_agent.memory.vault import Vault

    return Vault(memory_root())


def _run(work: Coroutine[Any, Any, T]) -> T:
    from fireside_agent.memory.errors import VaultError

    try:
        return asyncio.run(work)
    except VaultError as error:
        raise click.ClickException(str(error)) from error


def _existing_root(vault: Vault) -> Path:
    _run(vault.summaries())
    return vault.root


def _broken(reason: str | None) -> str:
    return f" (broken: {reason})" if reason else ""


def _print_status(state: Status) -> None:
    click.echo(f"Memory: {state.root}{'' if state.exists else ' (not made yet: fireside memory init)'}")
    click.echo(f"Git: {'yes' if state.git else 'no'}")
    click.echo(f"Articles: {state.articles}, references: {state.references}")
    for each in state.recent:
        click.echo(f"    {time.strftime('%Y-%m-%d %H:%M', time.localtime(each.modified_at))}  {each.name}")
