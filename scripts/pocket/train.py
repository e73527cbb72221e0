# PyTorch is not among Fireside's requirements.
# pyright: basic, reportMissingImports=false
"""Train a pocket model on one GPU and write it as a model folder.

    cd scripts
    python -m pocket.train --shape 256,4,4,1,640 --minutes 9 --out pocket

Needs PyTorch, which Fireside itself does not: run it where there is a GPU. Processes draw fresh
conversations all the time, so no example is seen twice; the loss counts the assistant's tokens only.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing as mp
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from numpy.typing import NDArray
from tokenizers import Tokenizer

from pocket import vocabulary
from pocket.examples import BANDS, CONTEXT, ROWS, Case, Encoder, Example, cases, training_examples
from pocket.network import Network, Shape, compile_parts, export

LENGTHS = (384, 512, 768, 1024, 1536, 2048, 3072, CONTEXT)
"""Row lengths; an example goes into the shortest that holds it."""

TOKENS = 3 * 2**16
"""Tokens of a batch, whatever its row length: a multiple of every length."""

Batch = tuple[NDArray[np.uint16], NDArray[np.bool_]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--shape", type=Shape.parse, required=True, help="width,layers,heads,kv_heads,feed_forward"
    )
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1, help="of the data; the tokenizer's is always 1")
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--rate", type=float, default=3e-3, help="peak learning rate")
    parser.add_argument("--optimizer", choices=("adamw", "muon"), default="muon")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--score", type=int, default=100, help="requests a row and band to score at the end")
    options = parser.parse_args()

    tokenizer = vocabulary.train(seed=1)
    vocabulary.save(tokenizer, options.out)
    scorer = mp.Pool(2)
    wanted = [(tokenizer.to_str(), row, band, options.score) for row in ROWS for band in BANDS]
    scored = scorer.starmap_async(_cases, wanted, chunksize=1)
    queues = _start_workers(tokenizer, options.seed, options.workers)
    torch.manual_seed(options.seed)
    network = Network(options.shape).to(options.device)
    _say(parameters=sum(p.numel() for p in network.parameters()))
    if options.device == "cuda":
        compile_parts()
    _train(network, queues, options)
    export(network, options.out)
    _score(network, Encoder(tokenizer), [case for found in scored.get() for case in found], options.out)


def _train(network: Network, queues: list[Any], options: argparse.Namespace) -> None:
    optimizers = _optimizers(network, options.optimizer)
    step, started, seen = 0, time.monotonic(), 0
    while True:
        progress = (time.monotonic() - started) / (options.minutes * 60)
        if progress >= 1:
            break
        rate = options.rate * _schedule(progress, step)
        ids, trained = queues[step % len(queues)].get()
        batch = torch.from_numpy(ids.astype(np.int64)).to(options.device, non_blocking=True)
        mask = torch.from_numpy(trained[:, 1:]).to(options.device, non_blocking=True).reshape(-1)
        with torch.autocast(options.device, dtype=torch.bfloat16):
            hidden = network(batch[:, :-1])
            logits = network.logits(hidden[mask])
        loss = F.cross_entropy(logits.float(), batch[:, 1:].reshape(-1)[mask])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        step += 1
        seen += batch.numel()
        if step % 100 == 0:
            elapsed = time.monotonic() - started
            waiting = sum(queue.qsize() for queue in queues)
            _say(
                step=step,
                s=round(elapsed),
                loss=round(loss.item(), 5),
                mtok_s=round(seen / elapsed / 1e6, 2),
                queued=waiting,
            )


def _schedule(progress: float, step: int) -> float:
    """Warm-up over 200 steps, steady to a third, then down a cosine."""
    warm = min(1.0, (step + 1) / 200)
    if progress < 1 / 3:
        return warm
    return warm * (0.5 * (1 + math.cos(math.pi * (progress - 1 / 3) * 1.5)) + 0.002)


def _optimizers(network: Network, name: str) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al., 2024) for the blocks' matrices if asked for, AdamW for all else."""
    matrices = [p for n, p in network.named_parameters() if n.startswith("blocks") and p.ndim == 2]
    others = [p for n, p in network.named_parameters() if not (n.startswith("blocks") and p.ndim == 2)]
    if name == "muon":
        return [
            torch.optim.Muon(matrices, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return [torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=True)]


def _start_workers(tokenizer: Tokenizer, seed: int, count: int) -> list[Any]:
    queues: list[Any] = []
    for number in range(count):
        queue: Any = mp.Queue(3)
        mp.Process(target=_work, args=(tokenizer.to_str(), f"{seed}-{number}", queue), daemon=True).start()
        queues.append(queue)
    return queues


def _work(tokenizer: str, seed: str, queue: Any) -> None:
    for batch in _batches(training_examples(Encoder(Tokenizer.from_str(tokenizer)), seed)):
        queue.put(batch)


def _batches(examples: Iterator[Example]) -> Iterator[Batch]:
    """Rows of like length, `TOKENS` tokens a batch, and one token more a row."""
    waiting: dict[int, list[Example]] = defaultdict(list)
    for example in examples:
        length = next(length for length in LENGTHS if len(example.ids) <= length + 1)
        rows = waiting[length]
        rows.append(example)
        if len(rows) * length == TOKENS:
            ids = np.zeros((len(rows), length + 1), np.uint16)
            trained = np.zeros((len(rows), length + 1), np.bool_)
            for i, row in enumerate(rows):
                ids[i, : len(row.ids)] = row.ids
                trained[i, : len(row.ids)] = row.trained
            yield ids, trained
            rows.clear()


def _cases(tokenizer: str, row: str, band: Any, count: int) -> list[tuple[str, Case]]:
    return [
        (str(band), case) for case in cases(Encoder(Tokenizer.from_str(tokenizer)), row, band, count, seed=77)
    ]


@torch.no_grad()
def _score(network: Network, encoder: Encoder, found: list[tuple[str, Case]], folder: Path) -> None:
    """Exact answers a row and band. Greedy decoding gives the expected answer exactly if every token of
    it is the likeliest after those before it, which one pass tells."""
    device = network.embedding.weight.device.type
    right: dict[tuple[str, str], dict[int, bool]] = defaultdict(dict)
    wrong: list[str] = []
    for band, case in found:
        prompt, answer = encoder.encode(case.prompt), encoder.encode(case.expected)
        ids = torch.tensor([prompt + answer], device=device)
        with torch.autocast(device, dtype=torch.bfloat16):
            guess = network.logits(network(ids[:, :-1])[len(prompt) - 1 :]).argmax(-1).tolist()
        exact = guess == answer
        requests = right[case.row, band]
        requests[case.request] = requests.get(case.request, True) and exact
        if not exact:
            at = next(i for i, (g, a) in enumerate(zip(guess, answer, strict=True)) if g != a)
            wrong.append(
                json.dumps(
                    {
                        "row": case.row,
                        "band": band,
                        "ask": case.prompt[-400:],
                        "expected": case.expected,
                        "right_until": encoder.decode(answer[:at]),
                        "then": encoder.decode(guess[at : at + 6]),
                    },
                    ensure_ascii=False,
                )
            )
    scores = {f"{row} | {band}": round(100 * sum(r.values()) / len(r), 1) for (row, band), r in right.items()}
    (folder / "scores.json").write_text(json.dumps(scores, indent=1), "utf-8")
    (folder / "wrong.jsonl").write_text("\n".join(wrong), "utf-8")
    _say(**scores)


def _say(**values: Any) -> None:
    print(json.dumps(values), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
