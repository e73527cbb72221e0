"""The model behind `/v1`, reached with the `openai` client: one answer as a stream of typed events.

Any OpenAI-compatible server will do. Fireside's own sends progress and details of the answer on top,
because the request asks for them with `return_progress`; a server that ignores it just shows none.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal, TypedDict, cast
from urllib.parse import urlsplit

import msgspec

from fireside_agent.completions import (
    PHASES,
    Chunk,
    ModelList,
    ModelRow,
    SurrogateJoiner,
    Usage,
    make_receipt,
    read_chunk,
)
from fireside_agent.errors import ProviderError
from fireside_agent.protocol import Phase, Receipt, Role

if TYPE_CHECKING:
    from openai import APIError, APIStatusError, AsyncOpenAI, AsyncStream

CONNECT_SECONDS = 10.0
DEFAULT_RETRY_SECONDS = 1.0
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 30.0


class ChatMessage(TypedDict):
    """A message as `/v1/chat/completions` takes it."""

    role: Role | Literal["system"]
    content: str


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A piece of the answer's Markdown."""

    text: str


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


AnswerEvent = AnswerText | AnswerProgress | AnswerEnd


class ModelLoadingError(ProviderError):
    """The server is there, its model is not yet. Ask again after `retry_seconds`."""

    def __init__(self, message: str, retry_seconds: float) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class Provider:
    """The server at `base_url` (ends in `/v1`). `openai` is imported with the first request."""

    def __init__(self, base_url: str, api_key: str) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()

    async def model_info(self) -> ModelRow:
        """The served model: the first row of `/v1/models`. Raises ProviderError."""
        client = await self._connected()
        with self._explained():
            models = msgspec.convert(await client.get("/models", cast_to=object), ModelList, strict=False)
        if not models.data:
            raise ProviderError(f"The model server at {self._base_url} lists no model.")
        return models.data[0]

    async def answer(self, messages: list[ChatMessage]) -> AsyncGenerator[AnswerEvent]:
        """Ask; waits while the model is loading. Ends with AnswerEnd or raises ProviderError.

        Nothing is asked twice: once the server has taken the request, a failure ends the answer.
        """
        while True:
            try:
                stream = await self._ask(messages)
                break
            except ModelLoadingError as loading:
                yield AnswerProgress("loading")
                await asyncio.sleep(loading.retry_seconds)
        yield AnswerProgress("waiting")
        async with stream:
            with self._explained():
                async for event in _events(stream):
                    yield event

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _ask(self, messages: list[ChatMessage]) -> "AsyncStream[object]":
        model = await self.model_info()
        client = await self._connected()
        from openai import AsyncStream

        body = {
            "model": model.id,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
        }
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
            raise ProviderError(f"The connection to {self._base_url} failed: {reason}") from error
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
        if error.status_code == 503 and retry_after is not None:
            return ModelLoadingError(message, _seconds(retry_after))
        return ProviderError(message)


async def _events(stream: AsyncIterator[object]) -> AsyncGenerator[AnswerEvent]:
    model, finish_reason, usage = "", None, Usage()
    joiner = SurrogateJoiner()
    async for data in stream:
        chunk = read_chunk(data)
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
        raise ProviderError("The model server closed the stream before the answer had ended.")
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
