"""`/tokenize` and `/detokenize`, for clients of llama.cpp's server and of vLLM's."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from quart import Blueprint, Response

from fireside.api.chat_format import ChatBody, IncomingMessage, Tool
from fireside.api.chat_task import task_of
from fireside.api.generation import Served, rendered
from fireside.api.served import Serving
from fireside.http.answers import json_answer
from fireside.http.errors import BadRequest, ContextOverBudget
from fireside.http.security import json_body
from fireside.http.validation import decode

_MOST = 1 << 20


class TokenizeBody(msgspec.Struct, frozen=True):
    """Exactly one of `content` (llama.cpp), `prompt` and `messages` (vLLM) is given.

    Attributes:
        add_special: whether the tokenizer's own tokens come in front of a text; by default with `prompt`, and
            not with `content`. vLLM's name for it is `add_special_tokens`.
        parse_special: what looks like a special token in a text is one.
        with_pieces: each token with its text, as llama.cpp has it.
        return_token_strs: the texts in a list of their own, as vLLM has it.
    """

    model: str | None = None
    content: str | None = None
    prompt: str | None = None
    messages: Annotated[list[IncomingMessage], Meta(min_length=1)] | None = None
    tools: list[Tool] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    continue_final_message: bool | None = None
    add_generation_prompt: bool | None = None
    add_special: bool | None = None
    add_special_tokens: bool | None = None
    parse_special: bool | None = None
    with_pieces: bool | None = None
    return_token_strs: bool | None = None


class Piece(msgspec.Struct, frozen=True):
    """A token and its text; what is only a part of a character shows as U+FFFD."""

    id: int
    piece: str


class Tokenized(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tokens, whichever server's client asks."""

    tokens: list[int | Piece]
    count: int
    max_model_len: int
    token_strs: list[str] | None = None


class DetokenizeBody(msgspec.Struct, frozen=True):
    """Token ids, in the order of the text."""

    tokens: Annotated[list[int], Meta(max_length=_MOST)]
    model: str | None = None


class Detokenized(msgspec.Struct, frozen=True):
    """The text, special tokens included: `content` for clients of llama.cpp, `prompt` for those of vLLM."""

    content: str
    prompt: str


def create_blueprint(serving: Serving) -> Blueprint:
    """The two routes over the tokenizer of the model that `serving` serves."""
    blueprint = Blueprint("tokens", __name__)

    @blueprint.post("/tokenize")
    async def tokenize() -> Response:
        body = decode(await json_body(), TokenizeBody)
        served = await serving.served(body.model or "")
        ids = await _ids(served, body)
        tokens: list[int | Piece] = [*ids]
        strings = None
        if body.with_pieces or body.return_token_strs:
            texts = await served.text.token_texts(ids)
            strings = texts if body.return_token_strs else None
            if body.with_pieces:
                tokens = [Piece(*pair) for pair in zip(ids, texts, strict=True)]
        return json_answer(Tokenized(tokens, len(ids), served.text.context_window, strings))

    @blueprint.post("/detokenize")
    async def detokenize() -> Response:
        body = decode(await json_body(), DetokenizeBody)
        served = await serving.served(body.model or "")
        size = served.text.vocab_size
        for index, token in enumerate(body.tokens):
            if not 0 <= token < size:
                raise BadRequest(
                    f"tokens[{index}]: {token} is not a token id; they are from 0 to {size - 1}.",
                    param=f"tokens[{index}]",
                )
        text = await served.text.decode(body.tokens)
        return json_answer(Detokenized(text, text))

    return blueprint


async def _ids(served: Served, body: TokenizeBody) -> list[int]:
    given = [name for name in ("content", "prompt", "messages") if getattr(body, name) is not None]
    if len(given) != 1:
        raise BadRequest(
            f"Give one of content, prompt and messages; here are {' and '.join(given) or 'none'}.",
            param=given[1] if given else "content",
        )
    if body.messages is not None:
        return await _conversation(served, body, body.messages)
    if body.parse_special is False:
        raise BadRequest(
            "parse_special: special tokens in a text are always read as such.", param="parse_special"
        )
    text = body.prompt or body.content or ""
    if served.text.too_many_characters(len(text)):
        raise _too_long(served, given[0])
    special = next(
        (said for said in (body.add_special, body.add_special_tokens) if said is not None),
        body.prompt is not None,
    )
    return await served.text.encode(text, special=special)


async def _conversation(served: Served, body: TokenizeBody, messages: list[IncomingMessage]) -> list[int]:
    if body.add_generation_prompt is False and not body.continue_final_message:
        raise BadRequest(
            "add_generation_prompt: a conversation is always made ready for the answer.",
            param="add_generation_prompt",
        )
    task = task_of(
        ChatBody(
            messages=messages,
            tools=body.tools,
            chat_template_kwargs=body.chat_template_kwargs,
            continue_final_message=body.continue_final_message,
        ),
        served,
    )
    return (await rendered(served, task.messages, task.options)).ids


def _too_long(served: Served, param: str) -> ContextOverBudget:
    return ContextOverBudget(
        f"{param}: far more text than the {served.text.context_window} tokens that {served.model_id} holds.",
        param=param,
    )
