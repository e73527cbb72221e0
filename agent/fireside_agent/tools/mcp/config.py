"""`mcp.json`: which MCP servers there are, in the form that other programs use as well."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import msgspec

from fireside_agent.errors import AgentError
from fireside_agent.files import write_whole

Transport = Literal["stdio", "http"]

SECTION = "mcpServers"


class ConfigError(AgentError):
    """`mcp.json` cannot be read, understood or written; it is left as it is."""


class EntryError(AgentError):
    """One server is configured in a way that cannot work."""


class Entry(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """How one server is reached: a program that is started, or the URL of one that runs.

    `~` at the start of `command` and `cwd` is the home folder; a relative `cwd` counts from the folder
    of `mcp.json`, which is also the default.
    """

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    disabled: bool = False

    @property
    def transport(self) -> Transport:
        return "http" if self.url is not None else "stdio"

    def check(self) -> None:
        """Raises EntryError when no server can be reached with this."""
        if (self.command is None) == (self.url is None):
            raise EntryError("Give either `command` (a program to start) or `url` (of a running server).")
        if self.url is not None:
            _check_url(self.url)
        elif not (self.command or "").strip():
            raise EntryError("`command` is empty; give the program to start.")
        for key, value in self.env.items():
            if not key or "=" in key or "\0" in key + value:
                raise EntryError(f"`env`: {key!r} cannot be set as a variable.")
        for key, value in self.headers.items():
            if not key.isascii() or not value.isascii() or not (key + value).isprintable() or not key.strip():
                raise EntryError(f"`headers`: {key!r} has to be one line of ASCII text.")
        if "\0" in "".join((self.command or "", self.cwd or "", *self.args)):
            raise EntryError("`command`, `args` and `cwd` cannot hold a NUL character.")


KNOWN_FIELDS = frozenset(Entry.__struct_fields__)


@dataclass(frozen=True, slots=True)
class Config:
    """What is in the file. `faults` names the servers whose entry cannot be used, and why."""

    entries: dict[str, Entry]
    faults: dict[str, str]


class ConfigFile:
    """The file at `path`. Blocking: use it in a thread. What it does not know in there, it keeps."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Config:
        """All servers; none where there is no file. Raises ConfigError."""
        config = Config({}, {})
        for name, raw in self._servers(self._load()).items():
            try:
                entry = msgspec.convert(raw, Entry)
                entry.check()
            except (msgspec.ValidationError, EntryError) as error:
                config.faults[name] = str(error)
            else:
                config.entries[name] = entry
        return config

    def put(self, name: str, entry: Entry) -> None:
        """Add or replace a server. Raises ConfigError."""
        content = self._load()
        servers = self._servers(content)
        stored = servers.get(name)
        kept = cast(dict[str, Any], stored) if isinstance(stored, dict) else {}
        unknown = {key: value for key, value in kept.items() if key not in KNOWN_FIELDS}
        self._store(content, {**servers, name: {**msgspec.to_builtins(entry), **unknown}})

    def remove(self, name: str) -> bool:
        """Take a server out; False where there was none. Raises ConfigError."""
        content = self._load()
        servers = self._servers(content)
        if name not in servers:
            return False
        self._store(content, {key: value for key, value in servers.items() if key != name})
        return True

    def _load(self) -> dict[str, Any]:
        try:
            content: object = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{self.path} is not JSON: {error}. Correct it, or move it away.") from error
        if not isinstance(content, dict):
            raise ConfigError(f"{self.path} has to hold a JSON object with `{SECTION}` in it.")
        return cast(dict[str, Any], content)

    def _servers(self, content: dict[str, Any]) -> dict[str, Any]:
        servers: object = content.get(SECTION, {})
        if not isinstance(servers, dict):
            raise ConfigError(f"{self.path}: `{SECTION}` has to be an object of servers by name.")
        return cast(dict[str, Any], servers)

    def _store(self, content: dict[str, Any], servers: dict[str, Any]) -> None:
        text = json.dumps({**content, SECTION: servers}, indent=2, ensure_ascii=False) + "\n"
        # The file itself where the path is a symbolic link, as for people who keep their settings elsewhere.
        path = self.path.resolve()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text.encode(errors="surrogatepass"))  # for the owner alone: it may hold keys
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}.") from error


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not url.isprintable() or " " in url:
        raise EntryError(f"{url!r} is no URL of a server; expected http://… or https://…")
