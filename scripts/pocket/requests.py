"""A user's request for one tool, in many wordings, with the arguments that it means."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pocket.strings import Strings
from pocket.tools import Call, Tool
from pocket.wordings import wordings

SAME_WITH_ANOTHER = ("read", "write", "edit", "ls", "bash", "web_search", "web_fetch", "memory_search")
"""Verbs whose first argument can be exchanged in a next request."""


@dataclass(frozen=True)
class Wanted:
    """A request before it is known whether there is a tool for it.

    Attributes:
        values: by the agent's own argument names.
        subject: the path or text that a next request may call "it"; `subject_kind` says which.
        question: asked as a question, or with a text at its end, so nothing can be added to it.
    """

    verb: str
    text: str
    values: dict[str, Any]
    subject: str
    subject_kind: str
    question: bool = False


class Requester:
    """Draws requests. A plain one is an order that others can be appended to, its texts in quotes."""

    def __init__(self, strings: Strings) -> None:
        self._s = strings
        self._verbs: dict[str, Callable[[bool], Wanted]] = {
            "bash": self._bash,
            "read": self._read,
            "write": self._write,
            "edit": self._edit,
            "ls": self._ls,
            "find": self._find,
            "grep": self._grep,
            "web_search": self._web_search,
            "web_fetch": self._web_fetch,
            "memory_search": self._memory_search,
            "memory_read": self._memory_read,
            "memory_propose": self._memory_propose,
            "weather": self._weather,
            "calculate": self._calculate,
        }

    @property
    def verbs(self) -> list[str]:
        return list(self._verbs)

    def request(self, verb: str, *, plain: bool = False) -> Wanted:
        return self._verbs[verb](plain)

    def wording(self, name: str, *values: object) -> str:
        """One of the wordings of `name`, filled in."""
        return self._s.pick(wordings(name)).format(*values)

    def sentence(self, name: str) -> str:
        """One of the wordings of `name`, its named gaps filled with chance words."""
        return self._s.fill(self._s.pick(wordings(name)))

    def politely(self, wanted: Wanted) -> str:
        """The request's text, often with a please or the like."""
        if wanted.question or self._s.chance(0.6):
            return wanted.text
        text = self.wording("politely", lower_first(wanted.text))
        return text + ("?" if text.startswith(("Could", "Can")) and text[-1] in "`\"'" else "")

    def by_name(self, tool: Tool) -> tuple[str, Call]:
        """A request that names tool and arguments, and the call that it means."""
        values: dict[str, Any] = {}
        said: list[str] = []
        form = self._s.pick(wordings("argument"))
        for parameter in tool.parameters:
            if not parameter.required and self._s.chance(0.5):
                continue
            value = values[parameter.name] = self._value(parameter.type)
            shown = self.quoted(value, 1) if isinstance(value, str) else json.dumps(value)
            said.append(form.format(parameter.name, shown))
        with_values = f" with {and_(said)}" if said else ""
        return self.wording("call_by_name", tool.name, with_values), Call(tool.name, values)

    def quoted(self, text: str, certainly: float) -> str:
        """The text in backticks or quotes; in neither with a probability of 1 - `certainly`."""
        if not self._s.chance(certainly):
            return text
        marks = ["``", "``", "``"]
        if '"' not in text:
            marks += ['""', '""']
        if "'" not in text and self._s.chance(0.3):
            marks += ["''"]
        mark = self._s.pick(marks)
        return f"{mark[0]}{text}{mark[1]}"

    def path(self, path: str) -> str:
        """A path as people write it: mostly bare."""
        return self.quoted(path, 1 if " " in path else 0.25)

    def _value(self, kind: str) -> str | int | float | bool:
        s = self._s
        if kind == "integer":
            return s.between(0, 9999)
        if kind == "number":
            return s.between(0, 999) / 10
        if kind == "boolean":
            return s.chance(0.5)
        return s.phrase(1, 5)

    def _bash(self, plain: bool) -> Wanted:
        command = self._s.command()
        text = self.wording("bash", self.quoted(command, 1 if plain else 0.85))
        return Wanted("bash", text, {"command": command}, command, "text")

    def _read(self, plain: bool) -> Wanted:
        s = self._s
        path = s.path()
        said = self.path(path)
        if not plain and s.chance(0.2):
            return Wanted("read", self.wording("read_question", said), {"path": path}, path, "path", True)
        if plain or s.chance(0.7):
            return Wanted("read", self.wording("read", said), {"path": path}, path, "path")
        first, count = s.between(1, 2000), s.between(1, 500)
        text, part = s.rng.choice(
            [
                (self.wording("read_from", said, first), {"offset": first}),
                (self.wording("read_first", said, count), {"limit": count}),
                (self.wording("read_part", said, first, count), {"offset": first, "limit": count}),
            ]
        )
        return Wanted("read", text, {"path": path, **part}, path, "path")

    def _write(self, plain: bool) -> Wanted:
        s = self._s
        path = s.path()
        block = not plain and s.chance(0.15)
        content = s.lines(s.between(1, 4)) if block else s.phrase(1, 9) if s.chance(0.75) else s.line()
        said = content if block else self.quoted(content, 1)
        text = self.wording("write_block" if block else "write", said, self.path(path))
        return Wanted("write", text, {"path": path, "content": content}, path, "path", block)

    def _edit(self, plain: bool) -> Wanted:
        s = self._s
        path = s.path()
        old, new = (s.phrase(1, 5) if s.chance(0.75) else s.line() for _ in range(2))
        text = self.wording("edit", self.quoted(old, 1), self.quoted(new, 1), self.path(path))
        return Wanted("edit", text, {"path": path, "old_text": old, "new_text": new}, path, "path")

    def _ls(self, plain: bool) -> Wanted:
        s = self._s
        if s.chance(0.1):
            return Wanted("ls", self.wording("ls_here"), {"path": "."}, ".", "folder")
        path = s.folder()
        asked = not plain and s.chance(0.25)
        text = self.wording("ls_question" if asked else "ls", self.path(path))
        return Wanted("ls", text, {"path": path}, path, "folder", asked)

    def _find(self, plain: bool) -> Wanted:
        s = self._s
        pattern = s.glob()
        text = self.wording("find", self.quoted(pattern, 1 if plain else 0.8))
        path = "." if s.chance(0.3) else s.folder()
        if path != ".":
            text += self.wording("find_where", self.path(path))
        return Wanted("find", text, {"pattern": pattern, "path": path}, path, "folder")

    def _grep(self, plain: bool) -> Wanted:
        s = self._s
        pattern = s.pattern()
        quoted = self.quoted(pattern, 1)
        path = "." if s.chance(0.2) else s.folder() if s.chance(0.5) else s.path()
        values = {"pattern": pattern, "path": path}
        if path != "." and not plain and s.chance(0.15):
            return Wanted("grep", f"Where is {quoted} in {path}?", values, path, "path", True)
        where = "" if path == "." else f" in {self.path(path)}"
        return Wanted("grep", self.wording("grep", quoted) + where, values, path, "path")

    def _web_search(self, plain: bool) -> Wanted:
        query = self._s.topic()
        text = self.wording("web_search", self.quoted(query, 1 if plain else 0.3))
        return Wanted("web_search", text, {"query": query}, query, "text")

    def _web_fetch(self, plain: bool) -> Wanted:
        url = self._s.url()
        said = self.quoted(url, 0.15)
        if not plain and self._s.chance(0.15):
            return Wanted("web_fetch", f"What does {said} say?", {"url": url}, url, "text", True)
        return Wanted("web_fetch", self.wording("web_fetch", said), {"url": url}, url, "text")

    def _memory_search(self, plain: bool) -> Wanted:
        query = self._s.topic()
        asked = not plain and self._s.chance(0.7)
        name = "memory_question" if asked else "memory_search"
        text = self.wording(name, self.quoted(query, 1 if plain else 0.2))
        return Wanted("memory_search", text, {"query": query}, query, "text", asked)

    def _memory_read(self, plain: bool) -> Wanted:
        article = self._s.article()
        text = self.wording("memory_read", self.quoted(article, 1 if plain or " " in article else 0.4))
        return Wanted("memory_read", text, {"article": article}, article, "text")

    def _memory_propose(self, plain: bool) -> Wanted:
        s = self._s
        if not plain and s.chance(0.5):
            fact = s.sentence() if s.chance(0.5) else s.phrase(2, 8)
            values = {"article": "notes", "text": fact}
            return Wanted("memory_propose", self.wording("remember", fact), values, fact, "text", True)
        article, fact = s.article(), s.phrase(1, 8)
        named = self.quoted(article, 1 if plain or " " in article else 0.4)
        text = self.wording("memory_propose", named, self.quoted(fact, 1))
        return Wanted("memory_propose", text, {"article": article, "text": fact}, article, "text")

    def _weather(self, plain: bool) -> Wanted:
        city = " ".join(self._s.word().capitalize() for _ in range(1 if self._s.chance(0.8) else 2))
        text = f"Get the weather in {city}" if plain else self.wording("weather", city)
        return Wanted("weather", text, {"city": city}, city, "text", not plain)

    def _calculate(self, plain: bool) -> Wanted:
        s = self._s
        expression = str(s.between(0, 9999))
        for _ in range(s.between(1, 3)):
            expression += s.pick((" + ", " - ", " * ", "*", "+", " / ")) + str(s.between(0, 9999))
        text = self.wording("calculate", self.quoted(expression, 1 if plain else 0.4))
        return Wanted("calculate", text, {"expression": expression}, expression, "text")


def lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def and_(items: list[str]) -> str:
    """The items as a list in a sentence."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
