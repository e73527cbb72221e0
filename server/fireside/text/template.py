"""Conversations to prompts, through the model's own chat template."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fireside.http.errors import BadRequest
from fireside.text.messages import ChatMessage, FunctionCall, no_system, one_system

_Form = Callable[[Sequence[ChatMessage]], Sequence[ChatMessage]]
_FORMS: tuple[_Form, ...] = (list, one_system, no_system)
"""How a conversation is offered until the template takes it: as it is, with one system message, with none."""

_PROBE = (
    ChatMessage("user", "?"),
    ChatMessage("assistant", "", calls=(FunctionCall("f", {"probe": "x"}, "call_0"),)),
)
_REPLY = (ChatMessage("assistant", "0"), ChatMessage("user", "0"))
_LONGEST_PRIMER = 64
_TAIL = 16
"""Tokens at the end of a prompt in which a thinking block may be opened."""


@dataclass(frozen=True)
class TemplateOptions:
    """What a request asks of the template.

    Attributes:
        tools: in OpenAI's form.
        values: handed to the template by name, `enable_thinking` among them; without it mlx-lm's wrapper
            turns thinking on for a model that can.
        continue_final: the last message is an assistant's that goes on.
    """

    tools: Sequence[Mapping[str, Any]] = ()
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    continue_final: bool = False


@dataclass(frozen=True)
class Prompt:
    """A rendered conversation.

    Attributes:
        ids: token ids.
        thinking_open: the template has begun the thinking block; the answer starts inside it.
        boundary: so many of the ids begin the next turn's prompt too, whatever the answer; 0 if unknown.
    """

    ids: list[int]
    thinking_open: bool
    boundary: int = 0


def given_characters(messages: Sequence[ChatMessage], options: TemplateOptions) -> int:
    """About how many characters a template is given, all of which it may write, or none."""
    return len(json.dumps([[m.as_dict() for m in messages], options.tools, options.values], default=repr))


class ChatTemplate:
    """The chat template of a model, rendered by transformers in its sandbox.

    What people type stays text: a `<|im_end|>` in a message is not the token of that name.

    Args:
        tokenizer: mlx-lm's `TokenizerWrapper`.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        # A model with a renderer in code instead of a template encodes by itself.
        self._primers: dict[Hashable, int | None] = {}
        self._guard = {"sanitize_control_tokens": True} if tokenizer.chat_template is not None else {}

    def render(self, messages: Sequence[ChatMessage], options: TemplateOptions) -> Prompt:
        """The prompt of a conversation, ready for the answer.

        Raises:
            BadRequest: the template takes the conversation in no form; its words are passed on.
        """
        from jinja2.exceptions import TemplateError

        refusal: Exception | None = None
        for form in _FORMS:
            try:
                ids = self._apply(form(messages), options, self._arguments_as_text)
                return Prompt(ids, self._opens_thinking(ids), self._boundary(messages, form, options, ids))
            except (TemplateError, TypeError, ValueError) as error:
                refusal = refusal or error
        raise BadRequest(
            f"The model's chat template refuses this conversation: {refusal}", param="messages"
        ) from refusal

    def length(self, messages: Sequence[ChatMessage], options: TemplateOptions) -> int:
        """Characters of a conversation's text; 0 if the template takes it in no form.

        Writing a text takes a thousandth of the time of tokenizing it.
        """
        from jinja2.exceptions import TemplateError

        for form in _FORMS:
            try:
                return len(self._written(form(messages), options, self._arguments_as_text, tokenize=False))
            except (TemplateError, TypeError, ValueError):
                continue
        return 0

    def _boundary(
        self, messages: Sequence[ChatMessage], form: _Form, options: TemplateOptions, ids: list[int]
    ) -> int:
        """How much of a prompt the next turn's has too.

        What a template adds at the end to start the answer may be gone once there is one: an opened thinking
        block, for example. That primer is found once for each way to render, by rendering on with a reply.
        """
        if options.continue_final:
            return 0
        mode = (
            json.dumps(options.values, sort_keys=True, default=repr),
            bool(options.tools),
            messages[-1].role,
            form,
        )
        if mode not in self._primers:
            self._primers[mode] = self._primer(messages, form, options, ids)
        primer = self._primers[mode]
        return 0 if primer is None else max(0, len(ids) - primer)

    def _primer(
        self, messages: Sequence[ChatMessage], form: _Form, options: TemplateOptions, ids: list[int]
    ) -> int | None:
        """Tokens at the end of the prompt that a reply makes the template drop; None if too much changes."""
        try:
            later = self._apply(form([*messages, *_REPLY]), options, self._arguments_as_text)
        except Exception:
            # Foreign code, which may want another order of roles. The boundary only saves time.
            return None
        pairs = enumerate(zip(ids, later, strict=False))
        common = next((i for i, (a, b) in pairs if a != b), min(len(ids), len(later)))
        primer = len(ids) - common
        return primer if primer < _LONGEST_PRIMER else None

    @cached_property
    def _arguments_as_text(self) -> bool:
        """Whether the template writes a call's arguments as they are, instead of going through a mapping."""
        try:
            ids = self._apply(_PROBE, TemplateOptions(), arguments_as_text=False)
        except Exception:
            # Foreign code: it adds a mapping to a text, or refuses the probe for reasons of its own.
            return self._takes_text()
        return "{'probe': 'x'}" in self._tokenizer.decode(ids)

    def _takes_text(self) -> bool:
        try:
            self._apply(_PROBE, TemplateOptions(), arguments_as_text=True)
        except Exception:
            return False
        return True

    def _apply(
        self, messages: Sequence[ChatMessage], options: TemplateOptions, arguments_as_text: bool
    ) -> list[int]:
        ids: list[int] = self._written(messages, options, arguments_as_text, **self._guard)
        begin = self._tokenizer.bos_token_id
        # A template that writes the token, and a conversation that begins with it.
        return ids[1:] if begin is not None and ids[:2] == [begin, begin] else ids

    def _written(
        self,
        messages: Sequence[ChatMessage],
        options: TemplateOptions,
        arguments_as_text: bool,
        **how: bool,
    ) -> Any:
        return self._tokenizer.apply_chat_template(
            [message.as_dict(arguments_as_text=arguments_as_text) for message in messages],
            tools=[dict(tool) for tool in options.tools] or None,
            add_generation_prompt=not options.continue_final,
            continue_final_message=options.continue_final,
            **how,
            **options.values,
        )

    def _opens_thinking(self, ids: list[int]) -> bool:
        """Whether the prompt ends in the tokens that open a thinking block, and white space after them."""
        if not self._tokenizer.has_thinking:
            return False
        tail = ids[-_TAIL:]
        at: int = self._tokenizer.rfind_think_start(tail)
        if at < 0:
            return False
        start = self._tokenizer.encode(self._tokenizer.think_start, add_special_tokens=False)
        return not str(self._tokenizer.decode(tail[at + len(start) :])).strip()
