"""Chat requests of every shape, for runs that mix them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.serve import Prompts, Target
from bench.servers import Work
from bench.stream import chat_body

Drawn = Literal["greedy", "seeded", "unseeded"]

_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": "string"}},
                "required": [argument],
            },
        },
    }
    for name, description, argument in (
        ("bash", "Run a command", "command"),
        ("read_file", "Read a file", "path"),
        ("web_search", "Search the web", "query"),
    )
]


@dataclass(frozen=True)
class Kind:
    """A request that may be sent many times.

    Attributes:
        drawn: whether its text is the same each time: greedy ones are, seeded ones too, others not.
    """

    name: str
    messages: tuple[Mapping[str, Any], ...]
    max_tokens: int
    drawn: Drawn = "greedy"
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def body(self, target: Target) -> dict[str, Any]:
        """As it is sent to a server."""
        return chat_body(target, self.messages, self.max_tokens, **self.fields)


def kinds(rng: random.Random, model: str) -> list[Kind]:
    """Chats short and long, streamed and not, with tools, stops, logprobs, seeds, biases, penalties.

    Args:
        model: its name, which says what makes it write at length.
    """
    work = Work(model)
    found: list[Kind] = []

    def add(name: str, messages: str | list[dict[str, Any]], drawn: Drawn = "greedy", **fields: Any) -> None:
        chat = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        number = sum(kind.name.startswith(name) for kind in found)
        most = fields.pop("max_tokens", None) or rng.choice((1, 5, 20, 60, 150))
        found.append(
            Kind(f"{name} {number}", tuple(chat), most, drawn, {"stream": rng.random() < 0.7, **fields})
        )

    for number in range(6):
        add("short", f"Say {' '.join(_words(rng, 3))}.")
        add("endless", work.endless(number), max_tokens=rng.choice((100, 250)))
        add("long", Prompts(number, "").long(rng.choice((100, 300, 700))))
        add("talk", _talk(rng, turns=rng.choice((1, 3, 6))))
        add("shared", [_system(0, 250), _user(f"Who are you, {number}?")])
        add("tools", f"Run `ls {rng.choice(_words(rng, 3))}`", tools=_TOOLS, max_tokens=60)
    for number in range(3):
        add("very long", Prompts(50 + number, "").long(1200), max_tokens=8)
        add("stop", work.endless(number), stop=[str(5 + number), " the"], max_tokens=60)
        add("logprobs", work.endless(number), logprobs=True, top_logprobs=3, max_tokens=30)
        add("penalty", work.endless(number), repetition_penalty=1.1, max_tokens=40)
        add("bias", "Hello", logit_bias={"7": 1.5}, max_tokens=20)
        add("whole", f"Repeat: {' '.join(_words(rng, 8))}", stream=False, max_tokens=60)
        add("progress", work.endless(20 + number), return_progress=True, max_tokens=30)
        add("background", work.endless(30 + number), priority="background", max_tokens=80)
        add("thinking", "Hello", chat_template_kwargs={"enable_thinking": True}, max_tokens=80)
        add("seeded", "Write 30 random words.", "seeded", temperature=1, seed=number, max_tokens=40)
        add("sampled", "Write 30 random words.", "unseeded", temperature=1, top_p=0.9, max_tokens=40)
        add("xtc", "Write 30 random words.", "unseeded", temperature=1, xtc_probability=0.5, max_tokens=40)
    return found


def with_logprobs(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same request as one JSON answer with the two likeliest tokens at each place."""
    changed = {**body, "stream": False, "logprobs": True, "top_logprobs": 2}
    changed.pop("stream_options", None)
    return changed


def _talk(rng: random.Random, turns: int) -> list[dict[str, Any]]:
    messages = [_system(rng.randrange(3), 30)]
    for _ in range(turns):
        said = " ".join(_words(rng, 5))
        messages += [_user(f"Repeat: {said}"), {"role": "assistant", "content": said}]
    return [*messages, _user("Again.")]


def _system(seed: int, words: int) -> dict[str, Any]:
    return {"role": "system", "content": Prompts(seed, "").long(words + 40)}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _words(rng: random.Random, count: int) -> list[str]:
    return Prompts(rng.randrange(1000), "").long(count + 40).split()[2:]
