"""The model behind `/v1`, reached with the `openai` client: one answer as a stream of typed events.

Any OpenAI-compatible server will do. Fireside's own sends progress and details of the answer on top,
because the request asks for them with `return_progress`; a server that ignores it just shows none.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import msgspec

from fireside_agent.completions import (
    PHASES,
    CallCollector,
    Chunk,
    ModelList,
    ModelRow,
    SurrogateJoiner,
    Usage,
    make_receipt,
    read_chunk,
)
from fireside_agent.errors import ProviderError
from fireside_agent.messages import Receipt
from fireside_agent.protocol import Phase
from fireside_agent.question import Question

if TYPE_CHECKING:
    from openai import APIError, APIStatusError, AsyncOpenAI, AsyncStream

CONNECT_SECONDS = 10.0
DEFAULT_RETRY_SECONDS = 1.0
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 30.0


RETRIES_AFTER_S = (0.5, 2.0, 6.0)
"""Pauses before a request that has brought nothing yet is made again."""

FIRST_WITHIN_S = 900.0
"""A server that shows no progress may read a long prompt for minutes."""

NEXT_WITHIN_S = 120.0

LOADING_WITHIN_S = 3600.0
"""A large model may be read from a slow disk, or fetched first."""

MODELS_WITHIN_S = 30.0

_ASK_AGAIN_AFTER_S = 1.0

_SERVED = "default"
"""What Fireside calls the model that it serves."""

ENGINE_FAILED = "engine_failed"
"""Fireside's own code for a model that will not come, however long one waits."""

_PASSING = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses after which trying again may help."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a provider waits for a server, in seconds, and how often it asks again."""

    retries_after: Sequence[float] = RETRIES_AFTER_S
    first_within: float = FIRST_WITHIN_S
    next_within: float = NEXT_WITHIN_S
    loading_within: float = LOADING_WITHIN_S


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A piece of the answer's Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerReasoning:
    """A piece of what the model thinks."""

    text: str


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call that the model wants; `arguments` is JSON if the model is right."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class AnswerCalls:
    """All calls of an answer, once they are whole."""

    calls: list[AskedCall]


@dataclass(frozen=True, slots=True)
class AnswerProgress:
    """What the answer is waiting for. Counts are tokens."""

    phase: Phase
    queue_position: int | None = None
    eta_s: float | None = None
    prefill_done: int | None = None
    prefill_total: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The last event of every whole answer."""

    receipt: Receipt


AnswerEvent = AnswerText | AnswerReasoning | AnswerCalls | AnswerProgress | AnswerEnd


class PassingError(ProviderError):
    """Asking again may help."""


class ModelLoadingError(ProviderError):
    """The server is there, its model is not yet. Ask again after `retry_seconds`."""

    def __init__(self, message: str, retry_seconds: float) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class Provider:
    """The server at `base_url` (ends in `/v1`). `openai` is imported with the first request.

    Args:
        own_server: it is Fireside's and knows `priority`; another one may take that for a number.
    """

    def __init__(
        self, base_url: str, api_key: str, own_server: bool = True, patience: Patience | None = None
    ) -> None:
        self._base_url = base_url
        self._own_server = own_server
        self._patience = patience or Patience()
        self._api_key = api_key
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()

    async def model_info(self) -> ModelRow:
        """The served model: the first row of `/v1/models`. Raises ProviderError."""
        client = await self._connected()
        within = min(MODELS_WITHIN_S, self._patience.first_within)
        try:
            async with asyncio.timeout(within):
                with self._explained():
                    answer = await client.get("/models", cast_to=object)
                    models = msgspec.convert(answer, ModelList, strict=False)
        except TimeoutError:
            raise PassingError(f"{self._base_url}/models did not answer within {within:g} s.") from None
        if not models.data and self._own_server:
            raise ModelLoadingError("The model is still loading.", _ASK_AGAIN_AFTER_S)
        if not models.data:
            raise ProviderError(f"The model server at {self._base_url} lists no model.")
        return models.data[0]

    async def forget(self, chat: str) -> None:
        """Let Fireside's own engine remove what it has kept of a chat. Raises ProviderError."""
        if not self._own_server:
            return
        client = await self._connected()
        with self._explained():
            await client.post("/prompt_cache/forget", cast_to=object, body={"prompt_cache_key": chat})

    async def answer(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        """Ask; waits while the model is loading, and asks again where nothing came and that may help.

        Ends with AnswerEnd or raises ProviderError. Nothing is asked twice once something has come.
        """
        pauses = iter(self._patience.retries_after)
        give_up = time.monotonic() + self._patience.loading_within
        while True:
            begun = False
            try:
                async with aclosing(self._answer_once(question)) as events:
                    async for event in events:
                        begun = begun or not isinstance(event, AnswerProgress)
                        yield event
                return
            except ModelLoadingError as loading:
                if time.monotonic() > give_up:
                    raise
                yield AnswerProgress("loading")
                await asyncio.sleep(loading.retry_seconds)
            except PassingError:
                pause = None if begun else next(pauses, None)
                if pause is None:
                    raise
                yield AnswerProgress("retrying")
                await asyncio.sleep(pause)

    async def text(self, question: Question) -> str:
        """The whole text of an answer, without what was thought. Raises ProviderError."""
        async with aclosing(self.answer(question)) as events:
            return "".join([event.text async for event in events if isinstance(event, AnswerText)])

    async def _answer_once(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        within = self._patience.first_within
        try:
            async with asyncio.timeout(within):
                stream = await self._ask(question)
        except TimeoutError:
            raise ProviderError(f"The model server said nothing for {within:g} s.") from None
        yield AnswerProgress("waiting")
        async with stream:
            with self._explained():
                async for event in _events(self._in_time(stream)):
                    yield event

    async def _in_time(self, stream: AsyncIterator[object]) -> AsyncGenerator[object]:
        """The stream's items; a server that says nothing for too long is given up."""
        within = self._patience.first_within
        while True:
            try:
                async with asyncio.timeout(within):
                    item = await anext(stream)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise ProviderError(f"The model server said nothing for {within:g} s.") from None
            yield item
            within = self._patience.next_within

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _ask(self, question: Question) -> "AsyncStream[object]":
        # Fireside knows best which of its models is the served one, and why if none is.
        model = _SERVED if self._own_server else (await self.model_info()).id
        client = await self._connected()
        from openai import AsyncStream

        body = question.body(model)
        if self._own_server:
            body["priority"] = "background" if question.background else "interactive"
            if question.in_memory:
                body["prompt_cache_retention"] = "in_memory"
            if question.chat:
                body["prompt_cache_key"] = question.chat
        with self._explained():
            return await client.post(
                "/chat/completions", cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object]
            )

    async def _connected(self) -> "AsyncOpenAI":
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_make_client, self._base_url, self._api_key)
        return self._client

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Turn what the client raises into a ProviderError with the server's own words."""
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise self._refused(error) from error
        except openai.APIConnectionError as error:
            reason = str(error.__cause__ or "") or error.message
            raise PassingError(f"The connection to {self._base_url} failed: {reason}") from error
        except openai.APIError as error:
            raise ProviderError(f"The model server gave up: {_words(error)}") from error
        except (json.JSONDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
            raise ProviderError(
                f"{self._base_url} does not answer in OpenAI's format: {error}. "
                "Is it the address of an OpenAI-compatible server?"
            ) from error

    def _refused(self, error: "APIStatusError") -> ProviderError:
        message = f"The model server answered {error.status_code}: {_words(error)}"
        retry_after = error.response.headers.get("retry-after")
        if error.code == ENGINE_FAILED:
            return ProviderError(_words(error))
        if error.status_code == 503 and retry_after is not None:
            return ModelLoadingError(message, _seconds(retry_after))
        return PassingError(message) if error.status_code in _PASSING else ProviderError(message)


async def _events(stream: AsyncIterator[object]) -> AsyncGenerator[AnswerEvent]:
    model, finish_reason, usage = "", None, Usage()
    joiner, thoughts, calls = SurrogateJoiner(), SurrogateJoiner(), CallCollector()
    async for data in stream:
        chunk = read_chunk(data)
        if thought := thoughts.feed(chunk.reasoning):
            yield AnswerReasoning(thought)
        for piece in chunk.calls:
            calls.feed(piece)
        if progress := _progress(chunk):
            yield progress
        if text := joiner.feed(chunk.text):
            yield AnswerText(text)
        model = chunk.model or model
        finish_reason = chunk.finish_reason or finish_reason
        usage = chunk.usage or usage
    if text := joiner.flush():
        yield AnswerText(text)
    if finish_reason is None:
        raise PassingError("The model server closed the stream before the answer had ended.")
    if whole := [AskedCall(*call) for call in calls.calls()]:
        yield AnswerCalls(whole)
    yield AnswerEnd(make_receipt(model, finish_reason, usage))


def _progress(chunk: Chunk) -> AnswerProgress | None:
    details = chunk.fireside
    if details is None or details.phase not in PHASES:
        return None
    return AnswerProgress(
        phase=cast(Phase, details.phase),
        queue_position=details.queue_position,
        eta_s=details.eta_s,
        prefill_done=details.prefill_done,
        prefill_total=details.prefill_total,
    )


def _make_client(base_url: str, api_key: str) -> "AsyncOpenAI":
    """Runs in a thread: importing `openai` takes half a second."""
    import openai

    # A proxy from the environment is not meant for a server on this machine.
    http_client = openai.DefaultAsyncHttpxClient(trust_env=not _is_loopback(base_url))
    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or "none",
        max_retries=0,
        # No read timeout: a long prompt may be read for minutes before the first token.
        timeout=openai.Timeout(None, connect=CONNECT_SECONDS),
        http_client=http_client,
    )


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _words(error: "APIError") -> str:
    """The server's message, out of whatever it wrapped it in."""
    body = error.body
    if isinstance(body, dict):
        message = cast(dict[str, object], body).get("message")
        return str(message) if message else json.dumps(body)
    return str(body or error.message)


def _seconds(retry_after: str) -> float:
    try:
        seconds = float(retry_after)
    except ValueError:  # a date: rare, and asking early does no harm
        seconds = DEFAULT_RETRY_SECONDS
    return min(max(seconds, MIN_RETRY_SECONDS), MAX_RETRY_SECONDS)
