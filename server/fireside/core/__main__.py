"""`python -m fireside.core FD`: a core on the connected socket FD."""

import logging
import os
import signal
import socket
import sys

from fireside import wire
from fireside.core.channel import Channel


def main() -> None:
    """Wait for `Start`, load, then step until the app is gone."""
    logging.basicConfig(level=logging.INFO, format="core: %(message)s", stream=sys.stderr)
    # The app decides when its cores end; a Ctrl-C in the terminal reaches it first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    start = channel.receive()
    if not isinstance(start, wire.Start) or start.version != wire.WIRE_VERSION:
        channel.send(wire.Failed(f"The app and the core are of different versions ({start!r})."))
        os._exit(1)
    channel.send(wire.Phase("importing", "Loading MLX"))

    try:
        # MLX may only be imported once the BLAS that it is to use has been loaded.
        from fireside.core.profile import prepare

        profile = prepare(start)

        from fireside.core.mlx_lm_alone import import_mlx_lm

        import_mlx_lm()

        from fireside.core.runner import run
    except ImportError as error:
        hint = "On Linux MLX needs one of the extras: pip install 'fireside[cpu]' or 'fireside[cuda]'."
        channel.send(wire.Failed(f"MLX cannot be loaded: {error}. {hint}"))
        sys.exit(1)
    run(channel, start, profile)


main()
