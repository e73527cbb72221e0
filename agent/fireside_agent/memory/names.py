"""Names of articles: paths below `articles/`, without `.md`, that cannot lead anywhere else."""

import difflib
import re
import unicodedata
from collections.abc import Iterable

from fireside_agent.memory.errors import InvalidName
from fireside_agent.memory.folding import fold

SUFFIX = ".md"
MAX_NAME_BYTES = 800
MAX_PART_BYTES = 200
NEAR_MISSES = 3

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")


def check_name(name: str) -> str:
    """The name in its one form: NFC, without `.md`.

    Raises:
        InvalidName: it is empty, too long, hidden, absolute, leads upwards, or holds a control character
            or a backslash.
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise InvalidName("This name is not valid Unicode.") from error
    name = unicodedata.normalize("NFC", name).removesuffix(SUFFIX)
    if name.endswith(SUFFIX):
        raise InvalidName(f"A name cannot end in `{SUFFIX}`, which the file's name has anyway.")
    if not name.strip() or size > MAX_NAME_BYTES:
        raise InvalidName(f"A name has 1 to {MAX_NAME_BYTES} bytes, such as `Cooking/Bread`.")
    if _CONTROL.search(name):
        raise InvalidName("A name cannot hold a backslash or a control character.")
    for part in name.split("/"):
        if not part.strip() or part.startswith("."):
            raise InvalidName(
                "A name is a path inside the memory, such as `Cooking/Bread`: no leading slash, no `..`, "
                "no empty or hidden folder."
            )
        if len(part.encode()) > MAX_PART_BYTES:
            raise InvalidName(f"A part of this name is too long: at most {MAX_PART_BYTES} bytes.")
    return name


class Names:
    """Finds the article that a person, a model or a link means."""

    def __init__(self, names: Iterable[str], aliases: Iterable[tuple[str, str]] = ()) -> None:
        """`aliases`: pairs of another name or title and the article's name."""
        self._by_name = {name: name for name in names}
        self._by_fold: dict[str, str] = {}
        self._by_last: dict[str, str] = {}
        self._by_alias: dict[str, str] = {}
        self._found: dict[str, str | None] = {}
        # The shortest path wins, as in Obsidian.
        for name in sorted(self._by_name, key=lambda name: (name.count("/"), name)):
            self._by_fold.setdefault(name.casefold(), name)
            self._by_last.setdefault(name.rpartition("/")[2].casefold(), name)
        for alias, name in aliases:
            self._by_alias.setdefault(fold(alias), name)

    def same_file(self, name: str) -> str | None:
        """The article with this name, or with one that a case-insensitive disk takes for it."""
        return self._by_name.get(name) or self._by_fold.get(name.casefold())

    def find(self, target: str) -> str | None:
        """The article of a link's target: by path, else by file name, else by alias; case is ignored."""
        if target not in self._found:
            self._found[target] = self._find(target)
        return self._found[target]

    def _find(self, target: str) -> str | None:
        target = unicodedata.normalize("NFC", target).strip()
        key = target.removesuffix(SUFFIX).removeprefix("articles/").casefold()
        return (
            self._by_name.get(target)
            or self._by_fold.get(key)
            or self._by_last.get(key)
            or self._by_alias.get(fold(target))
        )

    def near(self, wanted: str, count: int = NEAR_MISSES) -> list[str]:
        """The names most like `wanted`, best first."""
        known: dict[str, str] = {}
        for name in self._by_name:
            known.setdefault(fold(name), name)
            known.setdefault(fold(name.rpartition("/")[2]), name)
        known = self._by_alias | known
        key = fold(wanted[:MAX_NAME_BYTES].strip())
        within = [each for each in known if key and (key in each or (len(each) > 3 and each in key))]
        close = difflib.get_close_matches(key, known, n=4 * count, cutoff=0.6)
        found = dict.fromkeys(known[each] for each in [*close, *sorted(within, key=len)])
        return list(found)[:count]
