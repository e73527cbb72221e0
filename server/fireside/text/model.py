"""One model's text: messages to token ids, token ids to text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from fireside.text.grammar.vocabulary import VocabularyDescription, describe
from fireside.text.markup import MarkupSpec
from fireside.text.messages import ChatMessage
from fireside.text.mlxlm import import_text_parts, load_tokenizer
from fireside.text.template import ChatTemplate, Prompt, TemplateOptions, given_characters
from fireside.text.thinking import thinking_tokens

T = TypeVar("T")

_FALLBACK_CONTEXT = 4096


@dataclass(frozen=True)
class Defaults:
    """What the model's author recommends; None where nothing is said."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None


@dataclass(frozen=True)
class ModelConfig:
    """What a model folder's JSON files say.

    Attributes:
        context_window: tokens, prompt and answer together.
    """

    context_window: int
    eos_token_ids: list[int] | None
    defaults: Defaults


class TextModel:
    """Tokenizer, chat template and detokenizer of one model.

    The tokenizer is not safe in two threads at once, and a long text takes seconds: rendering and
    tokenizing run on one thread of their own, so that the event loop never waits for them. A detokenizer
    is cheap and belongs to its answer.
    """

    def __init__(
        self,
        tokenizer: Any,
        config: ModelConfig,
        executor: ThreadPoolExecutor,
        template_values: Mapping[str, Any] | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._template_values = dict(template_values or {})
        self._executor = executor
        self.defaults = config.defaults
        self.context_window = config.context_window
        self.stop_ids: tuple[int, ...] = tuple(sorted(tokenizer.eos_token_ids))
        self.markup = MarkupSpec.from_tokenizer(tokenizer)
        self.thinking = thinking_tokens(self.markup, tokenizer)
        self._template = ChatTemplate(tokenizer)
        self._hidden_ids = frozenset(
            index
            for index, token in tokenizer.added_tokens_decoder.items()
            if token.special and not self.markup.keeps(token.content)
        )
        self.newline_ids: tuple[int, ...] = tuple(tokenizer.encode("\n", add_special_tokens=False))
        vocabulary: dict[str, int] = tokenizer.get_vocab()
        self.vocab_size = max(vocabulary.values(), default=-1) + 1
        self._longest_token = max(map(len, vocabulary), default=1)

    @classmethod
    async def load(
        cls,
        folder: Path,
        chat_template: str | None = None,
        template_values: Mapping[str, Any] | None = None,
    ) -> TextModel:
        """Load the text side of a model folder.

        Args:
            chat_template: instead of the folder's own.
            template_values: handed to the template where a request does not set them.
        """
        executor = ThreadPoolExecutor(1, thread_name_prefix="text")
        try:
            return await asyncio.get_running_loop().run_in_executor(
                executor, _load, folder, executor, chat_template, template_values
            )
        except BaseException:
            executor.shutdown(wait=False)
            raise

    def surely_too_long(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether no tokenization could make a conversation fit; told without tokenizing it."""
        return self.too_many_characters(sum(len(message.content) for message in messages))

    def too_many_characters(self, characters: int) -> bool:
        """Whether no text of so many characters can fit, however it is tokenized."""
        return characters > self.context_window * self._longest_token

    @property
    def thinks(self) -> bool:
        """Whether its answers may begin with reasoning."""
        return self.markup.think is not None or self.markup.harmony

    async def render(self, messages: Sequence[ChatMessage], options: TemplateOptions) -> Prompt | None:
        """The prompt of a conversation, ready for the answer.

        None if its text cannot fit, however it is tokenized: that is told without tokenizing it. Besides what
        the messages say, a template writes tools, calls and thoughts, or leaves them out.

        Raises:
            BadRequest: the model's template refuses the conversation; its words are passed on.
        """
        if self._template_values:
            options = replace(options, values={**self._template_values, **options.values})

        def rendered() -> Prompt | None:
            # Nearly every conversation is short enough at first sight, and need not be written twice.
            if self.too_many_characters(given_characters(messages, options)) and self.too_many_characters(
                self._template.length(messages, options)
            ):
                return None
            return self._template.render(messages, options)

        return await self._run(rendered)

    async def encode(self, text: str, *, special: bool = True) -> list[int]:
        """A text as it is, without a chat template: special tokens in it are tokens.

        Args:
            special: the tokenizer puts its own in front, unless the text begins with that already.
        """

        def encoded() -> list[int]:
            begin: str | None = self._tokenizer.bos_token
            add = special and (begin is None or not text.startswith(begin))
            return list(self._tokenizer.encode(text, add_special_tokens=add))

        return await self._run(encoded)

    async def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, special ones included."""
        return await self._run(lambda: str(self._tokenizer.decode(tokens)))

    def detokenizer(self, before: Sequence[int] = ()) -> Detokenizer:
        """A fresh detokenizer for one answer.

        Args:
            before: the tokens that the answer goes on from, if it continues a text; its first space counts.
        """
        inner = self._continuing(before)
        if before and isinstance(inner, import_text_parts().BPEStreamingDetokenizer):
            # It holds spaces back, which would come again with the answer; what it holds of a character must.
            inner.finalize()
            if "\ufffd" in inner.last_segment:
                inner = self._continuing(before)
        return Detokenizer(inner, self._hidden_ids)

    def _continuing(self, before: Sequence[int]) -> Any:
        inner = self._tokenizer.detokenizer
        for token in before:
            inner.add_token(token)
        if before:
            _ = inner.last_segment
        return inner

    async def token_texts(self, tokens: Sequence[int]) -> list[str]:
        """What each token stands for by itself; a part of a character shows as U+FFFD."""
        return await self._run(lambda: [str(self._tokenizer.decode([token])) for token in tokens])

    async def vocabulary(self) -> VocabularyDescription:
        """The tokens as grammars know them. Raises `GrammarUnsupported`."""
        return await self._run(lambda: describe(self._tokenizer, self._hidden_ids, self.stop_ids))

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)


class Detokenizer:
    """Token ids of one answer to text, in pieces that never end inside a character.

    Args:
        hidden: special tokens that mean nothing in an answer; a model that writes one anyway shows nothing.
    """

    def __init__(self, inner: Any, hidden: frozenset[int]) -> None:
        self._inner = inner
        self._hidden = hidden

    def add(self, token: int) -> str:
        """The text that this token completes, often empty or more than the token's own."""
        if token in self._hidden:
            return ""
        self._inner.add_token(token)
        return self._inner.last_segment

    def finish(self) -> str:
        """What was held back, once no token follows."""
        self._inner.finalize()
        return self._inner.last_segment


def _load(
    folder: Path,
    executor: ThreadPoolExecutor,
    chat_template: str | None = None,
    template_values: Mapping[str, Any] | None = None,
) -> TextModel:
    config = read_config(folder)
    tokenizer = load_tokenizer(folder, config.eos_token_ids, chat_template)
    return TextModel(tokenizer, config, executor, template_values)


def read_config(folder: Path) -> ModelConfig:
    """Read a model folder's configuration."""
    config = _json(folder / "config.json")
    generation = _json(folder / "generation_config.json")
    text_config = config.get("text_config", config)
    stop_ids = {*_ids(config.get("eos_token_id")), *_ids(generation.get("eos_token_id"))}
    return ModelConfig(
        context_window=text_config.get("max_position_embeddings", _FALLBACK_CONTEXT),
        eos_token_ids=sorted(stop_ids) or None,
        defaults=_defaults(generation),
    )


def _defaults(generation: dict[str, Any]) -> Defaults:
    """What is usable of a generation_config.json; a model with a strange one still answers."""

    def number(name: str, most: float) -> float | None:
        value = generation.get(name)
        usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
        return value if usable else None

    top_k = number("top_k", 2**31 - 1)
    return Defaults(
        temperature=number("temperature", 5),
        top_p=number("top_p", 1),
        top_k=None if top_k is None else int(top_k),
        repetition_penalty=number("repetition_penalty", 10),
    )


def _ids(value: int | list[int] | None) -> list[int]:
    return [value] if isinstance(value, int) else value or []


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}
