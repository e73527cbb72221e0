"""`fireside models search|get|rm|gc`: the model hub on the command line."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from fireside.instance import running
from fireside.paths import Home

if TYPE_CHECKING:
    from fireside.catalog.hub.cache_layout import RepoFolder
    from fireside.catalog.hub.clean_up import GcPlan, Surroundings
    from fireside.catalog.hub.jobs_kept import DownloadStore
    from fireside.catalog.hub.progress import Event

T = TypeVar("T")

_SORTS = ("downloads", "likes", "updated", "created", "trending", "size")
_BITS = {"4": 4, "6": 6, "8": 8, "bf16": 16}
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_yes = click.option("--yes", is_flag=True, help="Do not ask.")


def add_to(group: click.Group) -> None:
    """Add the commands to `fireside models`."""
    for command in (search, get, remove, gc):
        group.add_command(command)


@click.command()
@click.argument("words", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Also models that are not laid out for MLX.")
@click.option("--sort", type=click.Choice(_SORTS), default="downloads", show_default=True)
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True)
@click.option("--max-size", metavar="SIZE", help="No larger ones: 4, 500MB, 8GiB.")
@_as_json
def search(
    words: tuple[str, ...], everything: bool, sort: Any, limit: int, max_size: str | None, as_json: bool
) -> None:
    """Search the model hub that HF_ENDPOINT names, huggingface.co by default."""
    from fireside.catalog.hub.search import search as search_hub

    most = _size(max_size) if max_size else None
    found = _told(
        lambda: search_hub(" ".join(words), mlx_only=not everything, sort=sort, limit=limit, max_bytes=most)
    )
    if as_json:
        return _print_json(found)
    rows = [
        (each.repo_id, _bytes(each.size), f"{each.downloads:,}", "gated" if each.gated != "no" else "")
        for each in found
    ]
    _print_table(("MODEL", "SIZE", "DOWNLOADS", ""), rows)
    if not found:
        raise click.ClickException("The hub has no such model. With --all it is looked for in all formats.")
    return None


@click.command()
@click.argument("repo_id")
@click.option("--revision", default="main", show_default=True, help="A branch, a tag or a commit.")
@click.option("--convert", type=click.Choice(list(_BITS)), help="Convert it for MLX, to that many bits.")
@_as_json
def get(repo_id: str, revision: str, convert: str | None, as_json: bool) -> None:
    """Download a model, or go on with a download. Ctrl-C keeps what has arrived."""
    from fireside.catalog.hub import converted
    from fireside.catalog.hub.cache_layout import hub_cache
    from fireside.catalog.hub.errors import DownloadConflict
    from fireside.catalog.hub.feasible import feasible_plan
    from fireside.catalog.hub.fetching import fetch
    from fireside.catalog.hub.names import check_repo_id, check_revision

    bits = _BITS[convert] if convert else None
    models = Home.from_environment().models

    def work() -> Path:
        names = check_repo_id(repo_id), check_revision(revision)
        if bits is not None:
            if (folder := converted.target(models, repo_id, bits)).exists():
                raise DownloadConflict(
                    f"{folder} is there already. Remove it first: fireside models rm {folder.name}"
                )
            feasible_plan(*names, bits, hub_cache(), models)
        with _Bar(hidden=as_json) as bar:
            return fetch(*names, hub_cache(), bar.show)

    try:
        path = _told(work)
        if bits is not None:
            path = _convert(path, models, repo_id, bits)
    except KeyboardInterrupt:
        click.echo("\nStopped. What has arrived is kept; the same command goes on from there.", err=True)
        raise SystemExit(130) from None
    if as_json:
        return _print_json({"repo_id": repo_id, "path": str(path)})
    click.echo(str(path))
    return None


@click.command("rm")
@click.argument("repo_id")
@_yes
@_as_json
@click.pass_context
def remove(ctx: click.Context, repo_id: str, yes: bool, as_json: bool) -> None:
    """Remove a model from the Hugging Face cache, or a converted one by the name of its folder.

    One that a running Fireside serves, or that is just being downloaded, is refused.
    """
    from fireside.catalog.hub import converted
    from fireside.catalog.hub.cache_layout import RepoFolder, hub_cache
    from fireside.catalog.hub.jobs_kept import LIVE
    from fireside.catalog.hub.names import check_repo_id
    from fireside.catalog.in_use import is_held

    home = Home.from_environment()
    own = home.models / repo_id
    if not repo_id or "/" in repo_id or repo_id.startswith(".") or not own.is_dir():
        folder = RepoFolder.of(hub_cache(), _told(lambda: check_repo_id(repo_id)))
        own = folder.path
        if not own.is_dir():
            raise click.ClickException(_not_ours(repo_id, home, ctx.obj or ()))
        _refuse_while_downloading(folder, home)
    if any(is_held(path) for path in (own, *own.glob("snapshots/*"))):
        raise click.ClickException(
            f"{repo_id} is in use: a Fireside serves it, or it is just being converted. "
            "Serve another model, or stop that Fireside, first."
        )
    size = _told(lambda: converted.size(own))
    if not yes:
        click.confirm(f"Remove {own} ({_bytes(size)})?", abort=True, err=True)
    _told(own.unlink if own.is_symlink() else lambda: shutil.rmtree(own))
    store = _downloads(home)
    store.forget(job.id for job in store.load() if job.repo_id == repo_id and job.state in LIVE)
    if as_json:
        return _print_json({"path": str(own), "reclaimed_bytes": size})
    click.echo(f"Removed; {_bytes(size)} are free again.")
    return None


@click.command()
@click.option("--force", is_flag=True, help="Also snapshots with files that newer ones do not have.")
@_yes
@_as_json
def gc(force: bool, yes: bool, as_json: bool) -> None:
    """Remove what no model needs any more. Shows it first; with --json and without --yes, only that.

    What a running Fireside serves, or is just being downloaded or converted, stays.
    """
    from fireside.catalog.hub.clean_up import execute, plan

    around = _surroundings(Home.from_environment())
    made = _told(lambda: plan(around, force=force))
    if as_json and not yes:
        return _print_json(made)
    if not as_json:
        _show_plan(made)
    if not made.reclaim_bytes and not any(each.prune_snapshots for each in made.superseded):
        return _print_json(made) if as_json else None
    if not yes:
        click.confirm("Remove all this?", abort=True, err=True)
    done = _told(lambda: execute(around, made.token, force=force))
    if as_json:
        return _print_json(done)
    for line in done.failed:
        click.echo(f"Not removed: {line}", err=True)
    click.echo(f"{_bytes(done.reclaimed_bytes)} are free again.")
    return None


def _surroundings(home: Home) -> Surroundings:
    from fireside.catalog.hub import converted
    from fireside.catalog.hub.cache_layout import hub_cache
    from fireside.catalog.hub.clean_up import Surroundings
    from fireside.catalog.hub.jobs_kept import LIVE
    from fireside.engine.ssd_files import orphaned_files

    live = [job for job in _downloads(home).load() if job.state in LIVE]
    return Surroundings(
        hub_cache(),
        home.models,
        live=frozenset(job.repo_id for job in live),
        building=frozenset(
            converted.staging(converted.target(home.models, job.repo_id, job.bits))
            for job in live
            if job.bits
        ),
        orphans=partial(orphaned_files, home.ssd_cache),
    )


def _downloads(home: Home) -> DownloadStore:
    from fireside.catalog.hub.jobs_kept import DownloadStore

    return DownloadStore(home.root / "downloads.db")


def _convert(source: Path, models: Path, repo_id: str, bits: int) -> Path:
    from fireside.catalog.hub import converted
    from fireside.catalog.hub.progress import Event
    from fireside.catalog.hub.worker import CONVERTING
    from fireside.catalog.in_use import used

    folder = converted.target(models, repo_id, bits)
    place = _told(lambda: converted.prepare(folder))
    click.echo("Converting …", err=True)
    last = Event("failed")
    try:
        with (
            used(place),
            used(source),
            subprocess.Popen(
                [*CONVERTING, str(source), str(place), str(folder), str(bits)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                # A process that is killed may leave a part of one.
                with contextlib.suppress(msgspec.DecodeError):
                    last = msgspec.json.decode(line, type=Event)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if last.kind != "done":
        raise click.ClickException(last.message or "The conversion ended unexpectedly.")
    return folder


def _refuse_while_downloading(folder: RepoFolder, home: Home) -> None:
    from fireside.catalog.hub.jobs_kept import LIVE

    going_on = running(home.lock) is not None and any(
        job.repo_id == folder.repo_id and job.state in LIVE for job in _downloads(home).load()
    )
    if going_on or folder.is_written:
        raise click.ClickException(
            f"{folder.repo_id} is just being downloaded, or waits for that. Cancel its download first."
        )


def _not_ours(repo_id: str, home: Home, folders: Sequence[Path]) -> str:
    from fireside.catalog.places import Roots, locate

    places = locate(Roots(folders=(home.models, *folders)))
    place = next((place for place in places if place.repo_id == repo_id), None)
    if place is None:
        return f"There is no {repo_id} here. fireside models ls lists what is."
    return f"{repo_id} is in {place.path}, which Fireside has not made. Remove that folder yourself."


def _show_plan(made: GcPlan) -> None:
    rows = [
        (
            each.repo_id,
            f"{len(each.prune_snapshots)} old snapshots, {len(each.dead_blobs)} contents",
            each.reclaim_bytes,
        )
        for each in made.superseded
    ]
    kinds = (
        ("partial download", made.partials),
        ("unfinished conversion", made.converted),
        ("cache", made.ssd_cache),
    )
    rows += [(each.path, kind, each.bytes) for kind, group in kinds for each in group]
    _print_table(("WHAT", "", "SIZE"), [(name, what, _bytes(size)) for name, what, size in rows])
    for each in made.superseded:
        for commit in each.skipped_snapshots:
            click.echo(
                f"{each.repo_id}: {commit[:8]} stays, newer ones lack files of it (--force removes it)"
            )
    click.echo(f"{_bytes(made.reclaim_bytes)} can be made free.")


class _Bar:
    """A progress bar over the bytes of all files, on standard error."""

    def __init__(self, *, hidden: bool) -> None:
        self._hidden = hidden
        self._bar: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()

    def show(self, event: Event) -> None:
        """Move the bar to where a download is."""
        if self._hidden:
            return
        if event.kind == "plan":
            progressbar: Any = click.progressbar
            self._bar = progressbar(
                length=event.total,
                file=sys.stderr,
                item_show_func=lambda name: name,
                show_eta=True,
            )
        elif self._bar is not None:
            number = min(event.files_done + 1, event.files)
            self._bar.update(event.bytes - self._bar.pos, f"{number} of {event.files}: {event.file or ''}")


def _told(work: Callable[[], T]) -> T:
    from fireside.http.errors import FiresideError

    try:
        return work()
    except (FiresideError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _size(text: str) -> int:
    from fireside.config import parse_size

    try:
        return parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _print_json(value: object) -> None:
    click.echo(json.dumps(msgspec.to_builtins(value), indent=2))


def _print_table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _bytes(size: int | None) -> str:
    if size is None:
        return "?"
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} B"
