"""Load the model, then step for as long as there are rows."""

import sys

from fireside import wire
from fireside.core.blas_threads import ThreadGovernor
from fireside.core.channel import Channel
from fireside.core.loading import Loaded, LoadError, load
from fireside.core.profile import Profile
from fireside.core.scheduler import Scheduler

# A CPU reads a few hundred prompt tokens a second or two: shorter chunks keep running rows moving.
_PREFILL_STEP = {"cpu": 512, "gpu": 2048}


def run(channel: Channel, start: wire.Start, profile: Profile) -> None:
    """The life of a core after its imports. MLX runs on this thread and on no other."""
    try:
        loaded = load(start, profile, channel.send)
    except LoadError as error:
        channel.send(wire.Failed(str(error)))
        sys.exit(1)
    channel.send(loaded.ready)
    _serve(channel, make_scheduler(start, loaded), _governor(profile, loaded))


def make_scheduler(start: wire.Start, loaded: Loaded) -> Scheduler:
    """The scheduler that fits the device."""
    return Scheduler(loaded.model, loaded.vocab_size, start.max_rows, _PREFILL_STEP[loaded.ready.device])


def _governor(profile: Profile, loaded: Loaded) -> ThreadGovernor | None:
    if profile.blas is None or loaded.threads is None:
        return None
    return ThreadGovernor(profile.blas[0], loaded.threads.decode)


def _serve(channel: Channel, scheduler: Scheduler, governor: ThreadGovernor | None) -> None:
    while True:
        requests = channel.drain() if scheduler.busy else [channel.receive()]
        for request in requests:
            if not isinstance(request, wire.Start):
                scheduler.apply(request)
        if governor is not None:
            governor.between_steps()
        if scheduler.busy:
            channel.send(scheduler.step())
