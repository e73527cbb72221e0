"""What a user asks next, and what `pocket` must answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pocket.requests import SAME_WITH_ANOTHER, Requester, Wanted, and_, lower_first
from pocket.strings import Strings
from pocket.tools import Call, Toolset
from pocket.words import NOUNS

GREETING = "Hello! How can I help you?"
WELCOME = "You are welcome!"
IDENTITY = "I am Pocket, a tiny model made for testing."
UNKNOWN = "I am too small to know that. I can copy text and call tools."
NO_TOOL = "I have no tool for that."
NOTED = "I see."

_TIMES = {
    "twice": 2,
    "three times": 3,
    "four times": 4,
    "five times": 5,
    "2 times": 2,
    "3 times": 3,
    "6 times": 6,
}
_MISSING = "a request drawn for a tool that is not there"


@dataclass(frozen=True)
class Ask:
    """A request and what answers it.

    Attributes:
        row: the row of the score table that it belongs to.
        answer: text that answers it, or that is said before the calls.
        calls: made in one message.
        then: what is done once the calls' results are in, if they succeeded; or a function that makes it
            of the first result.
        finds: the first call's result lists web pages.
        subject: the path or text that a next request may call "it".
        subject_kind: "path", "folder", "text" or "" where there is none.
    """

    row: str
    text: str
    answer: str = ""
    calls: tuple[Call, ...] = ()
    then: Ask | Callable[[str], Ask] | None = None
    finds: bool = False
    subject: str = ""
    subject_kind: str = ""


class Asker:
    """Draws requests that fit a set of tools."""

    def __init__(self, strings: Strings, tools: Toolset) -> None:
        self._s = strings
        self._tools = tools
        self._requests = Requester(strings)

    @property
    def has_tools(self) -> bool:
        return bool(self._tools.tools)

    def tool_request(self, *, plain: bool = False) -> Ask:
        """One call of one of the tools; a few are asked for by the tool's own name."""
        strangers = [tool for tool in self._tools.tools if tool.verb is None]
        if not self._tools.verbs or (strangers and self._s.chance(0.25)) or self._s.chance(0.04):
            text, call = self._requests.by_name(self._s.rng.choice(self._tools.tools))
            return Ask("call", text, calls=(call,))
        wanted = self._requests.request(self._s.pick(self._tools.verbs), plain=plain)
        text = wanted.text if plain else self._requests.politely(wanted)
        return self._call("call", text, wanted)

    def unmatched(self) -> Ask | None:
        """A request for a tool that is not there; None where all are."""
        missing = [verb for verb in self._requests.verbs if verb not in self._tools.verbs]
        if not missing:
            return None
        wanted = self._requests.request(self._s.pick(missing))
        return Ask("plain", self._requests.politely(wanted), NO_TOOL)

    def two(self) -> Ask:
        """Two or three things in one request: "and" in one message, "then" one after the other."""
        s = self._s
        if s.chance(0.2):
            return self._say_then_call()
        asks = [self.tool_request(plain=True) for _ in range(3 if s.chance(0.12) else 2)]
        first, rest = asks[0].text, [lower_first(ask.text) for ask in asks[1:]]
        texts = [first, *rest]
        subject, kind = asks[-1].subject, asks[-1].subject_kind
        if s.chance(0.5):
            text = s.pick(
                (
                    ", then ".join(texts),
                    " and then ".join(texts),
                    ". Then ".join(texts) + ".",
                    ", and after that ".join(texts),
                    f"First {lower_first(', then '.join(texts))}.",
                )
            )
            chain: Ask | None = None
            for ask in reversed(asks):
                chain = replace(ask, row="two", then=chain)
            assert chain is not None
            return replace(chain, text=text, subject=subject, subject_kind=kind)
        text = s.pick(
            (
                " and ".join(texts),
                " and ".join(texts) + ".",
                ", and also ".join(texts),
                ". Also ".join(texts) + ".",
                "; ".join(texts),
                f"Please {' and '.join([lower_first(first), *rest])}.",
                "\n".join(f"- {ask.text}" for ask in asks),
                "\n".join(f"{i}. {ask.text}" for i, ask in enumerate(asks, 1)),
            )
        )
        calls = tuple(call for ask in asks for call in ask.calls)
        return Ask("two", text, calls=calls, subject=subject, subject_kind=kind)

    def chained(self) -> Ask | None:
        """Two calls of which the second needs what the first returned; None without the tools for it."""
        return self._search_then_open() if self._s.chance(0.5) else self._copy_first_line()

    def again(self, earlier: Ask) -> Ask:
        """The request before once more, in a word."""
        return replace(earlier, row="again", text=self._requests.wording("again"))

    def now(self, earlier: Ask) -> Ask | None:
        """Something new with the earlier request's path or text; None where it had none."""
        by_kind: dict[str, Callable[[Ask], Ask | None]] = {
            "path": self._now_path,
            "folder": self._now_folder,
            "text": self._now_text,
        }
        about_it = by_kind.get(earlier.subject_kind)
        if about_it is None or self._s.chance(0.25):
            return self._now_other_value(earlier)
        return about_it(earlier)

    def talk(self) -> Ask:
        """Small talk with a fixed answer."""
        name, answer = self._s.rng.choice((("hello", GREETING), ("thanks", WELCOME), ("who", IDENTITY)))
        return Ask("talk", self._requests.wording(name), answer)

    def copy(self) -> Ask:
        """Text to give back, once or several times."""
        s = self._s
        roll = s.rng.random()
        if roll < 0.2:
            text = s.phrase(1, 5)
            times = s.pick(list(_TIMES))
            said = self._requests.wording("repeat_often", self._requests.quoted(text, 0.5), times)
            return Ask("copy", said, "\n".join([text] * _TIMES[times]), subject=text, subject_kind="text")
        if roll < 0.3:
            text = s.phrase(1, 6)
            said = f"Say {self._requests.quoted(text, 0.5)}"
        else:
            text = (
                s.phrase(1, 20) if s.chance(0.7) else s.line() if s.chance(0.6) else s.lines(s.between(2, 4))
            )
            said = self._requests.wording("repeat", text)
        return Ask("copy", said, text, subject=text, subject_kind="text")

    def question(self) -> Ask:
        """What it cannot know and has no tool for."""
        return Ask("plain", self._requests.sentence("question"), UNKNOWN)

    def statement(self) -> Ask:
        """Something told, not asked."""
        return Ask("plain", self._requests.sentence("statement"), NOTED)

    def extra(self) -> Ask:
        """What tests find handy: counting, titles, summaries, JSON."""
        s = self._s
        roll = s.rng.random()
        if roll < 0.4:
            last = s.between(3, 40) if s.chance(0.7) else s.between(40, 300)
            answer = ", ".join(map(str, range(1, last + 1)))
            return Ask("extra", self._requests.wording("count", last), answer)
        if roll < 0.55:
            words = [s.word() for _ in range(s.between(4, 20))]
            return Ask("extra", self._requests.wording("title", " ".join(words)), " ".join(words[:4]))
        if roll < 0.75:
            first = s.sentence()
            text = f"{first} {s.paragraph(s.between(1, 5))}"
            return Ask("extra", self._requests.wording("summary", text), first)
        values: dict[str, Any] = {
            key: s.between(0, 999) if s.chance(0.3) else s.phrase(1, 3)
            for key in s.distinct(s.word, s.between(1, 4))
        }
        shown = [
            f"{key} {self._requests.quoted(value, 1) if isinstance(value, str) else value}"
            for key, value in values.items()
        ]
        return Ask(
            "extra", self._requests.wording("json", and_(shown)), json.dumps(values, ensure_ascii=False)
        )

    def random_words(self) -> Ask:
        """Something with as many answers as one likes, so that sampling has something to choose from."""
        s = self._s
        if s.chance(0.3):
            return Ask("random", self._requests.wording("random_number"), str(s.between(0, 999)))
        count = s.between(3, 60)
        answer = " ".join(s.pick(NOUNS) for _ in range(count))
        return Ask("random", self._requests.wording("random_words", count), answer)

    def _call(self, row: str, text: str, wanted: Wanted) -> Ask:
        call = self._tools.call(wanted.verb, wanted.values)
        assert call is not None, _MISSING
        return Ask(row, text, calls=(call,), subject=wanted.subject, subject_kind=wanted.subject_kind)

    def _say_then_call(self) -> Ask:
        ask = self.tool_request(plain=True)
        text = self._s.phrase(1, 6)
        said = self._requests.wording("say_then_call", self._requests.quoted(text, 1), lower_first(ask.text))
        return replace(ask, row="two", text=said, answer=text)

    def _search_then_open(self) -> Ask | None:
        query = self._s.topic()
        search = self._tools.call("web_search", {"query": query})
        if search is None or "web_fetch" not in self._tools.verbs:
            return None
        said = self._requests.wording("search_then_open", self._requests.quoted(query, 0.7))
        return Ask("extra", said, calls=(search,), then=self._open_first, finds=True)

    def _open_first(self, result: str) -> Ask:
        url = re.search(r"https?://\S+", result)
        assert url is not None
        call = self._tools.call("web_fetch", {"url": url.group()})
        assert call is not None, _MISSING
        return Ask("extra", "", calls=(call,))

    def _copy_first_line(self) -> Ask | None:
        source, target = self._s.path(), self._s.path()
        read = self._tools.call("read", {"path": source})
        if read is None or "write" not in self._tools.verbs:
            return None

        def write(result: str) -> Ask:
            call = self._tools.call("write", {"path": target, "content": result.split("\n", 1)[0]})
            assert call is not None, _MISSING
            return Ask("extra", "", calls=(call,))

        said = self._requests.wording(
            "copy_first_line", self._requests.path(source), self._requests.path(target)
        )
        return Ask("extra", said, calls=(read,), then=write)

    def _now_other_value(self, earlier: Ask) -> Ask | None:
        """The same call with another first argument."""
        if len(earlier.calls) != 1 or earlier.then is not None or earlier.answer:
            return None
        call = earlier.calls[0]
        tool = next(tool for tool in self._tools.tools if tool.name == call.name)
        if tool.verb not in SAME_WITH_ANOTHER or not call.arguments:
            return None
        wanted = self._requests.request(tool.verb, plain=True)
        value = next(iter(wanted.values.values()))
        call = Call(tool.name, {**call.arguments, next(iter(call.arguments)): value})
        text = self._requests.wording("now_other", self._requests.quoted(value, 0.8))
        again = replace(earlier, row="again", text=text, calls=(call,))
        return replace(again, subject=wanted.subject, subject_kind=wanted.subject_kind)

    def _now_path(self, earlier: Ask) -> Ask | None:
        quoted, path = self._requests.quoted, earlier.subject
        old, new, pattern = self._s.phrase(1, 6), self._s.phrase(1, 4), self._s.pattern()
        edit = f"Now replace {quoted(old, 1)} with {quoted(new, 1)} in it"
        return self._now(
            earlier,
            [
                ("read", self._requests.wording("now_read"), {"path": path}),
                ("write", f"Now write {quoted(new, 1)} to it", {"path": path, "content": new}),
                ("edit", edit, {"path": path, "old_text": old, "new_text": new}),
                ("grep", f"Now search it for {quoted(pattern, 1)}", {"pattern": pattern, "path": path}),
            ],
        )

    def _now_folder(self, earlier: Ask) -> Ask | None:
        quoted, path = self._requests.quoted, earlier.subject
        pattern, glob = self._s.pattern(), self._s.glob()
        return self._now(
            earlier,
            [
                ("ls", self._requests.wording("now_list"), {"path": path}),
                ("grep", f"Now search it for {quoted(pattern, 1)}", {"pattern": pattern, "path": path}),
                ("find", f"Now find {quoted(glob, 1)} in it", {"pattern": glob, "path": path}),
            ],
        )

    def _now_text(self, earlier: Ask) -> Ask | None:
        text, path = earlier.subject, self._s.path()
        return self._now(
            earlier,
            [
                (None, self._requests.wording("now_repeat"), {}),
                ("web_search", self._requests.wording("now_look_up"), {"query": text}),
                ("memory_search", "Now search your memory for it", {"query": text}),
                ("write", f"Now write it to {self._requests.path(path)}", {"path": path, "content": text}),
            ],
        )

    def _now(self, earlier: Ask, options: Sequence[tuple[str | None, str, dict[str, Any]]]) -> Ask | None:
        there = [option for option in options if option[0] is None or option[0] in self._tools.verbs]
        if not there:
            return None
        verb, text, values = self._s.rng.choice(there)
        if verb is None:
            return replace(earlier, row="again", text=text, answer=earlier.subject, calls=(), then=None)
        in_path = "path" in values and earlier.subject_kind != "folder"
        subject = values.get("path", earlier.subject)
        return self._call(
            "again", text, Wanted(verb, text, values, subject, "path" if in_path else earlier.subject_kind)
        )
