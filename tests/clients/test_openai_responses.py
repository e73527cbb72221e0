"""`/v1/responses` through OpenAI's own client, as a program uses it."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest
from openai.types.responses import ResponseFunctionToolCall, ResponseReasoningItem

from support.server import Server

QUIET: Any = {"effort": "none"}
LOUD: Any = {"effort": "medium", "summary": "auto"}
LIST: Any = {"model": "any", "input": "Run `ls -la /tmp`", "temperature": 0, "reasoning": QUIET}
REPEAT: Any = {"model": "any", "input": "Repeat: one fine day", "temperature": 0, "reasoning": QUIET}
BASH: Any = {
    "type": "function",
    "name": "bash",
    "description": "bash.",
    "parameters": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
        "additionalProperties": False,
    },
    "strict": True,
}


class Person(openai.BaseModel):
    name: str
    age: int


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client:
        yield client


@pytest.fixture
async def many(server: Server) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client:
        yield client


def same(one: Any, other: Any) -> bool:
    """Whether two responses are the same but for what is new each time."""

    def stripped(response: Any) -> Any:
        output = [item.model_dump(exclude={"id", "call_id"}) for item in response.output]
        return response.status, response.tools, response.usage.output_tokens, output

    return bool(stripped(one) == stripped(other))


def test_a_text_is_answered(client: openai.OpenAI) -> None:
    response = client.responses.create(**REPEAT)
    assert response.output_text == "one fine day"
    assert response.status == "completed"
    assert response.model == "pocket"
    assert response.usage
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens


async def test_the_async_client_gets_the_same(client: openai.OpenAI, many: openai.AsyncOpenAI) -> None:
    assert same(await many.responses.create(**REPEAT), client.responses.create(**REPEAT))
    async with many.responses.stream(**REPEAT) as stream:
        pieces = [event.delta async for event in stream if event.type == "response.output_text.delta"]
        final = await stream.get_final_response()
    assert "".join(pieces) == "one fine day"
    # `parsed` is the helper's own field.
    assert same(final, client.responses.parse(**REPEAT))


@pytest.mark.parametrize("reasoning", [QUIET, LOUD])
def test_the_stream_helper_ends_in_what_a_whole_response_is(client: openai.OpenAI, reasoning: Any) -> None:
    asked = {**REPEAT, "reasoning": reasoning}
    with client.responses.stream(**asked) as stream:
        snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert snapshots[-1] == final.output_text == "one fine day"
    assert same(final, client.responses.parse(**asked))
    thoughts = [item for item in final.output if isinstance(item, ResponseReasoningItem)]
    assert [item.summary[0].text for item in thoughts] == (
        ["The user wants me to repeat something."] if reasoning is LOUD else []
    )


def test_a_plain_stream_says_the_same(client: openai.OpenAI) -> None:
    events = list(client.responses.create(**REPEAT, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == "one fine day"
    assert events[-1].type == "response.completed"


def test_a_response_that_is_cut_off_says_why(client: openai.OpenAI) -> None:
    response = client.responses.create(**REPEAT, max_output_tokens=2)
    assert response.status == "incomplete"
    assert response.incomplete_details
    assert response.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("chained", [False, True])
def test_a_tool_is_called_and_its_result_is_told(client: openai.OpenAI, stream: bool, chained: bool) -> None:
    def ask(**options: Any) -> Any:
        asked = {**LIST, "tools": [BASH], **options}
        if not stream:
            return client.responses.create(**asked)
        with client.responses.stream(**asked) as events:
            return events.get_final_response()

    first = ask()
    (call,) = first.output
    assert isinstance(call, ResponseFunctionToolCall)
    assert (call.name, call.arguments) == ("bash", '{"command": "ls -la /tmp"}')
    assert call.id != call.call_id
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "total 3\nnotes.md"}
    if chained:
        second = ask(previous_response_id=first.id, input=[output])
        assert second.previous_response_id == first.id
    else:
        made = call.model_dump(exclude={"parsed_arguments"}, exclude_none=True)
        second = ask(input=[{"role": "user", "content": LIST["input"]}, made, output], store=False)
    assert second.output_text == "It says: total 3"


def test_the_stream_helper_parses_the_arguments_of_a_call(client: openai.OpenAI) -> None:
    with client.responses.stream(**LIST, tools=[BASH]) as stream:
        snapshots = [e.snapshot for e in stream if e.type == "response.function_call_arguments.delta"]
        final = stream.get_final_response()
    (call,) = final.output
    assert isinstance(call, ResponseFunctionToolCall)
    assert snapshots[-1] == call.arguments
    assert getattr(call, "parsed_arguments", None) == {"command": "ls -la /tmp"}


def test_a_chain_remembers_what_was_said(client: openai.OpenAI) -> None:
    first = client.responses.create(**{**REPEAT, "input": "Repeat: blue fern"}, instructions="Be good.")
    second = client.responses.create(**{**REPEAT, "input": "Again."}, previous_response_id=first.id)
    third = client.responses.create(**{**REPEAT, "input": "Again."}, previous_response_id=second.id)
    assert [second.output_text, third.output_text] == ["blue fern", "blue fern"]
    assert third.instructions == "Be good."
    assert third.usage
    assert third.usage.input_tokens_details.cached_tokens > 0
    items = list(client.responses.input_items.list(third.id, order="asc"))
    said = [(getattr(item, "role", None), getattr(item, "content", [])[0].text) for item in items]
    assert said == [
        ("user", "Repeat: blue fern"),
        ("assistant", "blue fern"),
        ("user", "Again."),
        ("assistant", "blue fern"),
        ("user", "Again."),
    ]
    assert items[1].id == first.output[0].id
    # The client fetches page after page by itself.
    paged = list(client.responses.input_items.list(third.id, limit=2))
    assert [item.id for item in paged] == [item.id for item in reversed(items)]


def test_a_response_is_kept_until_it_is_deleted(client: openai.OpenAI) -> None:
    response = client.responses.create(**REPEAT)
    assert client.responses.retrieve(response.id) == response
    client.responses.delete(response.id)
    gone: list[Any] = [
        lambda: client.responses.retrieve(response.id),
        lambda: client.responses.delete(response.id),
        lambda: client.responses.input_items.list(response.id),
        lambda: client.responses.cancel(response.id),
        lambda: client.responses.create(**REPEAT, previous_response_id=response.id),
    ]
    for ask in gone:
        with pytest.raises(openai.NotFoundError) as refused:
            ask()
        assert response.id in str(refused.value)


def test_the_stream_helper_does_not_lose_what_is_stored(client: openai.OpenAI) -> None:
    with client.responses.stream(**REPEAT) as stream:
        final = stream.get_final_response()
    assert client.responses.retrieve(final.id).output_text == "one fine day"


def test_a_response_that_is_not_to_be_stored_is_not(client: openai.OpenAI) -> None:
    response = client.responses.create(**REPEAT, store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)


def test_only_background_responses_can_be_cancelled_or_streamed_again(client: openai.OpenAI) -> None:
    response = client.responses.create(**REPEAT)
    with pytest.raises(openai.BadRequestError, match="background"):
        client.responses.cancel(response.id)
    with pytest.raises(openai.BadRequestError, match="background"):
        client.responses.retrieve(response.id, stream=True)
    with pytest.raises(openai.BadRequestError, match="background"):
        client.responses.create(**REPEAT, background=True)


def test_an_answer_is_parsed_into_a_model(client: openai.OpenAI) -> None:
    # By itself the model leaves out the quotes around the name.
    asked = {**REPEAT, "input": "Give me JSON with name = Ada and age = 36", "max_output_tokens": 200}
    response = client.responses.parse(**asked, text_format=Person)
    assert response.output_parsed
    assert response.output_parsed.age == 36
    with client.responses.stream(**asked, text_format=Person) as stream:
        assert stream.get_final_response().output_parsed == response.output_parsed
    assert response.text
    assert response.text.format
    assert response.text.format.type == "json_schema"


@pytest.mark.parametrize("stream", [False, True])
def test_errors_are_the_clients_own_classes(client: openai.OpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as wrong:
        client.responses.create(**{**REPEAT, "temperature": 9}, stream=stream)
    assert wrong.value.param == "temperature"
    assert wrong.value.type == "invalid_request_error"
    image: Any = [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x/y.png"}]}]
    with pytest.raises(openai.BadRequestError, match="reads text only"):
        client.responses.create(**{**REPEAT, "input": image}, stream=stream)
    with pytest.raises(openai.NotFoundError) as missing:
        client.responses.create(**REPEAT, previous_response_id="resp_x", stream=stream)
    assert missing.value.code == "previous_response_not_found"


def test_a_failure_on_the_way_is_an_event(client: openai.OpenAI) -> None:
    asked = {**REPEAT, "input": "Count to 5000."}
    *_, last = client.responses.create(**asked, stream=True, extra_body={"deadline_s": 1})
    assert last.type == "response.failed"
    assert last.response.status == "failed"
    assert last.response.error
    assert "deadline_s" in last.response.error.message


def test_extras_are_those_of_the_chat_route(client: openai.OpenAI) -> None:
    asked = {**REPEAT, "input": "Write 30 random words.", "temperature": 1}
    one, same_seed, other = (
        client.responses.create(**asked, extra_body={"seed": seed, "top_k": 50}).output_text
        for seed in (7, 7, 8)
    )
    assert one == same_seed
    assert one != other
    stopped = client.responses.create(**REPEAT, extra_body={"stop": ["fine"]})
    assert stopped.output_text == "one "
