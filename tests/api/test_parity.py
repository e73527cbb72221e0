"""Greedy answers are mlx-lm's own, alone and eight at a time, whatever the prompt."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.completions import Answer, ask, ask_at_once, assistant, body_of, system, user
from support.meanwhile import meanwhile
from support.parity import ReferenceAnswer, reference_answers
from support.server import POCKET, Server

TOKENS = 40
CONVERSATIONS: list[list[Any]] = [
    [user("Hello")],
    [user("Who are you?")],
    [user("Repeat: one fine day")],
    [user("Repeat: Žluťoučký kůň, 漢字 and 🙂 too")],
    [user("Say: a\n\tb  c")],
    [user("Count to 50.")],
    [user("Count to 300.")],
    [user("Say `tide` three times")],
    [user("Write a title for: The slow river bends around the old town and its mill")],
    [user("Summarize: The mill is old. It stands by the river. Nobody works there now.")],
    [user("Give me JSON with name = Ada and age = 36")],
    [user("Write 30 random words.")],
    [user("Pick a number.")],
    [user("Why is the sky blue?")],
    [user("My name is Ada.")],
    [user("Run `ls -la`")],
    [system("Be brief."), user("Repeat: a short text")],
    [user("Repeat: first"), assistant("first"), user("Again.")],
    [user("Hello"), assistant("Hello! How can I help you?"), user("Thanks!")],
    [user("Repeat: " + " ".join(f"word{n}" for n in range(40)))],
]

SHORT = 24
QUESTIONS: list[list[Any]] = [
    [user("What is the capital of France?")],
    [user("Write one line about the sea.")],
    [user("List three fruits.")],
    [system("You answer in one word."), user("Which colour has grass?")],
    [user("Translate to French: good morning")],
]


@pytest.fixture(scope="module")
def references(server: Server) -> list[ReferenceAnswer]:
    return reference_answers(server, POCKET, CONVERSATIONS, TOKENS)


@pytest.fixture(scope="module")
def default_references(default_server: Server) -> list[ReferenceAnswer]:
    folder: Path = default_server.home / "models" / "SmolLM2-135M-Instruct"
    return reference_answers(default_server, folder, QUESTIONS, SHORT)


def check(answers: list[Answer], references: list[ReferenceAnswer]) -> None:
    """The answers are the references' texts; where one parts with it, it must be at a tie."""
    for answer, reference in zip(answers, references, strict=True):
        assert answer.prompt_tokens == reference.prompt_tokens
    pairs = list(zip(answers, references, strict=True))
    differences = [found for answer, reference in pairs if (found := reference.difference(answer.text))]
    ties = [tie for answer, reference in pairs for tie in reference.ties(answer.text)]
    assert not differences, "\n".join(differences + ties)
    assert len(ties) < len(answers) / 4, "\n".join(["so many ties are no chance:", *ties])


def test_answers_are_those_of_mlx_lm(server: Server, references: list[ReferenceAnswer]) -> None:
    check([ask(server, c, max_tokens=TOKENS) for c in CONVERSATIONS], references)
    assert len({reference.text for reference in references}) > 15


def test_answers_of_the_default_model_are_those_of_mlx_lm(
    default_server: Server, default_references: list[ReferenceAnswer]
) -> None:
    check([ask(default_server, c, max_tokens=SHORT) for c in QUESTIONS], default_references)


def test_eight_rows_at_once_say_what_each_says_alone(
    server: Server, references: list[ReferenceAnswer]
) -> None:
    with counting_rows(server) as seen:
        for start in range(0, len(CONVERSATIONS), 8):
            bodies = [body_of(c, max_tokens=TOKENS) for c in CONVERSATIONS[start : start + 8]]
            check(ask_at_once(server, bodies), references[start : start + 8])
    assert max(seen) > 4


def test_rows_of_the_default_model_at_once_say_what_each_says_alone(
    default_server: Server, default_references: list[ReferenceAnswer]
) -> None:
    bodies = [body_of(c, max_tokens=SHORT) for c in QUESTIONS]
    check(ask_at_once(default_server, bodies), default_references)


@contextmanager
def counting_rows(server: Server) -> Iterator[set[int]]:
    """How many rows were seen to run at the same time."""
    seen: set[int] = set()

    def watch(over: threading.Event) -> None:
        while not over.wait(0.01):
            seen.add(server.get("/stats")["batch"]["active_rows"])

    with meanwhile(watch):
        yield seen
