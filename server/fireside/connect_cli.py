"""`fireside connect`: Fireside in the settings of other programs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from fireside.config import DEFAULT_HOST, DEFAULT_PORT
from fireside.connect.clients import CLIENTS
from fireside.paths import Home

if TYPE_CHECKING:
    from fireside.connect.clients import Client, Target
    from fireside.connect.connecting import Plan, Record

_ANY_MODEL = "fireside"
"""With one model served, any name is good."""

_ANSWERS_WITHIN_S = 5


_OPTIONS = (
    click.option("--remove", is_flag=True, help="Take out again what was written, and nothing else."),
    click.option("--print", "only_print", is_flag=True, help="Show what would be written; write nothing."),
    click.option(
        "--url",
        metavar="URL",
        help="Where Fireside is, such as the address of a proxy. Default: the address of the one that runs.",
    ),
    click.option("--model", metavar="ID", help="The model's name. Default: the one that is served."),
    click.option(
        "--api-key",
        metavar="KEY|@FILE",
        help="A key, for a Fireside that needs one; @FILE: in a file of mode 0600. Also FIRESIDE_API_KEY.",
    ),
)


@click.group()
def connect() -> None:
    """Let a program use Fireside: write that into its settings.

    A copy of each file is kept beside it first. What else is in them stays.
    """


def _add_command(client: str) -> None:
    program = CLIENTS[client]

    def command(**options: Any) -> None:
        _connect(client, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    connect.command(
        client,
        short_help=f"For {program.title}.",
        help=f"Let {program.title} use Fireside, by its settings in {program.settings}.",
    )(command)


for _name in sorted(CLIENTS):
    _add_command(_name)


def _connect(client: str, remove: bool, only_print: bool, **options: str | None) -> None:
    from fireside.connect.connecting import Record, connecting, disconnecting
    from fireside.connect.files import CannotEdit
    from fireside.http.private_files import UnsafeFile

    home, program = Home.from_environment(), CLIENTS[client]
    try:
        record = Record(home.root / "connect.json")
        if remove:
            plan = disconnecting(program.files(_nowhere(), os.environ), record)
            _carry_out(plan, record, program, None, only_print)
            return
        target = _target(home, **options)
        plan = connecting(program.files(target, os.environ), record, target.key)
        _carry_out(plan, record, program, target, only_print)
    except (CannotEdit, UnsafeFile) as error:
        raise click.ClickException(str(error)) from error


def _carry_out(plan: Plan, record: Record, program: Client, target: Target | None, only_print: bool) -> None:
    """Show the changes and make them.

    Args:
        target: None where ours is taken out.
    """
    for change in plan.changes:
        click.echo(change.diff(), nl=False)
    for name in plan.kept:
        click.echo(f"Left as it is, for it was changed: {name}", err=True)
    if only_print:
        return
    if target:
        # First, so that nothing is ever written that could not be taken out again.
        record.save()
    for change in plan.changes:
        copy = change.apply()
        if copy:
            click.echo(f"A copy of what was there: {copy}")
    record.save()
    if not plan.changes:
        click.echo(f"Nothing to change: {program.title} {'is connected' if target else 'was not connected'}.")
    elif target:
        click.echo(f"{program.title} uses {target.url} now. Start it with: {program.use(target)}")
    else:
        click.echo(f"{program.title} is as it was before.")


def _nowhere() -> Target:
    from fireside.connect.clients import Target

    return Target("", None, "", None)


def _target(home: Home, url: str | None, model: str | None, api_key: str | None) -> Target:
    from fireside.connect.clients import Target
    from fireside.http.key_flags import read_key_flags
    from fireside.instance import running

    given = api_key or os.environ.get("FIRESIDE_API_KEY")
    try:
        key = read_key_flags([given], ())[0] if given else None
    except ValueError as error:
        raise click.UsageError(f"--api-key: {error}") from error
    holder = running(home.lock)
    address = url or (holder.address if holder else None)
    if address is None:
        address = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"
        click.echo(f"No Fireside runs in {home.root}; its usual address is taken: {address}", err=True)
        return Target(address, key, model or _ANY_MODEL, None)
    if not address.startswith(("http://", "https://")):
        raise click.ClickException(
            f"Programs need an address that begins with http, not {address}; see --url."
        )
    address = address.rstrip("/").removesuffix("/v1")
    rows = _models(address, key)
    row = next((row for row in rows if row.get("id") == model), {}) if model else (rows or [{}])[0]
    if row.get("type") == "embedding":
        raise click.ClickException(f"{row['id']} only makes vectors; start Fireside with a model that chats.")
    window = row.get("context_window")
    return Target(
        url=address,
        key=key,
        model=model or row.get("id") or _ANY_MODEL,
        window=window if isinstance(window, int) and window > 0 else None,
        thinks=row.get("reasoning") is True,
    )


def _models(address: str, key: str | None) -> list[dict[str, Any]]:
    """What a Fireside serves; empty if it does not say, which is said."""
    import httpx

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx.Client(timeout=_ANSWERS_WITHIN_S, trust_env=False) as client:
            reply = client.get(f"{address}/v1/models", headers=headers)
        if reply.status_code == httpx.codes.UNAUTHORIZED:
            raise click.ClickException(
                f"{address} needs {'another' if key else 'a'} key: --api-key KEY or @FILE."
            )
        return list(reply.raise_for_status().json()["data"])
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        click.echo(f"{address} does not say what it serves ({error}); any name is taken.", err=True)
        return []
