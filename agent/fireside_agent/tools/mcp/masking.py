"""Keeps the secrets of `mcp.json` out of what the page gets, and puts them back into what it sends."""

from urllib.parse import SplitResult, urlsplit

import msgspec

from fireside_agent.tools.mcp.config import Entry, EntryError

MASK = "••••••••"
"""Stands for a value of `env` or `headers`, a password or a query in `url`."""


def mask(entry: Entry) -> Entry:
    """`entry` as it may be shown."""
    return msgspec.structs.replace(
        entry,
        env=dict.fromkeys(entry.env, MASK),
        headers=dict.fromkeys(entry.headers, MASK),
        url=_mask_url(entry.url),
    )


def unmask(entry: Entry, stored: Entry | None) -> Entry:
    """`entry` with the stored values where it has masks.

    Raises:
        EntryError: there is nothing stored for a mask, or it would go to another server than before.
    """
    old = stored or Entry()
    url = old.url if entry.url is not None and entry.url == _mask_url(old.url) else entry.url
    if url is not None and MASK in url:
        raise EntryError("`url` still holds a masked part; type all of it.")
    if MASK in entry.headers.values() and _origin(url) != _origin(old.url):
        raise EntryError("The URL names another server now; type the values of `headers` again.")
    return msgspec.structs.replace(
        entry,
        url=url,
        env=_unmask_values("env", entry.env, old.env),
        headers=_unmask_values("headers", entry.headers, old.headers),
    )


def _unmask_values(field: str, values: dict[str, str], stored: dict[str, str]) -> dict[str, str]:
    missing = [key for key, value in values.items() if value == MASK and key not in stored]
    if missing:
        raise EntryError(f"`{field}`: there is no stored value for {missing[0]!r}; type it.")
    return {key: stored[key] if value == MASK else value for key, value in values.items()}


def _mask_url(url: str | None) -> str | None:
    if url is None:
        return None
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}{colon}{MASK if colon else ''}{at}{host}"
    return parts._replace(netloc=netloc, query=MASK if parts.query else "").geturl()


def _origin(url: str | None) -> tuple[str, str | None, int | None]:
    parts: SplitResult = urlsplit(url or "")
    return parts.scheme, parts.hostname, parts.port
