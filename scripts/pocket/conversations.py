"""Whole conversations: system prompts, tools, requests, results and the answers expected."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment

from pocket.asks import Ask, Asker
from pocket.strings import Strings
from pocket.tools import Call, Toolset, toolset
from pocket.wordings import wordings

REFUSED = "I was not allowed to do that, so I stopped."
EMPTY = "It came back empty."
TEMPLATE = Path(__file__).parent / "chat_template.jinja"
TAIL = "<|im_end|>"


@dataclass(frozen=True)
class Size:
    """How much there is to read besides the requests.

    Attributes:
        system: sentences of the system prompt, at most.
        turns: requests, at most.
        result: lines of a tool's result, at most.
        pasted: sentences that a user pastes before a request, at most.
    """

    system: int = 6
    turns: int = 3
    result: int = 5
    pasted: int = 2


@dataclass
class Conversation:
    """Messages as chat requests carry them.

    Attributes:
        rows: the score row of each assistant message, by its index in `messages`.
    """

    tools: Toolset
    thinking: bool
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    rows: dict[int, str] = field(default_factory=dict[int, str])

    def expected(self, index: int) -> str:
        """The assistant message at `index` exactly as the model must write it, end mark left out."""
        return answer_text(self.messages[index])

    def render(self, count: int | None = None) -> str:
        """The prompt before message `count`, ready for an answer; or, with None, all of it."""
        return render(
            self.messages[:count],
            tools=self.tools.schemas() or None,
            enable_thinking=self.thinking,
            add_generation_prompt=count is not None,
        )


def answer_text(message: dict[str, Any]) -> str:
    """An assistant message as the template writes it in the turn that it belongs to."""
    parts = [message["content"]] if message["content"] else []
    functions = [call["function"] for call in message.get("tool_calls", ())]
    parts += [Call(f["name"], json.loads(f["arguments"])).markup() for f in functions]
    thought = message.get("reasoning_content")
    return (f"<think>\n{thought}\n</think>\n\n" if thought else "") + "\n".join(parts)


@cache
def _template() -> Any:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(TEMPLATE.read_text("utf-8"))


def render(messages: list[dict[str, Any]], **values: Any) -> str:
    """The chat template's text, as transformers renders it."""
    return _template().render(messages=messages, **values)


class Writer:
    """Draws conversations.

    Args:
        rng: where all chance comes from.
        held_out: use evaluation's strings instead of training's.
    """

    def __init__(self, rng: random.Random, *, held_out: bool = False) -> None:
        self.strings = Strings(rng, held_out=held_out)

    def conversation(self, size: Size) -> Conversation:
        """A mixed conversation, as training sees them."""
        s = self.strings
        tools = toolset(s, everything=s.chance(0.3))
        talk = self.start(tools, size, thinking=s.chance(0.3))
        asker = Asker(s, tools)
        earlier: Ask | None = None
        for _ in range(s.between(1, size.turns)):
            ask = self._any(asker, earlier)
            self.turn(talk, ask, size)
            if s.chance(0.05):
                self._break_off(talk)
            earlier = ask if ask.calls or ask.subject else None
            if s.chance(0.02):
                talk.messages.append({"role": "system", "content": s.paragraph(s.between(1, 3))})
        if talk.thinking:
            self._forget_thoughts(talk)
        return talk

    def _break_off(self, talk: Conversation) -> None:
        """End a turn early, as a stopped answer or a request sent in between does."""
        index = len(talk.messages) - 1
        last = talk.messages[index]
        if index in talk.rows and self.strings.chance(0.5):
            del talk.messages[index], talk.rows[index]
        elif not last.get("tool_calls") and last["content"]:
            last["content"] = last["content"][: self.strings.between(1, len(last["content"]))]
            last.pop("reasoning_content", None)
            talk.rows.pop(index, None)

    def start(self, tools: Toolset, size: Size, *, thinking: bool) -> Conversation:
        """A conversation with its system prompt, if it has one."""
        talk = Conversation(tools, thinking)
        if self.strings.chance(0.85) or size.system > 20:
            talk.messages.append({"role": "system", "content": self.system_prompt(size.system)})
        return talk

    def system_prompt(self, sentences: int) -> str:
        """Instructions in shape: prose, lists, headings, code."""
        s = self.strings
        count = s.between(max(1, sentences // 2) if sentences > 20 else 1, max(1, sentences))
        blocks: list[str] = []
        while count > 0:
            size = min(count, s.between(1, 6))
            count -= size
            roll = s.rng.random()
            if roll < 0.6:
                blocks.append(s.paragraph(size))
            elif roll < 0.8:
                blocks.append("\n".join(f"- {s.sentence()}" for _ in range(size)))
            elif roll < 0.9:
                blocks.append(f"# {s.topic().capitalize()}\n{s.paragraph(size)}")
            else:
                blocks.append(s.lines(size))
        opening = s.pick(
            ("You are a helpful assistant.", f"You are {s.word().capitalize()}, an assistant.", "", "")
        )
        return "\n\n".join([opening, *blocks] if opening else blocks)

    def turn(self, talk: Conversation, ask: Ask, size: Size) -> None:
        """Add a request, its calls and results, and the answer."""
        talk.messages.append({"role": "user", "content": self._paste(ask.text, size)})
        step: Ask | None = ask
        results: list[str] = []
        failed = False
        row, answer = ask.row, ask.answer
        while step is not None and step.calls:
            self._say(talk, step.row, step.answer, step.calls, self._thought_of_call(step))
            results = [self.pages() if step.finds else self.result(size) for _ in step.calls]
            for call, result in zip(talk.messages[-1]["tool_calls"], results, strict=True):
                talk.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            failed = any(outcome(result) in ("error", "refused") for result in results)
            if failed:
                break
            step = step.then(results[0]) if callable(step.then) else step.then
        if results:
            row, answer = ("failure" if failed else "report"), "\n".join(report(result) for result in results)
            thought = (
                "It did not work. I say so." if failed else "The result is here. I quote its first line."
            )
        else:
            thought = self._thought_of_answer(ask)
        self._say(talk, row, answer, (), thought)

    def result(self, size: Size) -> str:
        """What a tool returns: mostly lines, now and then nothing, an error or a refusal."""
        s = self.strings
        roll = s.rng.random()
        if roll < 0.74:
            lines = s.lines(s.between(1, size.result))
            if s.chance(0.04):
                lines = f"{s.paragraph(s.between(3, 6))}\n{lines}"
            return lines if outcome(lines) == "ok" else self.result(size)
        if roll < 0.78:
            return ""
        if roll < 0.9:
            return self.error(size)
        return self.refusal()

    def pages(self) -> str:
        """What a web search returns: titles, addresses, excerpts."""
        s = self.strings
        form = s.pick(wordings("page"))
        return "\n".join(
            form.format(number=number, title=s.topic().capitalize(), url=s.url(), text=s.sentence())
            for number in range(1, s.between(2, 5))
        )

    def error(self, size: Size) -> str:
        """A failure in one of the forms that tools use."""
        s = self.strings
        what = s.phrase(1, 7) if s.chance(0.6) else s.fill(s.pick(wordings("error_cause")))
        first = s.pick(wordings("error")).format(what)
        return first + ("\n" + s.lines(s.between(1, size.result)) if s.chance(0.25) else "")

    def refusal(self) -> str:
        """A call that was not allowed."""
        s = self.strings
        reason = s.phrase(1, 8) if s.chance(0.7) else s.sentence()
        return s.pick(wordings("refusal")).format(reason)

    def _any(self, asker: Asker, earlier: Ask | None) -> Ask:
        s = self.strings
        if earlier is not None and s.chance(0.3):
            ask = asker.again(earlier) if s.chance(0.4) else asker.now(earlier)
            if ask is not None:
                return ask
        roll = s.rng.random()
        if asker.has_tools:
            if roll < 0.42:
                return asker.tool_request()
            if roll < 0.58:
                return asker.two()
        if roll < 0.65:
            return asker.talk()
        if roll < 0.82:
            return asker.copy()
        if roll < 0.87:
            return asker.unmatched() or asker.question()
        if roll < 0.92:
            return asker.question()
        if s.chance(0.3):
            return asker.statement() if s.chance(0.6) else asker.random_words()
        return (asker.chained() if s.chance(0.4) else None) or asker.extra()

    def _paste(self, text: str, size: Size) -> str:
        s = self.strings
        if not size.pasted or not s.chance(0.12 if size.pasted < 20 else 0.4):
            return text
        pasted = (
            s.paragraph(s.between(1, size.pasted)) if s.chance(0.6) else s.lines(s.between(1, size.pasted))
        )
        return pasted + s.pick(("\n\n", "\n\n", "\n", " ") if "\n" not in pasted else ("\n\n",)) + text

    def _say(self, talk: Conversation, row: str, answer: str, calls: tuple[Call, ...], thought: str) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": answer}
        if talk.thinking:
            message["reasoning_content"] = thought
        index = len(talk.messages)
        if calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{index}_{i}",
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": json.dumps(call.arguments, ensure_ascii=False),
                    },
                }
                for i, call in enumerate(calls)
            ]
        talk.rows[index] = row
        talk.messages.append(message)

    @staticmethod
    def _thought_of_call(ask: Ask) -> str:
        names = " and ".join(call.name for call in ask.calls)
        return f"The user wants me to use {names}."

    @staticmethod
    def _thought_of_answer(ask: Ask) -> str:
        return {
            "copy": "The user wants me to repeat something.",
            "again": "The user wants me to repeat something.",
            "talk": "This is small talk.",
            "plain": "No tool helps here.",
        }.get(ask.row, "I can write this myself.")

    @staticmethod
    def _forget_thoughts(talk: Conversation) -> None:
        """Leave only the last turn to learn from: the template drops the thoughts of those before."""
        last_user = max(i for i, message in enumerate(talk.messages) if message["role"] == "user")
        talk.rows = {index: row for index, row in talk.rows.items() if index > last_user}


def outcome(result: str) -> str:
    """ "ok", "empty", "error" or "refused", told by the first words, as the model must."""
    start = result.lstrip().lower()
    if not start:
        return "empty"
    if start.startswith(_REFUSALS):
        return "refused"
    return "error" if start.startswith(_ERRORS) else "ok"


_REFUSALS = (
    "denied",
    "the user denied",
    "the user refused",
    "blocked",
    "not allowed",
    "refused",
    "the user did not allow",
    "permission denied by the user",
    "this call was denied",
    "rejected",
)
_ERRORS = (
    "error",
    "failed",
    "failure",
    "traceback",
    "exit code",
    "exception",
    "filenotfounderror",
    "valueerror",
)


def report(result: str) -> str:
    """What the model says of a tool's result."""
    first = result.split("\n", 1)[0]
    return {"ok": f"It says: {first}", "empty": EMPTY, "error": f"That failed: {first}", "refused": REFUSED}[
        outcome(result)
    ]
