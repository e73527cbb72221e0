"""What the prompt cache saves: second turns, and prompts that share a system text."""

from __future__ import annotations

import asyncio
from itertools import takewhile

from bench.report import Table
from bench.serve import Target
from bench.servers import Setting, Work, contestants, fireside
from bench.stream import Answer, ask, ask_all, chat_body

_ANSWER_TOKENS = 24
_SHARING = 8


def measure_turns(setting: Setting, tokens: int) -> list[Table]:
    """Time to first token of a chat's second turn as a share of that of its first, which is cold."""
    columns = ("server", "cold TTFT, ms", "second TTFT, ms", "share", "prompt tokens", "cached tokens")
    table = Table(f"Second turn of a chat of {tokens} tokens, {setting.name}", columns)
    with contestants(setting) as targets:
        found = asyncio.run(_turns(setting, targets, tokens))
    for target in targets:
        pairs = found[target.name]
        cold, second = [1000 * a.ttft_s for a, _ in pairs], [1000 * b.ttft_s for _, b in pairs]
        last = pairs[-1][1]
        shares = [b / a for a, b in zip(cold, second, strict=True)]
        table.add(target.name, cold, second, shares, last.usage["prompt_tokens"], _cached(last))
    return [table]


async def _turns(
    setting: Setting, targets: list[Target], tokens: int
) -> dict[str, list[tuple[Answer, Answer]]]:
    work = Work(setting.name)
    found = {target.name: list[tuple[Answer, Answer]]() for target in targets}
    for number in range(setting.rounds + 1):
        for target in targets:
            text = await work.long(targets[0], tokens, seed=number)
            pair = await _two_turns(target, text)
            if number:
                found[target.name].append(pair)
    return found


async def _two_turns(target: Target, text: str) -> tuple[Answer, Answer]:
    messages = [{"role": "user", "content": text}]
    first = await ask(target, chat_body(target, messages, _ANSWER_TOKENS))
    messages += [
        {"role": "assistant", "content": first.text},
        {"role": "user", "content": "Thanks!"},
    ]
    # What a server does after an answer, such as writing a snapshot, is not the next turn's cost.
    await asyncio.sleep(0.3)
    return first, await ask(target, chat_body(target, messages, _ANSWER_TOKENS))


def measure_shared(setting: Setting, tokens: int) -> list[Table]:
    """Prompt tokens computed for requests that share a system text and arrive together."""
    columns = (
        "round",
        "prompt tokens",
        "shared",
        "own, in all",
        "at most",
        "computed",
        "cached",
        "last TTFT, ms",
    )
    table = Table(f"{_SHARING} requests with one system text of {tokens} tokens, {setting.name}", columns)
    with fireside(setting) as target:
        for number in range(setting.rounds):
            shared, answers = asyncio.run(_sharing(setting, target, tokens, number))
            prompts = sum(answer.usage["prompt_tokens"] for answer in answers)
            own = prompts - _SHARING * shared
            computed = sum(answer.fireside["computed"] for answer in answers)
            cached = sum(_cached(answer) or 0 for answer in answers)
            slowest = max(1000 * answer.ttft_s for answer in answers)
            table.add(number + 1, prompts, shared, own, shared + own, computed, cached, slowest)
    return [table]


async def _sharing(setting: Setting, target: Target, tokens: int, number: int) -> tuple[int, list[Answer]]:
    system = await Work(setting.name).long(target, tokens, seed=100 + number)
    chats = [
        [{"role": "system", "content": system}, {"role": "user", "content": f"{who}, who are you?"}]
        for who in ("You there", "Robot", "My friend", "Model", "Stranger", "Hello", "Fireside", "Sir")
    ]
    bodies = [chat_body(target, chat, 8, return_progress=True) for chat in chats]
    answers = await ask_all(target, bodies)
    return _shared([_ids(setting, chat) for chat in chats]), answers


def _shared(prompts: list[list[int]]) -> int:
    """Tokens with which all of them begin."""
    return len(list(takewhile(lambda tokens: len(set(tokens)) == 1, zip(*prompts, strict=False))))


def _ids(setting: Setting, messages: list[dict[str, str]]) -> list[int]:
    """The prompt's tokens, rendered here: a server does not tell which ones two prompts share."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(setting.folder))
    text = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, enable_thinking=False, tokenize=False
    )
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def _cached(answer: Answer) -> int | None:
    return (answer.usage.get("prompt_tokens_details") or {}).get("cached_tokens")
