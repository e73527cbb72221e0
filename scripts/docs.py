"""Write the command-line reference in `docs/cli.md` from what the code declares.

scripts/docs.py             write it
scripts/docs.py --check     write nothing; exit status 1 when the file is stale
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from fireside.cli import main as fireside

FILE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
BEGIN = "<!-- From here on written by `make docs` from the code. -->"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the command-line reference in docs/cli.md.")
    parser.add_argument("--check", action="store_true", help="only say whether the file is fresh")
    arguments = parser.parse_args(argv)
    found = FILE.read_text()
    fresh = found.split(BEGIN)[0] + BEGIN + "\n" + "".join(reference(fireside))
    if found == fresh:
        return 0
    if arguments.check:
        print("docs/cli.md differs from what the code declares. Run `make docs`.", file=sys.stderr)
        return 1
    FILE.write_text(fresh)
    return 0


def reference(group: click.Command) -> Iterator[str]:
    """Markdown for the program and each of its commands."""
    yield from sections(click.Context(group, info_name="fireside"))


def sections(context: click.Context) -> Iterator[str]:
    """A command, and those in it."""
    yield from section(context)
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                yield from sections(click.Context(command, info_name=name, parent=context))


def section(context: click.Context) -> Iterator[str]:
    command = context.command
    yield f"\n## `{context.command_path}`\n\n{' '.join((command.help or '').split())}\n"
    options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
    yield "\n| option | default | meaning |\n| --- | --- | --- |\n"
    yield from (row(option, context) for option in options if not option.hidden)


def row(option: click.Option, context: click.Context) -> str:
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    spelling = f"`{option.opts[0]}{value}`".replace("|", r"\|")
    default = f"`{option.default}`" if option.show_default else ""
    return f"| {spelling} | {default} | {option.help or ''} |\n"


if __name__ == "__main__":
    raise SystemExit(main())
