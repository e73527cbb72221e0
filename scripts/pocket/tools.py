"""The tools that a conversation offers: the agent's own, the same under other names, and strangers."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pocket.strings import Strings
from pocket.words import ADJECTIVES, NOUNS, VERBS


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool. `type` is JSON Schema's."""

    name: str
    type: str = "string"
    required: bool = True


@dataclass(frozen=True)
class Tool:
    """A tool as the model sees it. `verb` is what it is for; None for a stranger."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    verb: str | None = None

    def schema(self) -> dict[str, Any]:
        """The tool in the form that chat requests carry."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {p.name: {"type": p.type} for p in self.parameters},
                    "required": [p.name for p in self.parameters if p.required],
                },
            },
        }


@dataclass(frozen=True)
class Call:
    """A tool call; `arguments` in the order in which the tool declares them."""

    name: str
    arguments: dict[str, Any]

    def markup(self) -> str:
        """The call as the model writes it."""
        body = json.dumps({"name": self.name, "arguments": self.arguments}, ensure_ascii=False)
        return f"<tool_call>\n{body}\n</tool_call>"


@dataclass(frozen=True)
class Verb:
    """What a tool is for; see tools.toml."""

    descriptions: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    names: tuple[str, ...]
    unseen_names: tuple[str, ...]

    @classmethod
    def parse(cls, entry: dict[str, Any]) -> Verb:
        parameters: list[Parameter] = []
        for item in entry["parameters"].split():
            name, _, kind = item.partition(":")
            parameters.append(Parameter(name.rstrip("?"), kind or "string", not name.endswith("?")))
        return cls(
            tuple(entry["descriptions"]),
            tuple(parameters),
            tuple(entry["names"].split()),
            tuple(entry["unseen_names"].split()),
        )


@cache
def verbs() -> dict[str, Verb]:
    """The agent's tools and two more, by the names that the agent gives them."""
    entries = tomllib.loads((Path(__file__).parent / "tools.toml").read_text("utf-8"))
    return {name: Verb.parse(entry) for name, entry in entries.items()}


Names = Literal["own", "mixed", "unseen"]
AGENT_TOOLS = [
    "bash",
    "read",
    "write",
    "edit",
    "ls",
    "find",
    "grep",
    "web_search",
    "web_fetch",
    "memory_search",
    "memory_read",
    "memory_propose",
]
_OTHER_ARGUMENTS = {
    "command": "cmd command_line script",
    "path": "file file_path filename",
    "content": "text contents data",
    "old_text": "old old_str search",
    "new_text": "new new_str replacement",
    "pattern": "regex glob needle",
    "query": "q search_query topic",
    "url": "link address uri",
    "article": "name title page",
    "text": "content note body",
    "city": "location place",
    "expression": "expr formula",
    "offset": "start first_line",
    "limit": "count max_lines",
}


@dataclass(frozen=True)
class Toolset:
    """The tools of one conversation, in the order in which they are offered."""

    tools: tuple[Tool, ...]

    def for_verb(self, verb: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.verb == verb), None)

    @property
    def verbs(self) -> list[str]:
        return [tool.verb for tool in self.tools if tool.verb is not None]

    def schemas(self) -> list[dict[str, Any]]:
        return [tool.schema() for tool in self.tools]

    def call(self, verb: str, values: dict[str, Any]) -> Call | None:
        """A call of the tool for `verb`, or None without one; `values` by the agent's own argument names."""
        tool = self.for_verb(verb)
        if tool is None:
            return None
        standard = verbs()[verb].parameters
        names = {mine.name: theirs.name for mine, theirs in zip(standard, tool.parameters, strict=True)}
        return Call(tool.name, {names[p.name]: values[p.name] for p in standard if p.name in values})


def own_tool(strings: Strings, verb: str) -> Tool:
    """One of the agent's tools (or a weather or calculator tool) under its own name."""
    kind = verbs()[verb]
    name = verb if verb in AGENT_TOOLS else strings.pick(kind.names)
    return Tool(name, strings.pick(kind.descriptions) + _more(strings), kind.parameters, verb)


def renamed_tool(strings: Strings, verb: str, *, unseen: bool) -> Tool:
    """A tool for a known verb under another name, with other argument names half of the time."""
    kind = verbs()[verb]
    if unseen:
        name = strings.pick(kind.unseen_names)
    elif strings.chance(0.25):
        name = strings.pick(kind.names)
    else:
        name = strings.pick(("{}_{}", "{}_{}", "{}", "{}-{}", "{}.{}")).format(_part(strings), _part(strings))
    parameters = kind.parameters
    if strings.chance(0.5):
        parameters = tuple(
            Parameter(strings.pick(_OTHER_ARGUMENTS[p.name].split()), p.type, p.required) for p in parameters
        )
    return Tool(name, strings.pick(kind.descriptions) + _more(strings), parameters, verb)


def _part(strings: Strings) -> str:
    """Half of a tool's name."""
    return strings.pick((VERBS, NOUNS)[strings.between(0, 1)]) if strings.chance(0.5) else strings.word()


def stranger(strings: Strings) -> Tool:
    """A tool of no known verb, such as other people's agents bring along."""
    name = strings.pick(("{}_{}", "{}_{}", "{}", "{}.{}", "{}-{}")).format(strings.word(), strings.word())
    description = strings.pick(
        (
            f"{strings.pick(VERBS).capitalize()} a {strings.pick(ADJECTIVES)} {strings.pick(NOUNS)}.",
            f"Returns the {strings.pick(NOUNS)} of a {strings.pick(NOUNS)}.",
            strings.sentence(),
            "",
        )
    )
    parameters = tuple(
        Parameter(
            word,
            strings.pick(("string", "string", "string", "integer", "number", "boolean")),
            strings.chance(0.8),
        )
        for word in strings.distinct(strings.word, strings.between(0, 3))
    )
    return Tool(name, description, parameters)


def _more(strings: Strings) -> str:
    """Half of the descriptions go on, as real ones do."""
    return " " + strings.paragraph(strings.between(1, 3)) if strings.chance(0.15) else ""


def toolset(strings: Strings, *, everything: bool = False, names: Names = "mixed") -> Toolset:
    """Some tools, all or none, in any order.

    Args:
        everything: offer all of the agent's tools.
        names: the agent's own, some others among them, or only ones that training never shows.
    """
    if not everything and names != "unseen" and strings.chance(0.15):
        return Toolset(())
    wanted = list(AGENT_TOOLS)
    strings.rng.shuffle(wanted)
    if not everything and strings.chance(0.75):
        wanted = wanted[: strings.between(1, len(wanted))]
    wanted += [verb for verb in ("weather", "calculate") if strings.chance(0.15)]
    rename = (
        1.0
        if names == "unseen"
        else 0.6
        if names == "mixed" and not everything and strings.chance(0.4)
        else 0.0
    )
    tools = [
        renamed_tool(strings, verb, unseen=names == "unseen")
        if strings.chance(rename)
        else own_tool(strings, verb)
        for verb in wanted
    ]
    tools += [stranger(strings) for _ in range(strings.between(1, 3) if strings.chance(0.3) else 0)]
    strings.rng.shuffle(tools)
    unique = {tool.name: tool for tool in tools}
    return Toolset(tuple(unique.values()))
