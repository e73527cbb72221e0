"""What a core with an embedder does once it is loaded."""

from typing import NoReturn

from fireside.core.blas_threads import ThreadGovernor
from fireside.core.channel import Channel
from fireside.core.embedding.queue import EmbeddingQueue
from fireside.core.embedding.reading import Reader
from fireside.wire import Cancel, Embed, Step


def serve_texts(
    channel: Channel, reader: Reader, slice_tokens: int, governor: ThreadGovernor | None
) -> NoReturn:
    """Answer until the app is gone."""
    queue = EmbeddingQueue(reader, slice_tokens)
    while True:
        for request in channel.drain() if queue.busy else [channel.receive()]:
            if isinstance(request, Embed | Cancel):
                queue.apply(request)
        if governor is not None:
            governor.between_steps()
        if queue.busy:
            done = queue.step()
            channel.send(Step([], [], 0, computed=done.tokens))
            for vectors in done.answers:
                channel.send(vectors)
