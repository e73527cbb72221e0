"""What the pocket models are trained and scored on."""

import random
from itertools import islice
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from pocket.conversations import TAIL, Size, Writer, outcome, report
from pocket.examples import BANDS, CONTEXT, ROWS, Band, Encoder, cases, training_examples
from pocket.strings import is_held_out

TOKENIZER = Path(__file__).parents[1] / "models" / "pocket" / "tokenizer.json"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(Tokenizer.from_file(str(TOKENIZER)))


def test_no_word_of_evaluation_is_one_of_training() -> None:
    learnt = Writer(random.Random(1)).strings
    asked = Writer(random.Random(1), held_out=True).strings
    assert not any(is_held_out(learnt.invented()) for _ in range(2000))
    assert all(is_held_out(asked.invented()) for _ in range(2000))


def test_exactly_the_assistants_words_are_learnt(encoder: Encoder) -> None:
    writer = Writer(random.Random(2))
    for _ in range(100):
        talk = writer.conversation(Size())
        example = encoder.example(talk)
        learnt = [i for i, trained in zip(example.ids, example.trained, strict=True) if trained]
        assert encoder.decode(learnt) == "".join(talk.expected(i) + TAIL for i in talk.rows)


def test_an_examples_length_is_limited_and_there_is_always_something_to_learn(encoder: Encoder) -> None:
    for example in islice(training_examples(encoder, "seed"), 300):
        assert len(example.ids) <= CONTEXT + 1
        assert any(example.trained)


def test_the_same_seed_gives_the_same_examples(encoder: Encoder) -> None:
    first, second = (list(islice(training_examples(encoder, "seed"), 20)) for _ in range(2))
    assert first == second
    assert first != list(islice(training_examples(encoder, "other"), 20))


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("band", BANDS, ids=str)
def test_a_case_has_a_prompt_of_the_bands_length_and_an_answer(
    encoder: Encoder, row: str, band: Band
) -> None:
    found = list(cases(encoder, row, band, 4, seed=1))
    assert len({case.request for case in found}) == 4
    for case in found:
        assert band.low <= len(encoder.encode(case.prompt)) <= band.high
        assert case.prompt.endswith("<|im_start|>assistant\n")
        assert len(case.expected) > len(TAIL)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("one\ntwo", "It says: one"),
        ("", "It came back empty."),
        ("Error: no such file\nmore", "That failed: Error: no such file"),
        ("Denied by the user.", "I was not allowed to do that, so I stopped."),
    ],
)
def test_a_result_is_reported_by_its_first_line(result: str, said: str) -> None:
    assert report(result) == said
    assert outcome(result) in ("ok", "empty", "error", "refused")
