"""What the browser should know early, so that the page opens with few requests and without pauses.

The page's source names one stylesheet a component and imports one module a thing. Sent like that, a browser
would fetch forty stylesheets, and find a module only after it has read the one that imports it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

STYLES = "page.css"
"""Below `/assets/`: all stylesheets of the page in the order of its links. No file has this name."""

_ASSETS = "/assets/"
_STYLE_LINK = re.compile(rf'[ \t]*<link rel="stylesheet" href="{_ASSETS}(?P<name>css/[^"]+)" />\n')
_SCRIPT = re.compile(rf'(?P<indent>[ \t]*)<script type="module" src="{_ASSETS}(?P<name>[^"]+)"></script>\n')
_IMPORT = re.compile(r'(?:^|;)(?:import|export)\b[^;"()]*"(?P<path>\.{1,2}/[^"]+)"', re.MULTILINE)
"""A static import, in compact libraries behind another one; `import()` comes only when it is wanted."""


def styles(folder: Path, page: str) -> bytes:
    """The stylesheets that the page links to, as one. Raises OSError."""
    names = [found["name"] for found in _STYLE_LINK.finditer(page)]
    return b"\n".join((folder / name).read_bytes() for name in names)


def with_hints(folder: Path, page: str) -> str:
    """The page with one stylesheet, and with the names of all modules that it starts with. Raises OSError."""
    first = _STYLE_LINK.search(page)
    if first is not None:
        link = first[0].replace(first["name"], STYLES)
        page = page[: first.start()] + link + _STYLE_LINK.sub("", page[first.end() :])
    return _SCRIPT.sub(lambda script: "".join(_hints(folder, script)) + script[0], page)


def _hints(folder: Path, script: re.Match[str]) -> Iterator[str]:
    for name in modules(folder, script["name"])[1:]:
        yield f'{script["indent"]}<link rel="modulepreload" href="{_ASSETS}{name}" />\n'


def modules(folder: Path, start: str) -> list[str]:
    """`start` and every module that it imports, directly or not, nearest first. Raises OSError."""
    found = [start]
    for name in found:
        for path in _IMPORT.findall((folder / name).read_text()):
            imported = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            if imported not in found:
                found.append(imported)
    return found
