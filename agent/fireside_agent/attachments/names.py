"""File names that came from outside, made harmless."""

import re
import unicodedata
from urllib.parse import quote

MAX_NAME_BYTES = 180
"""File systems take 255; room is left for a number and a suffix."""

_UNSAFE = re.compile(r'[<>:"/\\|?*]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices, whatever their suffix."""


def clean_name(name: str, fallback: str) -> str:
    """The last part of a path, without invisible or reordering characters; `fallback` if nothing is left."""
    return _tidy(re.split(r"[/\\]", name)[-1]) or fallback


def file_name(title: str, fallback: str) -> str:
    """A title as a file name, without suffix, that every usual file system takes."""
    name = _tidy(_UNSAFE.sub("-", title))
    if _DEVICES.fullmatch(name):
        name = f"_{name}"
    return name or fallback


def disposition(kind: str, name: str) -> str:
    """A `Content-Disposition` with any file name (RFC 6266): plain ASCII, and UTF-8 for those who read it."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r'[^ -~]|["\\%]', "_", plain) or "file"
    if plain == name:
        return f'{kind}; filename="{plain}"'
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _tidy(name: str) -> str:
    """One line without control and format characters, short enough, nothing hidden about its ends."""
    # Category C: control, format (right-to-left overrides too), surrogates, unassigned.
    spaced = " ".join(unicodedata.normalize("NFC", name).split())
    visible = "".join(c for c in spaced if c == "\u200d" or not unicodedata.category(c).startswith("C"))
    cut = visible.strip(" .\u200d").encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    return cut.rstrip(" .\u200d")
