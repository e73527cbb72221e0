"""Rows that join, leave, share and resume give what mlx-lm's own `generate_step` gives for each alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.generate import generate_step

from fireside.core.cache.prompt_cache import PromptCache
from fireside.core.prompts import SMALLEST_SNAPSHOT
from fireside.core.scheduler import Scheduler
from fireside.wire import Cancel, RowPrefill, Sampling, Step, Submit, ThinkingBudget
from support import random_models as models
from support.random_models import prompt

MAKERS = {
    "full": models.full_attention,
    "window": models.sliding_window,
    "hybrid": models.hybrid,
}
ANSWER = 24
PLENTY = 1 << 34


@pytest.fixture(scope="module", params=MAKERS.values(), ids=list(MAKERS))
def model(request: pytest.FixtureRequest) -> nn.Module:
    make: Callable[[], nn.Module] = request.param
    return make()


@dataclass
class Run:
    """A scheduler at work, and what it said."""

    scheduler: Scheduler
    answers: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    finished: dict[int, str] = field(default_factory=dict[int, str])
    prefill: list[RowPrefill] = field(default_factory=list[RowPrefill])
    computed: int = 0
    last: Step | None = None

    def step(self) -> Step:
        step = self.last = self.scheduler.step()
        self.computed += step.computed
        self.prefill += step.prefill
        for token in step.tokens:
            self.answers.setdefault(token.id, []).append(token.token)
            if token.finish:
                self.finished[token.id] = token.finish
        return step

    def finish(self, *rows: Submit) -> Run:
        for row in rows:
            self.scheduler.apply(row)
        while self.scheduler.busy:
            self.step()
        return self

    def cached(self, row: int) -> int:
        return next(report.cached for report in self.prefill if report.id == row)


def fresh(model: nn.Module, cache_bytes: int = PLENTY, chunk: int = 64, block: int = 1) -> Run:
    return Run(Scheduler(model, models.VOCAB, PromptCache(cache_bytes), PLENTY, chunk, block))


def row(
    number: int,
    ids: Sequence[int],
    generated: Sequence[int] = (),
    *,
    boundary: int = 0,
    namespace: str = "",
    thinking: ThinkingBudget | None = None,
) -> Submit:
    return Submit(
        number,
        list(ids),
        list(generated),
        ANSWER,
        [],
        Sampling(),
        namespace=namespace,
        boundary=boundary,
        thinking=thinking,
    )


def reference(model: nn.Module, ids: Sequence[int]) -> list[int]:
    """What mlx-lm generates alone, without a cache."""
    steps: Any = generate_step(mx.array(list(ids)), model, max_tokens=ANSWER)
    return [int(token) for token, _ in steps]


def test_rows_that_come_together_answer_as_alone(model: nn.Module) -> None:
    prompts = [prompt(seed, length) for seed, length in enumerate((1, 2, 9, 40, 90, 130, 7, 300))]
    run = fresh(model).finish(*(row(i, ids) for i, ids in enumerate(prompts)))
    assert run.answers == {i: reference(model, ids) for i, ids in enumerate(prompts)}
    assert set(run.finished.values()) == {"length"}
    assert run.last is not None
    assert run.last.kv_bytes == 0


def test_prompts_that_are_read_in_whole_blocks_answer_the_same(model: nn.Module) -> None:
    shared = prompt(1, 300)
    prompts = [shared + prompt(seed, length) for seed, length in enumerate((1, 31, 32, 33, 100, 270))]
    run = fresh(model, chunk=64, block=32)
    for number, ids in enumerate(prompts):
        run.scheduler.apply(row(number, ids, boundary=290))
        run.step()
    run.finish()
    again = prompts[0] + run.answers[0] + prompt(9, 50)
    run.finish(row(10, again))
    assert run.cached(10) >= 290
    assert run.answers == {
        **{i: reference(model, ids) for i, ids in enumerate(prompts)},
        10: reference(model, again),
    }


def test_few_shapes_are_read_in_whole_blocks(full: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    widths: set[int] = set()
    call = type(full).__call__

    def noted(self: nn.Module, inputs: mx.array, *args: Any, **kwargs: Any) -> Any:
        widths.add(inputs.shape[1])
        return call(self, inputs, *args, **kwargs)

    monkeypatch.setattr(type(full), "__call__", noted)
    prompts = [prompt(seed, 5 + 13 * seed) for seed in range(20)]
    fresh(full, chunk=64, block=32).finish(*(row(i, ids) for i, ids in enumerate(prompts)))
    assert widths == {1, 32, 64}


def test_rows_that_come_one_after_another_disturb_nobody(model: nn.Module) -> None:
    prompts = [prompt(seed, 30 + 20 * seed) for seed in range(5)]
    run = fresh(model, chunk=16)
    for number, ids in enumerate(prompts):
        run.scheduler.apply(row(number, ids))
        for _ in range(3):
            run.step()
    run.finish()
    assert run.answers == {i: reference(model, ids) for i, ids in enumerate(prompts)}


def test_an_answer_goes_on_after_it_was_broken_off(model: nn.Module) -> None:
    ids = prompt(1, 300)
    expected = reference(model, ids)
    run = fresh(model)
    run.scheduler.apply(row(0, ids, boundary=290))
    while len(run.answers.get(0, [])) < 9:
        run.step()
    run.scheduler.apply(Cancel(0))
    assert not run.scheduler.busy
    first = run.answers[0]
    before = run.computed
    run.finish(row(1, ids, first))
    assert first + run.answers[1] == expected
    # Recurrent states and full windows cannot go back by one token: they go on from the boundary.
    assert run.computed - before <= 10 + len(first)


def test_a_prompt_that_was_broken_off_while_it_was_read_is_read_on(full: nn.Module) -> None:
    ids = prompt(2, 400)
    run = fresh(full, chunk=64)
    run.scheduler.apply(row(0, ids))
    run.step()
    run.step()
    run.scheduler.apply(Cancel(0))
    assert not run.scheduler.busy
    read = run.computed
    assert 0 < read < 399
    run.finish(row(1, ids))
    assert run.answers[1] == reference(full, ids)
    assert run.cached(1) == read
    assert run.computed == 400


def test_the_same_prompt_again_reads_nothing_where_caches_can_be_trimmed(model: nn.Module) -> None:
    ids = prompt(3, 20)
    run = fresh(model)
    for number in range(3):
        run.finish(row(number, ids))
    assert [run.answers[number] for number in range(3)] == [reference(model, ids)] * 3
    assert all(run.cached(number) <= len(ids) - 1 for number in range(3))


def test_a_boundary_serves_the_next_turn_of_every_kind_of_model(model: nn.Module) -> None:
    history = prompt(4, SMALLEST_SNAPSHOT + 40)
    boundary = len(history) - 3
    run = fresh(model).finish(row(0, history, boundary=boundary))
    # The next turn has the history up to the boundary, and then something else than was generated.
    later = history[:boundary] + prompt(5, 25)
    run.finish(row(1, later))
    assert run.answers[1] == reference(model, later)
    assert run.cached(1) == boundary


def test_the_snapshot_holds_exactly_the_boundary(model: nn.Module) -> None:
    """A chunk that ended elsewhere would make the next turn wrong without any sign."""
    history = prompt(6, SMALLEST_SNAPSHOT + 100)
    for boundary in (SMALLEST_SNAPSHOT, SMALLEST_SNAPSHOT + 33, len(history)):
        run = fresh(model, chunk=50)
        run.scheduler.apply(row(0, history, boundary=boundary))
        while not run.answers:
            run.step()
        run.scheduler.apply(Cancel(0))
        later = history[: min(boundary, len(history) - 1)] + prompt(boundary, 12)
        run.finish(row(1, later))
        assert run.answers[1] == reference(model, later)
        assert run.cached(1) == min(boundary, len(history) - 1)


def test_eight_rows_read_what_they_share_once_also_when_they_come_together(model: nn.Module) -> None:
    shared = prompt(7, 500)
    own = 20
    prompts = [shared + prompt(100 + i, own) for i in range(8)]
    run = fresh(model).finish(*(row(i, ids) for i, ids in enumerate(prompts)))
    assert run.computed <= len(shared) + 8 * own
    assert run.answers == {i: reference(model, ids) for i, ids in enumerate(prompts)}


def test_rows_that_wait_for_another_do_not_hang_when_it_leaves(full: nn.Module) -> None:
    shared = prompt(8, 600)
    run = fresh(full, chunk=64)
    run.scheduler.apply(row(0, shared + prompt(9, 9)))
    run.scheduler.apply(row(1, shared + prompt(10, 9)))
    run.step()
    assert [report.id for report in run.prefill] == [0, 0]
    run.scheduler.apply(Cancel(0))
    run.finish()
    assert run.answers[1] == reference(full, shared + prompt(10, 9))


def test_a_namespace_never_sees_anothers_keys_and_values(full: nn.Module) -> None:
    ids = prompt(11, 300)
    run = fresh(full).finish(row(0, ids, namespace="a"))
    run.finish(row(1, ids, namespace="b"), row(2, ids, namespace="a"))
    assert [run.cached(number) for number in range(3)] == [0, 0, 299]


def test_without_a_prompt_cache_nothing_is_shared_or_kept(full: nn.Module) -> None:
    ids = prompt(12, 300)
    run = fresh(full, cache_bytes=0).finish(row(0, ids), row(1, ids))
    run.finish(row(2, ids))
    assert run.computed == 3 * 300
    assert run.last is not None
    assert run.last.cache.bytes == 0


def test_a_model_whose_caches_do_not_merge_runs_alone(full: nn.Module) -> None:
    model = models.unmergeable()
    ids = prompt(13, 70)
    run = fresh(model).finish(row(0, ids))
    run.finish(row(1, ids))
    assert run.answers[0] == run.answers[1] == reference(model, ids)
    assert run.cached(1) == 69


def test_the_prompt_cache_gives_way_to_rows(full: nn.Module) -> None:
    run = fresh(full).finish(*(row(i, prompt(20 + i, 200)) for i in range(4)))
    assert run.last is not None
    kept = run.last.cache.bytes
    tight = Run(Scheduler(full, models.VOCAB, PromptCache(PLENTY), kept // 2, 64))
    tight.finish(*(row(i, prompt(20 + i, 200)) for i in range(4)))
    assert tight.answers == run.answers
    assert tight.last is not None
    assert 0 < tight.last.cache.bytes <= kept // 2


def test_prefill_is_reported_from_the_cached_part_to_the_end(full: nn.Module) -> None:
    ids = prompt(14, 150)
    run = fresh(full, chunk=64).finish(row(0, ids))
    done = [report.done for report in run.prefill]
    assert done[0] == 0
    assert done[-1] == 149
    assert done == sorted(done)
    assert {report.total for report in run.prefill} == {150}


@pytest.mark.parametrize("resume_after", [0, 3, 7, 9])
def test_a_thinking_budget_closes_an_open_block_and_the_answer_goes_on(
    full: nn.Module, resume_after: int
) -> None:
    ids, forced = prompt(15, 30), [301, 302, 303]
    plain = reference(full, ids)
    budget = ThinkingBudget(6, opened=True, open_id=-1, close_id=302, forced=forced)
    assert 302 not in plain[:6]
    expected = plain[:6] + forced + reference(full, ids + plain[:6] + forced)[: ANSWER - 9]
    run = fresh(full).finish(row(0, ids, expected[:resume_after], thinking=budget))
    assert expected[:resume_after] + run.answers[0] == expected


@pytest.mark.parametrize(("opened", "open_at", "close_at"), [(True, None, 2), (False, None, None)])
def test_a_thinking_budget_leaves_alone_who_does_not_think_too_long(
    full: nn.Module, opened: bool, open_at: int | None, close_at: int | None
) -> None:
    ids = prompt(16, 30)
    plain = reference(full, ids)
    close = plain[close_at] if close_at is not None else 302
    budget = ThinkingBudget(6, opened=opened, open_id=301, close_id=close, forced=[302, 303])
    assert 301 not in plain
    run = fresh(full).finish(row(0, ids, thinking=budget))
    assert run.answers[0] == plain
