"""Whether a rule's value speaks for a call: globs of paths, hosts, commands."""

import fnmatch
import ipaddress
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

from fireside_agent.approvals.commands import check_prefix, covers
from fireside_agent.approvals.programs import NotSimpleError
from fireside_agent.approvals.rules import Kind, RuleRefusedError, Value
from fireside_agent.tools.tool import Subject

Fold = Callable[[str], str]
"""Makes names equal that the file system takes for the same file."""

WILDCARDS = frozenset("*?[")
MAX_PATTERN_CHARACTERS = 4096
HOST = re.compile(r"(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")


def matches(kind: Kind, value: Value, subject: Subject, fold: Fold = str) -> bool:
    """Whether a rule of this kind and value allows a call with this subject. The tool is not looked at."""
    match kind, value:
        case "tool", _:
            return True
        case "command", str(command):
            return command != "" and subject.command == command
        case "command_prefix", tuple(words):
            return covers(words, subject.command)
        case "path", str(pattern):
            return path_matches(pattern, subject.path, fold)
        case "host", str(pattern):
            return host_matches(pattern, subject.host)
        case _:
            return False


def path_matches(pattern: str, path: str, fold: Fold = str) -> bool:
    """Whether the absolute, resolved `path` is one of those that the glob `pattern` names.

    `*`, `?` and `[…]` stay inside one name, `**` is any number of folders. As in a shell, a name that begins
    with a dot has to be written out: `/w/**` speaks neither for `/w/.git/hooks/pre-commit` nor for `/w/.env`.
    """
    wanted, names = fold(pattern).split("/"), fold(path).split("/")
    if names[0] or len(names) < 2 or {"", ".", ".."} & set(names[1:]):
        return False
    if wanted[-1] == "**":
        wanted.append("*")  # what is in the folder, not a file in the folder's place
    # The positions in `wanted` that can be reached with the names so far: no backtracking, however many `**`.
    positions = _skip_stars(wanted, {0})
    for name in names:
        after = {at for at in positions if wanted[at : at + 1] == ["**"] and not name.startswith(".")}
        after |= {at + 1 for at in positions if at < len(wanted) and _name_matches(wanted[at], name)}
        positions = _skip_stars(wanted, after)
    return len(wanted) in positions


def host_matches(pattern: str, host: str) -> bool:
    """Whether `host` is the one named, or for `*.example.org` any below it (not `example.org` itself)."""
    host = _plain_host(host)
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) >= len(pattern)
    return host != "" and host == pattern


def checked_value(kind: Kind, value: Value) -> Value:
    """`value` as a rule of this kind stores it.

    Raises:
        RuleRefusedError: it is of the wrong form, or speaks for too much.
    """
    match kind, value:
        case "tool", "":
            return value
        case "command", str(command) if command.strip():
            return command
        case "command_prefix", tuple(words) if words:
            return _checked_prefix(words)
        case "path", str(pattern):
            return _checked_pattern(pattern)
        case "host", str(pattern):
            return _checked_host(pattern)
        case _:
            raise RuleRefusedError(
                f"A rule of kind {kind} cannot have the value {value!r}; {_EXPECTED[kind]}."
            )


_EXPECTED: dict[Kind, str] = {
    "tool": "leave it empty",
    "command": "give the whole command as text",
    "command_prefix": "give the words that the command begins with as a list",
    "path": "give an absolute path, wildcards allowed",
    "host": "give a host name",
}


def folding(folder: Path) -> Fold:
    """How names compare on the file system of `folder`. Looks at the disk, so run it in a thread.

    Where case is ignored, names are compared composed (NFC) and in lower case.
    """
    for existing in (folder, *folder.parents):
        other = existing.with_name(existing.name.swapcase())
        if other.name != existing.name and existing.exists():
            return ignore_case if other.exists() and existing.samefile(other) else str
    return str


def ignore_case(name: str) -> str:
    """`name` as a file system sees it that ignores case and how accents are composed."""
    return unicodedata.normalize("NFC", name).lower()


def _name_matches(pattern: str, name: str) -> bool:
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return pattern != "**" and fnmatch.fnmatchcase(name, pattern)


def _skip_stars(wanted: list[str], positions: set[int]) -> set[int]:
    reached = set(positions)
    for at in range(len(wanted)):
        if at in reached and wanted[at] == "**":
            reached.add(at + 1)
    return reached


def _checked_prefix(words: tuple[str, ...]) -> Value:
    try:
        check_prefix(words)
    except NotSimpleError as error:
        raise RuleRefusedError(
            f"No rule can begin with {' '.join(words)!r}: {error}. Allow the exact command instead."
        ) from error
    return words


def _checked_pattern(pattern: str) -> str:
    names = pattern.split("/")
    if (
        names[0]
        or len(names) < 2
        or {"", ".", ".."} & set(names[1:])
        or len(pattern) > MAX_PATTERN_CHARACTERS
    ):
        raise RuleRefusedError(
            f"{pattern[:200]!r} is not a path pattern: it has to be absolute, without empty names and `..`."
        )
    if any("**" in name and name != "**" for name in names):
        raise RuleRefusedError(f"{pattern!r}: `**` has to be a whole name, as in `/notes/**/*.md`.")
    fixed = next((at for at, name in enumerate(names) if WILDCARDS & set(name)), None)
    if fixed is not None and Path.home().is_relative_to("/".join(names[:fixed]) or "/"):
        raise RuleRefusedError(f"{pattern!r} speaks for a whole home or disk; name a folder inside it.")
    return pattern


def _checked_host(pattern: str) -> str:
    host = _plain_host(pattern)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        wildcard = host.startswith("*.")
        if not HOST.fullmatch(host) or (wildcard and (host.count(".") < 2 or host[-1].isdigit())):
            raise RuleRefusedError(
                f"{pattern!r} is not a host: expected `example.org`, or `*.example.org` for all below it."
            ) from None
    return host


def _plain_host(host: str) -> str:
    """In lower case, without the root's dot, in the form that DNS is asked for; empty where there is none."""
    try:
        plain = host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return ""
    return plain.removesuffix(".")
