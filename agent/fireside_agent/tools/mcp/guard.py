"""Runs a program so that nothing of it outlives Fireside. A script: `python -I -S guard.py PROGRAM [ARG…]`.

It leads the process group that the program runs in, passes its own pipes on, and ends the group when the
program has ended or when standard input hangs up: Fireside has closed it, or was killed. The program can
read end of file there and leave by itself before that. What leaves the process group is not caught.
"""

import os
import select
import signal
import subprocess
import sys
import threading
import time

GRACE_S = 1.0
"""For a program that leaves by itself when its input ends."""

TERM_S = 0.5
"""From SIGTERM to SIGKILL."""

CHECK_MS = 5000
"""How often the parent is looked for, where a hung-up pipe should go unreported."""


def main(command: list[str]) -> None:
    # Not ignored: that would be inherited. The group gets SIGTERM, the guard stays for the SIGKILL.
    signal.signal(signal.SIGTERM, stay)
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    parent = os.getppid()
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(127)
    ending = threading.Event()
    threading.Thread(target=end_with_input, args=(parent, ending), daemon=True).start()
    # Only the program writes to standard output: its end has to be seen when the program is gone.
    os.close(sys.stdout.fileno())
    status = process.wait()
    if status != 0 and not (status == -signal.SIGTERM and ending.is_set()):
        how = f"exit status {status}" if status > 0 else f"signal {-status}"
        print(f"ended with {how}", file=sys.stderr, flush=True)
    os.killpg(0, signal.SIGKILL)


def stay(_signal: int, _frame: object) -> None:
    pass


def end_with_input(parent: int, ending: threading.Event) -> None:
    poll = select.poll()
    poll.register(0, 0)
    while not poll.poll(CHECK_MS) and os.getppid() == parent:
        pass
    ending.set()
    time.sleep(GRACE_S)
    os.killpg(0, signal.SIGTERM)
    time.sleep(TERM_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
