"""The routes of `/v1`, described."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fireside.api import (
    chat_format,
    completions_format,
    embedding_task,
    embeddings,
    messages_format,
    models,
    prompt_cache,
    responses_format,
    tokens,
)
from fireside.api.request_lines import DEFAULT_LINES, MAX_LINES, LogPage
from fireside.api.responses_pages import ItemPage
from fireside.http.anthropic_errors import AnthropicErrorBody
from fireside.http.operations import Answer, Operation, Parameter

TEXT = "Text"
TOKENS = "Tokens"
MODELS = "Models"
SERVER = "Server"
FORWARDED = "Passed on"

_STREAMS = "With `stream: true` the answer is a stream of server-sent events that ends in `data: [DONE]`."
_EVENTS = "With `stream: true` the answer is a stream of server-sent events."
_MESSAGE = {"role": "user", "content": "What is the capital of France?"}


class Deleted(msgspec.Struct):
    """A response that is not kept any more."""

    id: str
    object: Literal["response"]
    deleted: bool


class ResponseEvent(msgspec.Struct):
    """One step of a response; which other fields there are depends on the type.

    Attributes:
        sequence_number: counts the events, from 0.
    """

    type: str
    sequence_number: int


_RESPONSE = Parameter(
    "response_id", "An id that began with `resp_`, of a response that was stored.", place="path"
)

OPERATIONS = (
    Operation(
        "POST",
        "/v1/chat/completions",
        TEXT,
        "Answer a conversation, in OpenAI's format",
        f"{_STREAMS} Fields that are not listed are ignored.",
        body=chat_format.ChatBody,
        example={"messages": [_MESSAGE], "max_tokens": 64},
        answers={
            200: Answer(
                "The answer.",
                chat_format.Completion,
                events=chat_format.Chunk,
                done=True,
                headers=("Warning",),
            )
        },
        errors=(403,),
        model=True,
    ),
    Operation(
        "POST",
        "/v1/completions",
        TEXT,
        "Go on with a text",
        f"The text goes to the model as it is, without a chat template. {_STREAMS}",
        body=completions_format.CompletionBody,
        example={"prompt": "Once upon a time", "max_tokens": 32},
        answers={
            200: Answer(
                "The answers.",
                completions_format.Completion,
                events=completions_format.Completion,
                done=True,
                headers=("Warning",),
            )
        },
        model=True,
    ),
    Operation(
        "POST",
        "/v1/responses",
        TEXT,
        "Answer, in the format of OpenAI's Responses API",
        f"{_EVENTS} A response is kept for an hour, for others to go on from, unless `store` is false.",
        body=responses_format.ResponsesBody,
        example={"input": "What is the capital of France?", "max_output_tokens": 64},
        answers={
            200: Answer(
                "The response.", responses_format.ResponseObject, events=ResponseEvent, headers=("Warning",)
            )
        },
        errors=(403, 404),
        model=True,
    ),
    Operation(
        "GET",
        "/v1/responses/{response_id}",
        TEXT,
        "A response that was stored",
        parameters=(
            _RESPONSE,
            Parameter(
                "stream", "Only false: no response is made in the background.", Literal["false", "true"]
            ),
        ),
        answers={200: Answer("As it was sent.", responses_format.ResponseObject)},
        errors=(400, 404),
    ),
    Operation(
        "DELETE",
        "/v1/responses/{response_id}",
        TEXT,
        "Forget a response",
        parameters=(_RESPONSE,),
        answers={200: Answer("It is forgotten.", Deleted)},
        errors=(404,),
    ),
    Operation(
        "GET",
        "/v1/responses/{response_id}/input_items",
        TEXT,
        "What a response was the answer to",
        parameters=(
            _RESPONSE,
            Parameter("limit", "Items at most; 20 by default.", Annotated[int, Meta(ge=1, le=100)]),
            Parameter("order", "The newest first, unless `asc`.", Literal["asc", "desc"]),
            Parameter("after", "The id of an item: only those that come after it."),
        ),
        answers={200: Answer("A page of items.", ItemPage)},
        errors=(400, 404),
    ),
    Operation(
        "POST",
        "/v1/responses/{response_id}/cancel",
        TEXT,
        "Refused: no response is made in the background",
        parameters=(_RESPONSE,),
        errors=(400, 404),
    ),
    Operation(
        "POST",
        "/v1/messages",
        TEXT,
        "Answer a conversation, in Anthropic's format",
        _EVENTS,
        body=messages_format.MessagesBody,
        example={"messages": [_MESSAGE], "max_tokens": 64},
        answers={
            200: Answer(
                "The answer.", messages_format.Message, events=messages_format.Event, headers=("Warning",)
            )
        },
        errors=(403,),
        error=AnthropicErrorBody,
        model=True,
    ),
    Operation(
        "POST",
        "/v1/messages/count_tokens",
        TOKENS,
        "How many tokens a conversation has",
        body=messages_format.ConversationBody,
        example={"messages": [_MESSAGE]},
        answers={200: Answer("The number.", messages_format.TokenCount, headers=("Warning",))},
        errors=(400, 503),
        error=AnthropicErrorBody,
    ),
    Operation(
        "POST",
        "/tokenize",
        TOKENS,
        "The tokens of a text or a conversation",
        "For clients of llama.cpp's server and of vLLM's.",
        body=tokens.TokenizeBody,
        example={"content": "Hello there"},
        answers={200: Answer("The tokens.", tokens.Tokenized)},
        errors=(400, 503),
    ),
    Operation(
        "POST",
        "/detokenize",
        TOKENS,
        "The text of tokens",
        body=tokens.DetokenizeBody,
        example={"tokens": [1, 2, 3]},
        answers={200: Answer("The text.", tokens.Detokenized)},
        errors=(400, 503),
    ),
    Operation(
        "POST",
        "/v1/prompt_cache/forget",
        TEXT,
        "Remove what the engine has kept of a conversation",
        "Keys and values of all requests with this `prompt_cache_key`, in memory and in the SSD cache. "
        "Requests that still run leave nothing.",
        body=prompt_cache.ForgetBody,
        example={"prompt_cache_key": "a conversation"},
        answers={200: Answer("They are gone.", prompt_cache.Forgotten)},
        errors=(400, 502),
    ),
    Operation(
        "POST",
        "/v1/embeddings",
        TEXT,
        "Make vectors of texts",
        "Only where an embedding model is served. Vectors have unit length.",
        body=embedding_task.EmbeddingsBody,
        example={"input": ["A text to compare", "Another one"]},
        answers={200: Answer("The vectors.", embeddings.EmbeddingsAnswer)},
        model=True,
    ),
    Operation(
        "GET",
        "/v1",
        MODELS,
        "What this is",
        answers={200: Answer("Name, version, model and routes.", models.About)},
        errors=(503,),
    ),
    Operation(
        "GET",
        "/v1/models",
        MODELS,
        "The models that can be asked",
        answers={200: Answer("The list; of one model, unless another server answers.", models.ModelList)},
        errors=(502, 503),
    ),
    Operation(
        "GET",
        "/v1/models/{model_id}",
        MODELS,
        "One model",
        parameters=(
            Parameter("model_id", "An id as the list has it, slashes raw or encoded.", place="path"),
        ),
        answers={200: Answer("The model.", models.ModelRow)},
        errors=(404, 503),
    ),
)
"""Of an app with an engine of its own."""

LOGS = Operation(
    "GET",
    "/api/logs",
    SERVER,
    "The latest lines of the request log",
    "One line for every answer. There are texts in it only with `--log-prompts`.",
    parameters=(
        Parameter(
            "limit", f"Lines at most; {DEFAULT_LINES} by default.", Annotated[int, Meta(ge=1, le=MAX_LINES)]
        ),
        Parameter("after", "`next` of an answer before: only lines that came later, the oldest first."),
    ),
    answers={200: Answer("The lines, the newest last.", LogPage)},
    errors=(400,),
)


def _forwarded(method: Any, body: Any = None) -> Operation:
    return Operation(
        method,
        "/v1/{_}",
        FORWARDED,
        "Passed on to the other server as it is",
        "Fireside was started with `--upstream`: what can be asked, and what comes, is that server's.",
        parameters=(Parameter("_", "The rest of the path, with its slashes.", place="path"),),
        body=body,
        answers={"default": Answer("What the other server answers.", Any, media_types=("*/*",))},
        errors=(404, 502),
    )


UPSTREAM_OPERATIONS = (
    Operation(
        "GET",
        "/v1/models",
        MODELS,
        "The other server's models",
        answers={200: Answer("The list, the model that is asked first.", dict[str, Any])},
        errors=(502,),
    ),
    _forwarded("GET"),
    _forwarded("POST", Any),
    _forwarded("DELETE"),
)
"""Of an app that has another server answer."""
