"""From some words of a name to the model that is meant. Names alone: no file is looked at."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from fireside.catalog.scan import ModelFacts

AUTO = "auto"
"""In place of a name: the largest model that leaves room for other programs."""

COEXIST_SHARE = 0.6
"""Of the memory, that a model may take which nobody asked for by name."""

_MAX_NEAR_MISSES = 5
_BETWEEN = re.compile(r"[-_/.\s]+")
_MAX_CANDIDATES = 10
_LONGEST = 200
"""Letters of a name that are said again."""


class UnknownModelError(LookupError):
    """No model has such a name; the message has those that come near.

    Attributes:
        near: names.
    """

    def __init__(self, query: str, near: Sequence[str]) -> None:
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"There is no model {query[:_LONGEST]!r} on this machine.{hint}")
        self.near = list(near)


class AmbiguousModelError(LookupError):
    """Several models have such a name; the message lists them.

    Attributes:
        candidates: names.
    """

    def __init__(self, query: str, candidates: Sequence[str]) -> None:
        shown = ", ".join(candidates[:_MAX_CANDIDATES])
        more = len(candidates) - _MAX_CANDIDATES
        tail = f" and {more} more" if more > 0 else ""
        super().__init__(
            f"{query[:_LONGEST]!r} is in the names of {len(candidates)} models: {shown}{tail}."
            " Give more of the name."
        )
        self.candidates = list(candidates)


def find_name(query: str, names: Iterable[str]) -> str:
    """The one name that is meant: that very name, or the only one that has all the words in it.

    Case does not matter, except between names that differ by nothing else. A name whose last part is the
    query comes before those that merely contain it, and of these one that has the words as parts of its own:
    `qwen3 4b` is not Qwen3-8B-4bit.

    Raises:
        AmbiguousModelError: several have them.
        UnknownModelError: none has.
    """
    known = list(dict.fromkeys(names))
    if query in known:
        return query
    wanted = query.lower().strip()
    same = [name for name in known if wanted and name.lower() == wanted]
    last = [name for name in known if wanted and _last_part(name) == wanted]
    having = matching(query, known)
    found = same or last or [name for name in having if _parts(query) <= _parts(name)] or having
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousModelError(query, found)
    raise UnknownModelError(query, near_misses(query, known))


def matching(query: str, names: Iterable[str]) -> list[str]:
    """The names that have every word of a query in them, in whatever case; none for a query of no words."""
    words = query.lower().split()
    return [name for name in names if words and all(word in name.lower() for word in words)]


def near_misses(query: str, names: Iterable[str]) -> list[str]:
    """Names that resemble a query, or whose last part does or contains the query's, nearest first."""
    by_key = {key: name for name in names for key in (name.lower(), _last_part(name))}
    wanted = _last_part(query)
    keys = get_close_matches(query.lower(), by_key, _MAX_NEAR_MISSES)
    keys += get_close_matches(wanted, by_key, _MAX_NEAR_MISSES)
    keys += [key for key in by_key if wanted and wanted in key]
    return list(dict.fromkeys(by_key[key] for key in keys))[:_MAX_NEAR_MISSES]


def usable_chat_models(models: Iterable[ModelFacts]) -> list[ModelFacts]:
    """Those that a request may name to chat with: complete, of a known type, and no embedders."""
    return [model for model in models if model.usable and model.kind == "chat"]


def auto_pick(models: Iterable[ModelFacts], memory_bytes: int) -> ModelFacts | None:
    """The largest chat model whose files take no more than `COEXIST_SHARE` of the memory; None if none does.

    One without a chat template is not picked: it only continues texts.
    """
    most = memory_bytes * COEXIST_SHARE
    fitting = [model for model in usable_chat_models(models) if model.template and model.size_bytes <= most]
    return max(
        fitting, key=lambda model: (model.parameters or 0, model.size_bytes, model.repo_id), default=None
    )


def _parts(name: str) -> set[str]:
    return {part for part in _BETWEEN.split(name.lower()) if part}


def _last_part(name: str) -> str:
    return name.lower().strip().rpartition("/")[2]
