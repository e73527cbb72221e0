"""The command line. Every flag is declared here, once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from fireside import __version__
from fireside.config import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    MAX_QUEUE,
    MAX_ROWS,
    MAX_STEPS,
    ServeConfig,
)
from fireside.connect_cli import connect
from fireside.memory_cli import memory
from fireside.models_cli import MODELS_DIR, models
from fireside.paths import Home
from fireside.pool_options import aliases_of, pool_options
from fireside.serve_options import Size, mlx_lm_options, ssd_options, understand


class _DefaultsToServe(click.Group):
    """`fireside` and `fireside --port 0` mean `fireside serve …`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--version", "--help", *self.commands}
        if not args or args[0] not in own:
            args = ["serve", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_DefaultsToServe, context_settings={"help_option_names": ["--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="fireside")
def main() -> None:
    """Fireside: a private place to talk with the language models on your own machine."""


@main.command()
@click.option(
    "--model",
    metavar="ID|PATH|WORDS",
    help="A model folder, a hub id in the local cache, or words that are in the name of one model only, such "
    "as 'qwen3 4b'. auto: the largest that takes at most 60 % of the memory. With --upstream, the model's "
    "name there. Default: the built-in small model.",
)
@MODELS_DIR
@click.option("--host", default=DEFAULT_HOST, show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="0 picks a free port and prints it.",
)
@click.option(
    "--unix-socket",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Listen on a Unix socket instead of TCP.",
)
@click.option("--api-only", is_flag=True, help="Serve /v1 alone, without the page and the agent.")
@click.option("--no-open", is_flag=True, help="Do not open the browser.")
@click.option("--upstream", metavar="URL", help="Use this OpenAI-compatible server; load no model.")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A further host name under which Fireside may be asked. Repeatable.",
)
@click.option(
    "--api-key",
    "api_key",
    multiple=True,
    metavar="KEY|@FILE",
    help="A key that opens Fireside; with one, everybody needs one. @FILE: one key a line, in a file of mode "
    "0600, which other programs cannot see as they can see KEY. Repeatable; also FIRESIDE_API_KEY.",
)
@click.option(
    "--api-key-file",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The same as --api-key @FILE. Repeatable.",
)
@click.option(
    "--require-key",
    is_flag=True,
    help="Demand a key, or a link for the page, on this machine too; keys can be created in the page.",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Serve https with this certificate and its chain (PEM); goes with --tls-key.",
)
@click.option(
    "--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="The certificate's key (PEM)."
)
@click.option(
    "--allow-origin",
    multiple=True,
    metavar="ORIGIN",
    help="An origin whose pages may use /v1, such as http://localhost:3000. Repeatable.",
)
@click.option(
    "--temperature",
    "--temp",
    type=click.FloatRange(0, 5),
    metavar="0…5",
    help="Of requests that do not say; 0 takes the most likely token. Default: the model's own, or 0.7.",
)
@click.option(
    "--top-p",
    type=click.FloatRange(0, 1),
    metavar="0…1",
    help="Of requests that do not say; 0 and 1 are off. Default: the model's own, or off.",
)
@click.option(
    "--top-k",
    type=click.IntRange(0, 1_000_000),
    metavar="N",
    help="Of requests that do not say; 0 is off. Default: the model's own, or off.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of an answer whose request does not say. Default: the rest of the context.",
)
@click.option(
    "--thinking",
    type=click.BOOL,
    metavar="on|off",
    help="Whether models that can think do, in requests that do not say. Default: the model's own.",
)
@click.option(
    "--batch",
    "--decode-concurrency",
    "max_rows",
    type=click.IntRange(min=1),
    default=MAX_ROWS,
    show_default=True,
    metavar="N",
    help="Answers that are written at the same time; more wait.",
)
@click.option(
    "--max-queue",
    type=click.IntRange(min=0),
    default=MAX_QUEUE,
    show_default=True,
    metavar="N",
    help="Requests that may wait; one more gets 429.",
)
@click.option(
    "--memory-budget",
    type=Size(least=1),
    metavar="SIZE",
    help="Memory that the model and all conversations may take: gigabytes such as 12 or 1.5, or with a unit, "
    "500MB or 4GiB. Default: 90 % of what is free.",
)
@click.option(
    "--kv-budget",
    type=Size(least=1),
    metavar="SIZE",
    help="Of that, for the keys and values of all answers together with the prompt cache; answers that need "
    "more wait. Default: what the model leaves.",
)
@click.option(
    "--prompt-cache",
    type=Size(),
    metavar="SIZE",
    help="Of that, for what earlier prompts have in common with later ones; 0 turns it off. "
    "Default: 8 GB, or a quarter of what the model leaves.",
)
@ssd_options
@pool_options
@click.option(
    "--workspace",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    metavar="DIR",
    help="A folder that the agent's tools may look at and, when you allow it, change, beside "
    "FIRESIDE_HOME/workspace. May be given several times.",
)
@click.option(
    "--max-steps",
    type=click.IntRange(min=1),
    default=MAX_STEPS,
    show_default=True,
    metavar="N",
    help="Answers that the agent may make to one prompt, each after its tools have run.",
)
@click.option(
    "--log-prompts",
    is_flag=True,
    help="Put the texts of prompts and answers into the request log, FIRESIDE_HOME/logs/requests.jsonl.",
)
@mlx_lm_options
def serve(
    no_open: bool,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    api_key: tuple[str, ...],
    api_key_file: tuple[Path, ...],
    **options: Any,
) -> None:
    """Start Fireside and open its page. This is what `fireside` alone does."""
    understood = understand(options)
    aliases = aliases_of(understood.options.pop("model_aliases"))
    config = ServeConfig(
        home=Home.from_environment(),
        open_browser=not no_open,
        allow_hosts=allow_host,
        allow_origins=_origins((*allow_origin, *understood.origins)),
        api_keys=_api_keys(api_key, api_key_file),
        lane_debug=os.environ.get("FIRESIDE_LANE_DEBUG") == "1",
        agent_debug=os.environ.get("FIRESIDE_PI_DEBUG") == "1",
        model_aliases=aliases,
        **understood.options,
    )
    if (config.tls_cert is None) != (config.tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together.")
    if config.tls_cert is not None and config.unix_socket is not None:
        raise click.UsageError("--tls-cert is for TCP; a Unix socket needs no https.")

    from fireside.api.upstream import UpstreamError
    from fireside.http.listening import CannotListen, Listener
    from fireside.http.private_files import UnsafeFile
    from fireside.http.tls import BadCertificate
    from fireside.instance import AlreadyRunning
    from fireside.serve import open_browser, run
    from fireside_agent.errors import AgentError

    wants_browser = config.open_browser and not config.api_only and sys.stdout.isatty()

    def announce(listener: Listener) -> None:
        click.echo(f"Fireside {__version__} at {listener.shown}  (Ctrl-C stops it)")
        if sizes := _sizes_as_understood(config):
            click.echo(sizes)
        for note in understood.notes:
            click.echo(f"  {note}")
        if listener.link:
            click.echo(
                f"  Open the page with {listener.link}\n  (works once, for ten minutes; "
                "`fireside login` prints another)"
            )
        if wants_browser and listener.url:
            open_browser(listener.link or f"{listener.url}/#/chat")

    try:
        run(config, announce)
    except AlreadyRunning as error:
        if wants_browser and error.holder.address and error.holder.address.startswith("http"):
            open_browser(_page_of(error.holder.address, config.home))
        raise click.ClickException(str(error)) from error
    except (CannotListen, BadCertificate, UnsafeFile, UpstreamError, AgentError) as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.option(
    "--url",
    metavar="URL",
    help="The address to begin the link with, such as that of a proxy. Default: where Fireside listens.",
)
def login(url: str | None) -> None:
    """Print a link that opens the page of the running Fireside in a browser, once and within ten minutes."""
    from fireside.http.login import login_link
    from fireside.http.private_files import UnsafeFile
    from fireside.instance import running

    home = Home.from_environment()
    holder = running(home.lock)
    if holder is None:
        raise click.ClickException(f"No Fireside runs in {home.root}; start it with: fireside serve")
    if not home.login_secret.exists():
        where = f": open {holder.address}" if holder.address else ""
        raise click.ClickException(f"The Fireside in {home.root} needs no login{where}")
    base = url or holder.address
    if base is None or not base.startswith("http"):
        raise click.ClickException("Fireside has no address that a browser can open; say one with --url.")
    try:
        click.echo(login_link(base, home.login_secret))
    except UnsafeFile as error:
        raise click.ClickException(str(error)) from error


def _page_of(address: str, home: Home) -> str:
    """What opens the page of the Fireside that runs at an address."""
    from fireside.http.login import login_link
    from fireside.http.private_files import UnsafeFile

    try:
        return login_link(address, home.login_secret)
    except UnsafeFile:
        return f"{address}/#/chat"


def _api_keys(values: tuple[str, ...], files: tuple[Path, ...]) -> tuple[str, ...]:
    from fireside.http.key_flags import read_key_flags
    from fireside.http.private_files import UnsafeFile

    # Taken out of the environment, so that no program that Fireside starts finds it there.
    given = os.environ.pop("FIRESIDE_API_KEY", "")
    try:
        return read_key_flags((*values, given) if given else values, files)
    except (UnsafeFile, ValueError) as error:
        raise click.UsageError(str(error)) from error


def _origins(values: tuple[str, ...]) -> tuple[str, ...]:
    from fireside.http.cors import parse_origin

    try:
        return tuple(parse_origin(value) for value in values)
    except ValueError as error:
        raise click.UsageError(f"--allow-origin: {error}") from error


def _sizes_as_understood(config: ServeConfig) -> str:
    """The sizes that were given, in gigabytes and bytes; empty if none was."""
    from fireside.catalog.fit import gigabytes

    given = {
        "memory budget": config.memory_budget,
        "KV budget": config.kv_budget,
        "prompt cache": config.prompt_cache,
    }
    words = [
        f"{name} {gigabytes(size)} ({size:,} bytes)" if size else f"{name} off"
        for name, size in given.items()
        if size is not None
    ]
    return f"  {', '.join(words)}" if words else ""


main.add_command(connect)
main.add_command(memory)
main.add_command(models)


if __name__ == "__main__":
    main()
