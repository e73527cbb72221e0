"""Admission: what fits beside the weights, which request is taken, who joins and who must leave."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from fireside.catalog.fit import (
    DoesNotFitError,
    Memory,
    MemoryPlan,
    ModelNeed,
    Workload,
    gigabytes,
    plan_memory,
    read_model,
)
from fireside.catalog.fit_accounts import KvAccountant, KvRow
from fireside.catalog.fit_caches import CacheShape
from fireside.catalog.fit_request import COMPLETION_TOKENS, Fit, Refusal, fit_request
from fireside.catalog.fit_shape import ModelShape, ShapeError
from fireside.catalog.fit_weights import RunningWeights, WeightsError, read_weights

POCKET = Path(__file__).parent.parent / "models" / "pocket"
GB = 10**9
ROOMY = Memory(available_bytes=64 * GB)
WORK = Workload()


def model(
    name: str = "llama-1b",
    weights: int = int(2.47e9),
    window: int | None = 131072,
    sliding: int | None = None,
) -> ModelNeed:
    """The size of Llama 3.2 1B: 32,768 bytes of keys and values a token."""
    full = CacheShape(8, 64, 64)
    caches = (full,) * 16 if sliding is None else (full, replace(full, window=sliding)) * 8
    shape = ModelShape(caches, 32, 64, 2048, 8192, 128256, context_window=window)
    return ModelNeed(name, shape, RunningWeights(weights, 2, "as stored"))


DRAFT = model("draft-0.3b", weights=int(0.6e9))


def budget(size: float) -> Memory:
    return Memory(available_bytes=64 * GB, budget_bytes=int(size))


# Weights


def test_the_pocket_model_takes_what_its_file_holds() -> None:
    stored = (POCKET / "model.safetensors").stat().st_size
    header = int.from_bytes((POCKET / "model.safetensors").read_bytes()[:8], "little") + 8
    need = read_model("pocket", POCKET)
    assert need.weights == RunningWeights(stored - header, 2, "as stored")
    assert need.shape.kv_bytes_per_token(2) == 4 * 2 * 64 * 2
    assert read_model("pocket", POCKET, 10 * GB).weights == RunningWeights(
        2 * (stored - header), 4, "float32"
    )
    assert read_model("pocket", POCKET, stored).weights.form == "as stored"


def packed(folder: Path, bits: int, group: int, **config: object) -> Path:
    """A folder with one packed layer of 64 x 256 numbers, a norm, and an index over two shards."""
    half = np.float16
    save_file(
        {
            "a.weight": np.zeros((64, 256 * bits // 32), np.uint32),
            "a.scales": np.zeros((64, 256 // group), half),
            "a.biases": np.zeros((64, 256 // group), half),
        },
        folder / "model-00001-of-00002.safetensors",
    )
    save_file({"norm.weight": np.zeros(256, half)}, folder / "model-00002-of-00002.safetensors")
    names = {"a.weight": 1, "a.scales": 1, "a.biases": 1, "norm.weight": 2}
    index = {name: f"model-0000{shard}-of-00002.safetensors" for name, shard in names.items()}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(("bits", "group"), [(4, 64), (8, 32), (3, 64)])
def test_packed_weights_widen_as_the_core_widens_them(tmp_path: Path, bits: int, group: int) -> None:
    config = {"quantization": {"bits": 4, "group_size": group}}
    weights = read_weights(packed(tmp_path, bits, group), config)
    packed_bytes, scales, norm = 64 * 256 * bits // 8, 2 * 64 * 256 // group, 256
    unpacked, widened = (64 * 256 + norm) * 4, packed_bytes + (scales + norm) * 4
    assert weights.as_stored() == RunningWeights(packed_bytes + (scales + norm) * 2, 2, "as stored")
    assert weights.for_cpu(unpacked) == RunningWeights(unpacked, 4, "float32")
    assert weights.for_cpu(unpacked - 1) == RunningWeights(widened, 4, "packed, float32 scales")
    assert weights.for_cpu(widened - 1) == weights.as_stored()


def test_the_core_widens_to_the_same_size(tmp_path: Path) -> None:
    """mlx-lm's own tiny 4-bit model, measured by the core's code in a process of its own."""
    code = """
import json, sys
from pathlib import Path
import mlx.core as mx, mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.models import llama
from mlx_lm.utils import load_model, save_model
from fireside.core.weights import widen_for_cpu
folder = Path(sys.argv[1])
config = {"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 256, "vocab_size": 512, "rms_norm_eps": 1e-5, "tie_word_embeddings": False}
model = llama.Model(llama.ModelArgs.from_dict(config))
model.set_dtype(mx.bfloat16)
nn.quantize(model, 64, 4)
save_model(folder, model)
config["quantization"] = {"group_size": 64, "bits": 4}
(folder / "config.json").write_text(json.dumps(config))
sizes = []
for budget in (10**9, 10**6, 0):
    model, _ = load_model(folder, lazy=True)
    widen_for_cpu(model, budget)
    sizes.append(sum(array.nbytes for _, array in tree_flatten(model.parameters())))
print(json.dumps(sizes))
"""
    server = str(Path(__file__).parent.parent.parent / "server")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {server!r})\n{code}", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    sizes = json.loads(done.stdout)
    assert [read_model("tiny", tmp_path, limit).weights.bytes for limit in (10**9, 10**6, 0)] == sizes
    assert len(set(sizes)) == 3


def test_what_cannot_be_read_says_which_file(tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match=r"config\.json"):
        read_model("none", tmp_path)
    packed(tmp_path, 4, 64)
    (tmp_path / "model-00002-of-00002.safetensors").write_bytes(b"\0" * 20)
    with pytest.raises(WeightsError, match=r"model-00002-of-00002\.safetensors"):
        read_weights(tmp_path, {})
    with pytest.raises(WeightsError, match="no weights"):
        read_weights(tmp_path / "empty", {})


# The plan


@st.composite
def cases(draw: st.DrawFn) -> tuple[ModelNeed, ModelNeed | None, Workload]:
    target = model(
        weights=draw(st.integers(0, 6 * GB)),
        window=draw(st.sampled_from([None, 300, 8192, 131072])),
        sliding=draw(st.sampled_from([None, 128, 4096])),
    )
    work = Workload(
        draw(st.integers(1, 32)),
        draw(st.sampled_from([128, 512, 2048])),
        draw(st.integers(1, 4)),
        draw(st.booleans()),
    )
    return target, draw(st.sampled_from([None, DRAFT])), work


def solve(case: tuple[ModelNeed, ModelNeed | None, Workload], size: int) -> MemoryPlan | None:
    target, draft, work = case
    try:
        return plan_memory(target, budget(size), work, draft)
    except DoesNotFitError:
        return None


@settings(deadline=None)
@given(cases(), st.integers(0, 40 * GB))
def test_the_safe_context_fits_and_one_token_more_does_not(
    case: tuple[ModelNeed, ModelNeed | None, Workload], size: int
) -> None:
    if (plan := solve(case, size)) is None:
        return
    assert plan.needed_bytes(plan.max_safe_context) <= size
    if plan.limit == "model":
        assert plan.max_safe_context == min(need.window for need in plan.models)
    else:
        assert plan.needed_bytes(plan.max_safe_context + 1) > size
    assert plan.max_row_context == plan.max_safe_context
    beside_rows = plan.needed_bytes(plan.max_safe_context) - plan.row_bytes(plan.max_safe_context)
    assert plan.row_bytes(plan.max_safe_context) <= plan.kv_budget_bytes <= size - beside_rows
    assert 0 <= plan.prompt_cache_bytes <= min(8 * GB, plan.kv_budget_bytes)


@settings(deadline=None)
@given(cases(), st.integers(0, 40 * GB), st.integers(0, 10 * GB))
def test_more_memory_never_means_less_context(
    case: tuple[ModelNeed, ModelNeed | None, Workload], size: int, more: int
) -> None:
    small, large = solve(case, size), solve(case, size + more)
    assert small is None or (large is not None and large.max_safe_context >= small.max_safe_context)


def test_without_a_budget_the_machine_has_a_share_left() -> None:
    plan = plan_memory(model(), Memory(available_bytes=10 * GB), WORK)
    assert plan.stats() == {
        "max_safe_context": plan.max_safe_context,
        "memory_budget_bytes": None,
        "usable_bytes": 9 * GB,
        "weights_bytes": int(2.47e9),
    }
    assert plan_memory(model(), budget(9e9), WORK).stats()["memory_budget_bytes"] == 9 * GB


def test_windows_stretch_the_context() -> None:
    full = plan_memory(model(), budget(5e9), WORK)
    sliding = plan_memory(model(sliding=512), budget(5e9), WORK)
    assert sliding.max_safe_context > 1.5 * full.max_safe_context


def test_weights_that_leave_no_room_are_refused_with_the_numbers() -> None:
    with pytest.raises(DoesNotFitError) as refused:
        plan_memory(model(), budget(2.5e9), WORK)
    text = str(refused.value)
    assert "No context fits" in text
    for part in ("llama-1b", "2.47 GB", "2.50 GB", "256 tokens", "raise --memory-budget", "smaller model"):
        assert part in text
    with pytest.raises(DoesNotFitError, match=r"2\.70 GB .*3\.00 GB free.*close other programs"):
        plan_memory(model(weights=3 * GB), Memory(3 * GB), WORK)


def test_a_draft_is_checked_with_its_target_and_its_part_is_named() -> None:
    assert plan_memory(model(), budget(3e9), WORK).draft is None
    with pytest.raises(DoesNotFitError) as refused:
        plan_memory(model(), budget(3e9), WORK, DRAFT)
    assert "the draft draft-0.3b adds 0.6 GB" in str(refused.value)
    assert "leave out the draft" in str(refused.value)
    alone, both = plan_memory(model(), budget(6e9), WORK), plan_memory(model(), budget(6e9), WORK, DRAFT)
    assert both.weights_bytes == alone.weights_bytes + int(0.6e9)
    assert both.row_bytes(1000) == 2 * alone.row_bytes(1000)
    assert both.max_safe_context < alone.max_safe_context / 2


def test_a_kv_budget_bounds_one_row_and_is_never_more_than_there_is() -> None:
    plan = plan_memory(model(), ROOMY, WORK, kv_budget_bytes=32768 * (1000 + 255))
    assert (plan.max_row_context, plan.max_safe_context) == (1000, 131072)
    default = plan_memory(model(), ROOMY, WORK).kv_budget_bytes
    assert plan_memory(model(), ROOMY, WORK, kv_budget_bytes=10**15).kv_budget_bytes == default
    with pytest.raises(DoesNotFitError, match=r"--kv-budget is 0\.001 GB.*256 tokens.*0\.0167 GB"):
        plan_memory(model(), ROOMY, WORK, kv_budget_bytes=10**6)


# Requests


def test_an_answer_gets_the_rest_or_what_was_asked_and_a_clamp_is_told() -> None:
    plan = plan_memory(model(window=8192), ROOMY, WORK)
    assert fit_request(plan, 1000) == Fit(7192, None, plan.row_bytes(8192))
    assert fit_request(plan, 1000, 100) == Fit(100, 100, plan.row_bytes(1100))
    assert fit_request(plan, 1000, default_tokens=COMPLETION_TOKENS) == Fit(512, None, plan.row_bytes(1512))
    assert fit_request(plan, 8000, default_tokens=COMPLETION_TOKENS) == Fit(192, None, plan.row_bytes(8192))
    clamped = fit_request(plan, 8000, 1000)
    assert isinstance(clamped, Fit)
    assert (clamped.max_tokens, clamped.clamped) == (192, True)
    assert clamped.warning is not None
    assert clamped.warning.isascii()
    assert "1000" in clamped.warning
    assert "192" in clamped.warning
    assert isinstance(fit_request(plan, 8191), Fit)


def refusal(plan: MemoryPlan, prompt: int, answer: int | None = None, *, clamp: bool = True) -> Refusal:
    found = fit_request(plan, prompt, answer, clamp=clamp)
    assert isinstance(found, Refusal)
    return found


def test_a_prompt_beyond_the_context_window_is_refused_with_the_numbers() -> None:
    found = refusal(plan_memory(model(window=8192), ROOMY, WORK), 8192)
    assert (found.code, found.max_context) == ("context_over_budget", 8192)
    for part in ("8,192 tokens", "8,193", "llama-1b", "larger context window"):
        assert part in found.message


def test_a_prompt_beyond_the_memory_is_refused_with_the_numbers() -> None:
    plan = plan_memory(model(), budget(4e9), WORK)
    found = refusal(plan, plan.max_safe_context)
    assert (found.code, found.available_bytes) == ("context_over_budget", 4 * GB)
    assert found.needed_bytes == plan.needed_bytes(plan.max_safe_context + 1) > 4 * GB
    for part in (f"{plan.max_safe_context:,}", "2.47 GB", "4.00 GB", "--memory-budget"):
        assert part in found.message
    long = refusal(plan, 90_000)
    assert gigabytes(long.needed_bytes) in long.message


def test_prompt_and_answer_together_are_refused_where_nothing_is_clamped() -> None:
    plan = plan_memory(model(window=8192), ROOMY, WORK)
    found = refusal(plan, 8000, 500, clamp=False)
    assert (found.prompt_tokens, found.max_tokens) == (8000, 500)
    assert "8,500" in found.message
    assert isinstance(fit_request(plan, 8000, 192, clamp=False), Fit)


def test_a_row_larger_than_the_kv_budget_is_refused_by_its_name() -> None:
    plan = plan_memory(model(), ROOMY, WORK, kv_budget_bytes=32768 * (1000 + 255))
    found = refusal(plan, 1000)
    assert (found.code, found.max_context) == ("memory_admission", 1000)
    for part in ("1,001", "--kv-budget", "1,000 tokens", gigabytes(plan.kv_budget_bytes)):
        assert part in found.message


# Rows


def accountant(tokens: int, reserve: int = 10) -> KvAccountant:
    """One byte a token."""
    return KvAccountant(lambda count: count, tokens, reserve, padded=False)


def test_joiners_wait_in_order_and_the_prompt_cache_goes_first() -> None:
    rows = [KvRow(1, 50, 100)]
    waiting = [KvRow(2, 20, 100, arrived=1), KvRow(3, 60, 100, arrived=2), KvRow(4, 1, 100, arrived=3)]
    found = accountant(100).decide(rows, waiting, cache_bytes=70)
    assert (found.join, found.wait, found.suspend) == ((2,), (3, 4), ())
    assert (found.charged_bytes, found.evict_bytes) == (60 + 30, 60)
    assert accountant(1000).decide(rows, waiting, cache_bytes=70).evict_bytes == 0


def test_when_rows_outgrow_the_budget_the_youngest_of_the_lowest_priority_leaves() -> None:
    rows = [KvRow(1, 40, 99, 1, 1), KvRow(2, 30, 99, 0, 2), KvRow(3, 30, 99, 0, 3), KvRow(4, 20, 99, 1, 4)]
    found = accountant(123).decide(rows, [KvRow(5, 1, 9, 0, 5)])
    assert (found.suspend, found.wait) == ((3,), (5,))
    assert accountant(60).decide(rows).suspend == (3, 2, 4)
    assert accountant(124).decide(rows).suspend == ()


def test_nobody_slips_in_before_a_row_that_was_just_suspended() -> None:
    rows = [KvRow(1, 40, 99, 1, 1), KvRow(2, 80, 99, 0, 2)]
    found = accountant(121).decide(rows, [KvRow(5, 1, 9, 0, 5), KvRow(6, 1, 9, 1, 6)])
    assert (found.suspend, found.join, found.wait) == ((2,), (6,), (5,))


def test_a_more_important_request_takes_the_place_of_a_lesser_one() -> None:
    rows = [KvRow(1, 40, 99, 0, 1), KvRow(2, 30, 99, 0, 2)]
    assert accountant(100).decide(rows, [KvRow(3, 40, 99, 1, 3)]).suspend == (2,)
    assert accountant(100).decide(rows, [KvRow(3, 40, 99, 0, 3)]).wait == (3,)
    impossible = accountant(100).decide(rows, [KvRow(3, 40, 101, 1, 3)])
    assert (impossible.refuse, impossible.suspend) == ((3,), ())


requests = st.lists(
    st.tuples(st.integers(1, 60), st.integers(1, 40), st.integers(0, 2)), min_size=1, max_size=12
)


@settings(deadline=None)
@given(requests, st.integers(100, 400), st.booleans())
def test_all_requests_finish_and_the_budget_holds_at_every_step(
    asked: list[tuple[int, int, int]], size: int, padded: bool
) -> None:
    rules = KvAccountant(lambda count: count, size, 8, padded=padded)
    waiting = {
        n: KvRow(n, prompt, prompt + answer, rank, n) for n, (prompt, answer, rank) in enumerate(asked)
    }
    running: dict[int, KvRow] = {}
    for _ in range(40 * len(asked) + 1):
        if not waiting and not running:
            break
        found = rules.decide(list(running.values()), list(waiting.values()))
        assert found.refuse == ()
        for n in found.suspend:
            waiting[n] = running.pop(n)
        for n in found.join:
            running[n] = waiting.pop(n)
        assert running
        running = {n: replace(row, tokens=row.tokens + 1) for n, row in running.items()}
        assert rules.charge(running.values()) <= size
        running = {n: row for n, row in running.items() if row.tokens < row.limit}
    assert not waiting
    assert not running


def test_admission_loads_no_mlx() -> None:
    server = str(Path(__file__).parent.parent.parent / "server")
    code = f"""
import sys
sys.path.insert(0, {server!r})
import fireside.catalog.fit_request
print(*sys.modules)
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"mlx", "mlx_lm", "transformers", "quart"} & set(loaded.stdout.split())
