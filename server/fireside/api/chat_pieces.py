"""The engine's outputs in the shapes of the chat route."""

from __future__ import annotations

import msgspec

from fireside.api import chat_format as wire
from fireside.api.generation import TokenLogprobs
from fireside.engine.requests import Prefill, Queued, Restarting
from fireside.text.markup import (
    CallArguments,
    CallFinished,
    CallStarted,
    ContentText,
    MarkupEvent,
    ReasoningText,
)
from fireside.text.model import TextModel


def delta_of(piece: MarkupEvent) -> wire.Delta | None:
    """A piece of the answer as a delta; the end of a call is told by what follows it."""
    match piece:
        case ReasoningText(text):
            return wire.Delta(reasoning=text, reasoning_content=text)
        case ContentText(text):
            return wire.Delta(content=text)
        case CallStarted(index, call_id, name):
            function = wire.FunctionDelta(name, "")
            return wire.Delta(tool_calls=[wire.CallDelta(index, function, call_id, "function")])
        case CallArguments(index, fragment):
            return wire.Delta(tool_calls=[wire.CallDelta(index, wire.FunctionDelta(arguments=fragment))])
        case CallFinished():
            return None


class WholeMessage:
    """A whole answer out of its pieces. A call that was cut off stays, as far as it came."""

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._calls: dict[int, tuple[CallStarted, list[str]]] = {}

    def add(self, piece: MarkupEvent) -> None:
        """Take the next piece."""
        match piece:
            case ReasoningText(text):
                self._reasoning.append(text)
            case ContentText(text):
                self._content.append(text)
            case CallStarted(index):
                self._calls[index] = piece, []
            case CallArguments(index, fragment):
                self._calls[index][1].append(fragment)
            case CallFinished():
                pass

    def as_wire(self) -> wire.Message:
        """The message as far as it came."""
        content, reasoning = "".join(self._content), "".join(self._reasoning) or msgspec.UNSET
        calls = [
            wire.Call(call.id, wire.Function(call.name, "".join(fragments)))
            for call, fragments in self._calls.values()
        ]
        return wire.Message(
            content=content or None if calls else content,
            reasoning=reasoning,
            reasoning_content=reasoning,
            tool_calls=calls or msgspec.UNSET,
        )


def progress_of(output: Queued | Prefill | Restarting) -> wire.Progress:
    """What a request waits for."""
    match output:
        case Queued():
            return wire.Progress("queued", queue_position=output.position, eta_s=output.eta_s)
        case Prefill():
            return wire.Progress("prefill", prefill_done=output.done, prefill_total=output.total)
        case Restarting():
            return wire.Progress("restarting")


class Likelihoods:
    """Collects how likely tokens were, until something is sent that they can go with."""

    def __init__(self, text: TextModel) -> None:
        self._text = text
        self._entries: list[wire.TokenEntry] = []

    async def add(self, token: TokenLogprobs) -> None:
        """Take the next token's."""
        pairs = [(token.token, token.logprobs.chosen), *token.logprobs.top]
        texts = await self._text.token_texts([other for other, _ in pairs])
        chosen, *top = [_likely(*pair, text) for pair, text in zip(pairs, texts, strict=True)]
        entry = wire.TokenEntry(chosen.id, chosen.token, chosen.bytes, chosen.logprob, top)
        self._entries.append(entry)

    def take(self) -> wire.ChoiceLogprobs | msgspec.UnsetType:
        """What was collected since the last time; unset if nothing was."""
        entries, self._entries = self._entries, []
        return wire.ChoiceLogprobs(entries) if entries else msgspec.UNSET


def _likely(token: int, logprob: float, text: str) -> wire.LikelyToken:
    whole = "\ufffd" not in text
    return wire.LikelyToken(token, text, list(text.encode()) if whole else None, logprob)
