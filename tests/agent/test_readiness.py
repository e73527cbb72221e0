"""Which model can be asked, found out when it changes."""

from __future__ import annotations

import asyncio

from agent.scripted import Upstream, create_app, serving
from fireside_agent.protocol import Ready
from fireside_agent.provider import Provider
from fireside_agent.readiness import READY_POLL_SECONDS, Readiness


async def test_a_model_that_has_just_changed_is_known_long_before_the_next_look() -> None:
    upstream = Upstream(models={"data": [{"id": "first"}]})
    told: asyncio.Queue[Ready] = asyncio.Queue()
    async with serving(create_app(upstream)) as port:
        provider = Provider(f"http://127.0.0.1:{port}/v1", "key")
        readiness = Readiness(provider, told.put_nowait)
        watching = asyncio.create_task(readiness.watch())
        readiness.wanted.set()
        async with asyncio.timeout(READY_POLL_SECONDS / 2):
            assert (await told.get()).model == "first"
            upstream.models = {"data": [{"id": "second"}]}
            readiness.look_again()
            assert (await told.get()).model == "second"
            # The same model again is nothing to tell.
            readiness.look_again()
            upstream.models = {"data": [{"id": "third"}]}
            readiness.look_again()
            assert (await told.get()).model == "third"
        watching.cancel()
        await provider.close()
