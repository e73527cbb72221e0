"""Kill what writes the SSD cache, damage its files, and see that no wrong token and no crash comes of it.

    cd scripts
    ../.venv/bin/python -m soak.ssd --kills 500 --cores 25

First a process that runs only the tier, with tensors of a small model's size (`soak.ssd_child`), is killed
at random moments, several at a time on one folder and of two models. Between the kills files are cut, grown,
have a bit turned around, or change names with one another; and now and then no file may get larger than some
bytes, as on a full disk. Then the core of a Fireside with the tests' model is killed while it answers, reads
back or writes, and each answer is compared with that of a Fireside that caches nothing. The exit status is 1
when a check fails.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from bench.serve import Target
from bench.servers import Setting, fireside, stats
from soak.engine import Checks
from soak.ssd_child import MAX_BYTES, WRONG

_POCKET = Path(__file__).resolve().parents[2] / "tests" / "models" / "pocket"
_MODELS = 2
_AT_ONCE = 3
_READY_WITHIN_S = 120.0
_MOST_S = 0.8
"""From a child's readiness to its end."""


@dataclass
class _Found:
    counts: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])


def damage(folder: Path, rng: random.Random) -> str | None:
    """Do something to a file of the tier that is there; says what, None where there was no file."""
    files = list(folder.glob("*.safetensors"))
    if not files:
        return None
    path = rng.choice(files)
    kind = rng.choice(("cut", "grown", "bit", "bit", "swapped"))
    try:
        size = path.stat().st_size
        if size == 0:
            return None
        if kind == "cut":
            os.truncate(path, rng.randrange(size))
        elif kind == "grown":
            with path.open("ab") as stream:
                stream.write(rng.randbytes(rng.randrange(1, 5000)))
        elif kind == "bit":
            with path.open("r+b") as stream:
                at = rng.randrange(size)
                stream.seek(at)
                byte = stream.read(1) or b"\0"  # cut by another meanwhile
                stream.seek(at)
                stream.write(bytes([byte[0] ^ 1 << rng.randrange(8)]))
        else:
            _swap(path, rng.choice(files))
    except FileNotFoundError:
        return None  # removed by a child meanwhile
    return kind


def _swap(one: Path, other: Path) -> None:
    """Give two files each other's names; the same one twice is left as it is."""
    if one != other:
        aside = one.with_name("aside")
        one.rename(aside)
        other.rename(one)
        aside.rename(other)


class TierSoak:
    """Children that run only the tier, each of which is killed."""

    def __init__(self, folder: Path, kills: int, seed: int) -> None:
        self._folder = folder
        self._kills = kills
        self._rng = random.Random(seed)
        self._lock = threading.Lock()
        self._started = 0
        self.found = _Found()

    def run(self, checks: Checks) -> None:
        """All kills, then a look at what is left."""
        threads = [threading.Thread(target=self._work) for _ in range(_AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for key in range(_MODELS):
            self._watch(self._child(key, "--check"), None)
        counts = self.found.counts
        checks.add("children killed", counts["killed"], self._kills, counts["killed"] == self._kills)
        checks.add("wrong or crashed", self.found.problems[:3] or 0, 0, not self.found.problems)
        for name in ("rounds", "restores", "spills"):
            checks.add(f"{name} of the children", counts[name], "> 0", counts[name] > 0)
        done = sum(counts[name] for name in ("cut", "grown", "bit", "swapped"))
        checks.add(
            "files damaged, found", f"{done}, {counts['quarantined']}", "> 0", counts["quarantined"] > 0
        )
        checks.add("entries refused by a full disk", counts["dropped"], "> 0", counts["dropped"] > 0)
        left = sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())
        checks.add("bytes in the folder", left, f"up to {MAX_BYTES}", left <= MAX_BYTES)
        partial = len(list(self._folder.glob(".*")))
        checks.add("parts of files left", partial, 0, partial == 0)

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._started >= self._kills or self.found.problems:
                    return
                self._started += 1
                number, rng = self._started, random.Random(self._rng.random())
            flags = ["--seed", str(number)]
            if rng.random() < 0.2:
                flags += ["--largest", str(rng.choice((0, 1000, 50_000, 300_000)))]
            child = self._child(rng.randrange(_MODELS), *flags)
            self._watch(child, rng.random() * _MOST_S)
            if rng.random() < 0.5 and (kind := damage(self._folder, rng)) is not None:
                self._count(kind, 1)

    def _child(self, key: int, *flags: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "soak.ssd_child", str(self._folder), "--key", str(key), *flags]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def _watch(self, child: subprocess.Popen[str], kill_after_s: float | None) -> None:
        """Follow a child to its end, which comes so long after it was ready, or by itself."""
        assert child.stdout is not None
        timers = [threading.Timer(_READY_WITHIN_S, child.kill)]
        timers[0].start()
        lines: list[str] = []
        for line in child.stdout:
            lines.append(line)
            if line == "ready\n" and kill_after_s is not None:
                timers.append(threading.Timer(kill_after_s, child.kill))
                timers[-1].start()
        _, errors = child.communicate()
        for timer in timers:
            timer.cancel()
        expected = 0 if kill_after_s is None else -signal.SIGKILL
        if child.returncode != expected or lines[:1] != ["ready\n"]:
            what = "WRONG" if child.returncode == WRONG else f"status {child.returncode}"
            with self._lock:
                self.found.problems.append(f"{what}: {errors[-300:]}")
        self._count("killed", int(kill_after_s is not None))
        whole = [line.split() for line in lines[1:] if line.endswith("\n")]
        if whole:
            for name, count in zip(
                ("rounds", "restores", "spills", "quarantined", "dropped"), map(int, whole[-1]), strict=True
            ):
                self._count(name, count)

    def _count(self, name: str, count: int) -> None:
        with self._lock:
            self.found.counts[name] += count


class CoreSoak:
    """A Fireside of which the core is killed, beside one that has no caches."""

    def __init__(self, target: Target, reference: Target, folder: Path, kills: int, seed: int) -> None:
        self._target = target
        self._reference = reference
        self._folder = folder
        self._kills = kills
        self._rng = random.Random(seed)
        self._talks: list[list[dict[str, str]]] = [[] for _ in range(4)]
        self._client = httpx.Client(timeout=300, trust_env=False)

    def run(self, checks: Checks) -> None:
        """All kills, with some turns between two of them."""
        different = restored = damaged = quarantined = 0
        killed = 0
        while killed < self._kills:
            if self._rng.random() < 0.4:
                damaged += damage(self._folder, self._rng) is not None
            timer = threading.Timer(self._rng.random() * 3, self._kill)
            timer.start()
            for _ in range(2):
                different += not self._turn()
            timer.join()
            killed += 1
            self._ready()
            for _ in range(2):
                different += not self._turn()
            found = stats(self._target)["ssd_cache"] or {}
            restored += found.get("restores", 0)
            quarantined += found.get("quarantined", 0)
        checks.add("cores killed", killed, self._kills, True)
        checks.add("answers that differ from those without caches", different, 0, different == 0)
        checks.add("prefixes brought back from the disk", restored, "> 0", restored > 0)
        checks.add("files damaged, found", f"{damaged}, {quarantined}", "-", True)

    def _turn(self) -> bool:
        """Go on with a conversation; whether both say the same."""
        talk = self._rng.choice(self._talks)
        if len(talk) > 8:
            talk.clear()
        words = " ".join(f"word{self._rng.randrange(1000)}" for _ in range(self._rng.randrange(30, 200)))
        talk.append({"role": "user", "content": f"{words}. What is the capital of France?"})
        texts = [self._ask(each, talk) for each in (self._target, self._reference)]
        talk.append({"role": "assistant", "content": texts[1]})
        if texts[0] != texts[1]:
            print(f"{texts[0]!r} is not {texts[1]!r}", file=sys.stderr, flush=True)
        return texts[0] == texts[1]

    def _ask(self, target: Target, messages: list[dict[str, str]]) -> str:
        body: dict[str, Any] = {"messages": messages, "temperature": 0, "max_tokens": 30}
        answer = self._client.post(f"{target.url}/v1/chat/completions", json=body).raise_for_status().json()
        return str(answer["choices"][0]["message"]["content"])

    def _kill(self) -> None:
        pid = stats(self._target)["engine"]["pid"]
        if pid is not None:
            psutil.Process(int(pid)).kill()

    def _ready(self) -> None:
        deadline = time.monotonic() + _READY_WITHIN_S
        while self._client.get(f"{self._target.url}/health").status_code != 200:
            if time.monotonic() > deadline:
                raise SystemExit("no core became ready after a kill")
            time.sleep(0.05)


def _cores(kills: int, seed: int, scratch: Path, checks: Checks) -> None:
    home = scratch / "home"
    setting = Setting(_POCKET, home, scratch, 1, False)
    folder = scratch / "core-tier"
    with fireside(setting, "--ssd-cache", str(folder)) as target:
        other = Setting(_POCKET, scratch / "other", scratch, 1, False)
        with fireside(other, "--prompt-cache", "0") as reference:
            CoreSoak(target, reference, folder, kills, seed).run(checks)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=500, help="of processes that run only the tier")
    parser.add_argument("--cores", type=int, default=25, help="kills of whole cores")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="of the tier, such as a small disk; default: a new one")
    return parser.parse_args(arguments)


def main() -> None:
    """Run it and report."""
    options = _options(sys.argv[1:])
    checks = Checks()
    with tempfile.TemporaryDirectory() as scratch:
        if options.kills:
            folder = options.folder or Path(scratch) / "tier"
            TierSoak(folder, options.kills, options.seed).run(checks)
        if options.cores:
            _cores(options.cores, options.seed, Path(scratch), checks)
    print(checks.table.markdown())
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
