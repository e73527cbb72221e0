"""The tools that there are, built-in ones and those of MCP servers together."""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence

from fireside_agent.tools.tool import Spec, Tool

Source = Callable[[], Iterable[Tool]]
"""Gives the tools that something else offers right now; asked anew each time, so it has to be quick."""

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""OpenAI's rule for the names of functions."""

NEAR_MISSES = 3
SIMILAR = 0.6


class Registry:
    """Built-in tools, which never change, and the tools of sources, which come and go.

    The order is always the same, built-in tools first: a prompt that lists tools can be cached. Of tools
    with one name the first counts, so a source cannot take the place of a built-in tool; a source's tool
    whose name breaks the rule for names does not exist.
    """

    def __init__(self, tools: Iterable[Tool], sources: Iterable[Source] = ()) -> None:
        """Raises ValueError when two built-in tools have one name, or one that is not allowed."""
        self._built_in: dict[str, Tool] = {}
        self._sources = list(sources)
        for tool in tools:
            if not NAME.fullmatch(tool.name):
                raise ValueError(f"{tool.name!r} is no name for a tool; expected 1 to 64 of a-z A-Z 0-9 _ -")
            if tool.name in self._built_in:
                raise ValueError(f"two tools are named {tool.name!r}")
            self._built_in[tool.name] = tool

    def add_source(self, source: Source) -> None:
        """Offer what `source` gives, too, after all others."""
        self._sources.append(source)

    def tools(self) -> list[Tool]:
        """All tools as of now."""
        return list(self._all().values())

    def get(self, name: str) -> Tool | None:
        """The tool with exactly this name."""
        return self._built_in.get(name) or self._all().get(name)

    def near(self, name: str) -> list[str]:
        """The names that somebody who wrote `name` may have meant, best first, at most three.

        The part after a server's name counts as well: models leave the server out.
        """
        wanted = _bare(name)
        scored: list[tuple[float, str]] = []
        for known in self._all():
            score = max(_likeness(wanted, _bare(form)) for form in (known, known.rpartition("__")[2]))
            scored.append((score, known))
        near = [(score, known) for score, known in scored if score >= SIMILAR]
        near.sort(key=lambda pair: (-pair[0], pair[1]))
        return [known for _, known in near[:NEAR_MISSES]]

    def specs(self, names: Sequence[str] | None) -> list[Spec]:
        """What a model is told of the tools `names`, None for all of them.

        A name that no tool has is left out: its server may be down, and come back.
        """
        wanted = None if names is None else set(names)
        return [tool.spec for tool in self._all().values() if wanted is None or tool.name in wanted]

    def _all(self) -> dict[str, Tool]:
        tools = dict(self._built_in)
        for source in self._sources:
            for tool in source():
                if NAME.fullmatch(tool.name):
                    tools.setdefault(tool.name, tool)
        return tools


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())[:64]


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio() if one and other else 0.0
