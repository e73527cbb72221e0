"""Load the model, then step for as long as there are rows."""

import gc
import sys

import mlx.core as mx
from mlx_lm.generate import generation_stream
from mlx_lm.models.cache import KVCache, make_prompt_cache
from mlx_lm.utils import maybe_set_recommended_wired_limit

from fireside import wire
from fireside.catalog.fit import PREFILL_STEP
from fireside.core.blas_threads import ThreadGovernor
from fireside.core.cache.prompt_cache import PromptCache
from fireside.core.cache.ssd_open import open_tier
from fireside.core.cache.ssd_upkeep import Upkeep
from fireside.core.channel import Channel
from fireside.core.cuda_graphs import keep_few_graphs
from fireside.core.embedding.reading import Reader
from fireside.core.embedding.serving import serve_texts
from fireside.core.loading import Loaded, LoadError, load
from fireside.core.profile import Profile
from fireside.core.scheduler import Scheduler
from fireside.core.warmup import WarmUp

_TEXT_BLOCK = 32
"""Of texts to embed, which are mostly short."""


def run(channel: Channel, start: wire.Start, profile: Profile) -> None:
    """The life of a core after its imports. MLX runs on this thread and on no other."""
    try:
        loaded = load(start, profile, channel)
    except LoadError as error:
        channel.send(wire.Failed(str(error)))
        sys.exit(1)
    if loaded.embedder is not None:
        channel.send(loaded.ready)
        reader = Reader(loaded.model, loaded.embedder, min(_block(), _TEXT_BLOCK))
        serve_texts(channel, reader, PREFILL_STEP[loaded.ready.device], _governor(profile, loaded))
    cache = PromptCache(loaded.limits.prompt_cache_bytes)
    upkeep = _upkeep(channel, start, loaded, cache)
    channel.send(loaded.ready)
    scheduler = make_scheduler(loaded, cache)
    _serve(channel, scheduler, _warm_up(start, loaded, cache), _governor(profile, loaded), upkeep)


def _upkeep(channel: Channel, start: wire.Start, loaded: Loaded, cache: PromptCache) -> Upkeep | None:
    """What looks after the SSD tier, which is put below the prompt cache; None where there is none."""
    tier = open_tier(start.ssd, loaded.model, loaded.folder) if start.ssd and cache.enabled else None
    if start.ssd is None or tier is None:
        return None
    cache.below = tier
    return Upkeep(tier, cache, start.ssd.demote_idle_s, channel.send)


def make_scheduler(loaded: Loaded, cache: PromptCache) -> Scheduler:
    """The scheduler that fits the device and the limits."""
    keep_few_graphs(generation_stream, len(make_prompt_cache(loaded.model)))
    maybe_set_recommended_wired_limit()
    limits = loaded.limits
    return Scheduler(
        loaded.model,
        loaded.vocab_size,
        cache,
        limits.kv_budget_bytes,
        PREFILL_STEP[loaded.ready.device],
        _block(),
    )


def _block() -> int:
    """Tokens of a block of a prompt: with CUDA each new shape of attention costs some 75 ms."""
    return KVCache.step if mx.cuda.is_available() and mx.default_device() == mx.gpu else 1


def _warm_up(start: wire.Start, loaded: Loaded, cache: PromptCache) -> WarmUp | None:
    if loaded.ready.device == "cpu":
        return None
    rows = start.max_rows if loaded.ready.batches else 1
    return WarmUp(loaded.model, loaded.vocab_size, rows, PREFILL_STEP["gpu"], _block(), read=cache.read_anew)


def _governor(profile: Profile, loaded: Loaded) -> ThreadGovernor | None:
    if profile.blas is None or loaded.threads is None:
        return None
    threads = loaded.threads.prefill if loaded.embedder is not None else loaded.threads.decode
    return ThreadGovernor(profile.blas[0], threads)


def _serve(
    channel: Channel,
    scheduler: Scheduler,
    warm_up: WarmUp | None,
    governor: ThreadGovernor | None,
    upkeep: Upkeep | None,
) -> None:
    # What is there now stays: looking through it for garbage again and again would cost steps.
    gc.collect()
    gc.freeze()
    if warm_up is not None:
        channel.send(wire.WarmUp(warm_up.done, warm_up.total))
    while True:
        idle = not scheduler.busy
        warming = warm_up is not None and not warm_up.complete
        pause = upkeep.wait_s() if upkeep is not None and idle else None
        for request in channel.wait(pause) if idle and not warming else channel.drain():
            if isinstance(request, wire.Drain) and upkeep is not None:
                upkeep.drain(request)
            elif isinstance(request, wire.Submit | wire.Cancel | wire.Vocabulary | wire.Forget):
                scheduler.apply(request)
        if governor is not None:
            governor.between_steps()
        if scheduler.busy:
            channel.send(scheduler.step())
            if upkeep is not None:
                upkeep.between_steps()
        elif upkeep is not None and (pause == 0.0 or not warming):
            upkeep.idle()
        elif warm_up is not None and warming:
            warm_up.step()
            channel.send(wire.WarmUp(warm_up.done, warm_up.total))
