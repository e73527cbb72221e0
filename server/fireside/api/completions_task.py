"""A text completion's body to what the engine can take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from fireside.api.chat_format import MAX_ANSWERS
from fireside.api.completions_format import CompletionBody
from fireside.api.constraints import ToolChoice, constraint_of
from fireside.api.generation import CONTINUED_TOKENS, GrammarOutcome, Prepared, Served, grammar_of
from fireside.api.repeated import repeated
from fireside.api.sampling import choose
from fireside.engine.admission import admit
from fireside.engine.requests import GenerationRequest
from fireside.http.errors import BadRequest, ContextOverBudget
from fireside.text.model import TextModel

_DEFAULT_TOKENS = 512

Text = str | list[int]
"""A prompt: a text, or token ids."""


@dataclass(frozen=True)
class TextTask:
    """One body: for each answer what is to be generated, and the text that it begins with.

    Attributes:
        prepared: the answers in the order of their index, those of one prompt side by side.
        echoes: the text of each one's prompt where it is wanted in front of the answer, else empty.
        answers_each: how many answers each prompt has.
    """

    prepared: list[Prepared]
    echoes: list[str]
    answers_each: int

    @property
    def warning(self) -> str | None:
        """What was changed of the request; None if nothing was."""
        return next((prepared.warning for prepared in self.prepared if prepared.warning), None)


async def prepare_text(served: Served, body: CompletionBody, *, own: bool = False) -> TextTask:
    """Tokenize the prompts and fill in what the body does not say.

    Answers to one prompt have seeds that follow one another, so that each can be had again by itself.

    Args:
        own: the request is Fireside's own, and may be interactive.

    Raises:
        Forbidden: a foreign request wants to be interactive.
        BadRequest: a prompt is empty or has ids that are no tokens, or a field is not supported.
        ContextOverBudget: a prompt leaves no room for an answer.
    """
    count = body.n or 1
    _refuse_unsupported(body, count)
    prompts = list(_prompts(body))
    if len(prompts) * count > MAX_ANSWERS:
        raise BadRequest(
            f"{len(prompts)} prompts with {count} answers each are more than {MAX_ANSWERS} answers; "
            "send several requests.",
            param="prompt",
        )
    constrained = await grammar_of(served, constraint_of(body, (), ToolChoice(), served.text))
    prepared: list[Prepared] = []
    echoes: list[str] = []
    for name, prompt in prompts:
        ids = await _ids(served, name, prompt)
        echo = await _echo(served.text, prompt) if body.echo else ""
        first = _prepared(served, body, ids, constrained, own=own)
        prepared += repeated(first, count)
        echoes += [echo] * count
    return TextTask(prepared, echoes, count)


def _refuse_unsupported(body: CompletionBody, count: int) -> None:
    body.refuse_missing_capabilities()
    if body.logprobs is not None and not isinstance(body.logprobs, bool):
        raise BadRequest(
            "logprobs must be of type bool; how many of the likeliest tokens are named is top_logprobs.",
            param="logprobs",
        )
    if body.echo and body.likeliest(body.logprobs) is not None:
        raise BadRequest(
            "echo: logprobs of the prompt are not computed; ask without echo or without logprobs.",
            param="echo",
        )
    if body.suffix:
        raise BadRequest("suffix: a text cannot be filled in from both sides here.", param="suffix")
    if body.best_of is not None and body.best_of != count:
        raise BadRequest(
            f"best_of: all answers are returned, so it can only be n, which is {count}.", param="best_of"
        )


def _prompts(body: CompletionBody) -> Iterator[tuple[str, Text]]:
    """Each prompt with the name of its place in the body."""
    prompt = body.prompt
    if isinstance(prompt, list) and prompt and not all(isinstance(item, int) for item in prompt):
        kinds = {type(item) for item in prompt}
        if len(kinds) > 1:
            raise BadRequest(
                "prompt must be a text, or a list of texts, of token ids, or of lists of token ids.",
                param="prompt",
            )
        named = [(f"prompt[{index}]", cast("Text", item)) for index, item in enumerate(prompt)]
    else:
        named = [("prompt", cast("Text", prompt))]
    for name, text in named:
        if not text:
            raise _empty(name)
        yield name, text


async def _ids(served: Served, name: str, prompt: Text) -> list[int]:
    if isinstance(prompt, str):
        if served.text.too_many_characters(len(prompt)):
            raise _over_budget(served, name, "far too many")
        ids = await served.text.encode(prompt)
    else:
        ids = prompt
        size = served.text.vocab_size
        wrong = next((token for token in ids if not 0 <= token < size), None)
        if wrong is not None:
            raise BadRequest(f"{name}: {wrong} is not a token id; they are from 0 to {size - 1}", param=name)
    if not ids:
        raise _empty(name)
    if len(ids) >= served.text.context_window:
        raise _over_budget(served, name, str(len(ids)))
    return ids


async def _echo(text: TextModel, prompt: Text) -> str:
    if isinstance(prompt, str):
        return prompt
    # A character that the ids end inside of comes with the answer.
    return (await text.decode(prompt)).rstrip("\ufffd")


def _prepared(
    served: Served, body: CompletionBody, ids: list[int], constrained: GrammarOutcome, *, own: bool
) -> Prepared:
    fit = admit(
        served.admission,
        served.text.context_window,
        len(ids),
        body.answer_tokens,
        served.max_tokens or _DEFAULT_TOKENS,
    )
    request = GenerationRequest(
        prompt=ids,
        max_tokens=fit.max_tokens,
        stop_ids=served.text.stop_ids,
        sampling=choose(body, served.flags, served.text, served.text.thinks),
        top_logprobs=body.likeliest(body.logprobs),
        serial=body.alone,
        priority=body.priority_for(own),
        deadline_s=body.deadline_s,
        grammar=constrained.grammar,
        vocabulary=constrained.vocabulary,
        in_memory=body.in_memory,
        owner=body.owner,
    )
    continued = ids[-CONTINUED_TOKENS:]
    # Without a template there is no place for the instruction of a grammar that is not enforced.
    warning = "; ".join(filter(None, (fit.warning, constrained.warning))) or None
    return Prepared(request, body.stops, (), False, continued, warning=warning, raw=True)


def _empty(name: str) -> BadRequest:
    return BadRequest(f"{name} is empty; it must have at least one token.", param=name)


def _over_budget(served: Served, name: str, tokens: str) -> ContextOverBudget:
    return ContextOverBudget(
        f"{name} has {tokens} tokens; {served.model_id} holds {served.text.context_window}, "
        "the answer included. Shorten it.",
        param=name,
    )
