"""The engine's figures, each beside what it is to be compared with.

    cd scripts
    ../.venv/bin/python -m bench.engine decode [--model FOLDER] [--rounds 7] [--json FILE]

What is compared is measured in turn, A B A B …, in one run, so that a machine whose speed drifts slows
all alike. A first round does not count. A cell with several numbers is their median, with the smallest and
the largest; a ratio is the median of the pairs' ratios. Arguments after `--` go to `fireside serve`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.decode import measure_decode
from bench.fairness import measure_join, measure_priority, measure_steady
from bench.gpu import SHAPES, measure_gpu
from bench.grammar import measure_grammar
from bench.load import measure_page, measure_queue
from bench.prompts import measure_shared, measure_turns
from bench.report import Table, publish
from bench.servers import Setting

Measure = Callable[[argparse.Namespace, Setting], list[Table]]


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--model", type=Path, help="a model folder instead of the default model")
    common.add_argument("--home", type=Path, help="FIRESIDE_HOME of the servers, kept; default: a new one")
    common.add_argument("--rounds", type=int, default=7, help="that count (default %(default)s)")
    common.add_argument("--no-peer", action="store_true", help="leave mlx_lm.server out")
    common.add_argument("--json", type=Path, help="also write the tables there")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, measure: Measure) -> argparse.ArgumentParser:
        doc = globals()[f"measure_{name}"].__doc__ or ""
        sub = commands.add_parser(name, parents=[common], help=doc.partition("\n")[0], description=doc)
        sub.set_defaults(measure=measure)
        return sub

    decode = command("decode", lambda o, s: measure_decode(s, o.rows, o.seconds, o.ignore_token))
    decode.add_argument("--rows", type=int, nargs="+", default=[1, 4, 8])
    decode.add_argument("--seconds", type=float, default=3.0, help="of one measurement, roughly")
    decode.add_argument("--ignore-token", type=int, help="an end token that is never drawn, on both sides")
    grammar = command("grammar", lambda o, s: measure_grammar(s, o.rows, o.seconds, o.ignore_token))
    grammar.add_argument("--rows", type=int, nargs="+", default=[4])
    grammar.add_argument("--seconds", type=float, default=4.0, help="of one measurement, roughly")
    grammar.add_argument("--ignore-token", type=int, help="an end token that is never drawn")
    turns = command("turns", lambda o, s: measure_turns(s, o.tokens))
    turns.add_argument("--tokens", type=int, default=1500)
    join = command("join", lambda o, s: measure_join(s, o.tokens))
    join.add_argument("--tokens", type=int, default=4000)
    priority = command("priority", lambda o, s: measure_priority(s, o.rows))
    priority.add_argument("--rows", type=int, default=8)
    steady = command("steady", lambda o, s: measure_steady(s, o.each, o.pace))
    steady.add_argument("--each", type=int, default=60, help="requests of each class")
    steady.add_argument("--pace", type=float, default=1.0, help="between two requests, in lone durations")
    shared = command("shared", lambda o, s: measure_shared(s, o.tokens))
    shared.add_argument("--tokens", type=int, default=1000)
    queue = command("queue", lambda o, s: measure_queue(s, o.sizes, o.rows, o.clients))
    queue.add_argument("--sizes", type=int, nargs="*", default=[4, 256], help="of the queue")
    queue.add_argument("--rows", type=int, default=8)
    queue.add_argument("--clients", type=int, default=256)
    page = command("page", lambda o, s: measure_page(s, o.rows, o.seconds))
    page.add_argument("--rows", type=int, default=8)
    page.add_argument("--seconds", type=float, default=20.0)
    gpu = command("gpu", lambda o, s: measure_gpu(s, o.shapes, o.rows, o.seconds, o.within, o.weights))
    gpu.add_argument("--shapes", nargs="+", default=["0.6B", "8B"], choices=SHAPES)
    gpu.add_argument("--rows", type=int, nargs="+", default=[8, 1, 32])
    gpu.add_argument("--seconds", type=float, default=3.0, help="that each has in a pair, roughly")
    gpu.add_argument("--within", type=float, default=190.0, help="seconds; what does not fit is left out")
    gpu.add_argument("--weights", type=Path, help="where models are written; default: memory if it has room")
    return parser


def main() -> None:
    """Run one measurement."""
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = _parser().parse_args(arguments[:split])
    measure: Measure = options.measure
    with tempfile.TemporaryDirectory() as scratch:
        setting = Setting(
            options.model,
            options.home or Path(scratch) / "home",
            Path(scratch),
            options.rounds,
            not options.no_peer,
            arguments[split + 1 :],
        )
        publish(measure(options, setting), options.json)


if __name__ == "__main__":
    main()
