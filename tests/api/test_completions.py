"""`/v1/completions` with the real model, through the real `openai` client and raw HTTP."""

import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

import httpx
import openai
import pytest

from fireside.api.completions_format import CompletionBody
from fireside.api.completions_task import prepare_text
from fireside.api.generation import Served
from fireside.engine.engine import Engine
from fireside.http.errors import ContextOverBudget
from fireside.text.model import TextModel
from support.reference import computed
from support.server import POCKET, Server, serving

PROMPTS = ["The little boat ", "One, two, three,", "def add(a, b):\n    return", "日本の"]
RENDERED = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
REPEAT = RENDERED.format("Repeat: one fine day")
COUNT = RENDERED.format("Count to 900.")
FIXTURE = "Žluťoučký kůň 👩\u200d👩\u200d👧 漢字 🏳\ufe0f\u200d🌈 e\u0301x 🙂"

_REFERENCE = """
import json, sys
import mlx.core as mx
from mlx_lm import load, stream_generate
model, tokenizer = load(sys.argv[1])
model.set_dtype(mx.float32)
answers = []
for prompt in json.loads(sys.argv[2]):
    ids = tokenizer.encode(prompt)
    tokens = [r.token for r in stream_generate(model, tokenizer, ids, max_tokens=int(sys.argv[3]))]
    tokens = tokens[:-1] if tokens[-1] in tokenizer.eos_token_ids else tokens
    text = tokenizer.decode(ids + tokens)[len(tokenizer.decode(ids)):]
    answers.append([ids, tokens, text])
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def reference(server: Server) -> list[Any]:
    """For each of `PROMPTS` its ids, mlx-lm's greedy tokens after it, and their text."""
    return computed(_REFERENCE, str(POCKET), json.dumps(PROMPTS), "24")


def go_on(client: openai.OpenAI, prompt: Any, **options: Any) -> Any:
    options = {"temperature": 0, "max_tokens": 24, **options}
    return client.completions.create(model="any", prompt=prompt, **options)


def post(server: Server, **body: Any) -> httpx.Response:
    return httpx.post(f"{server.url}/v1/completions", json={"temperature": 0, **body}, timeout=60)


def chunks(server: Server, **body: Any) -> list[Any]:
    """The data of every SSE event of one answer, parsed, `[DONE]` as it is."""
    reply = post(server, **{"prompt": REPEAT, "max_tokens": 8, "stream": True, **body})
    assert reply.headers["content-type"] == "text/event-stream"
    data = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: ")]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


def texts(events: list[Any], index: int = 0) -> list[str]:
    return [c["text"] for e in events if e != "[DONE]" for c in e["choices"] if c["index"] == index]


def idle(server: Server, within_s: float = 2.0) -> bool:
    """Whether no row is in the engine, waiting for that."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        batch = server.get("/stats")["batch"]
        if batch["active_rows"] == batch["pending_rows"] == 0:
            return True
        time.sleep(0.02)
    return False


def test_greedy_texts_and_tokens_are_those_of_mlx_lm(client: openai.OpenAI, reference: list[Any]) -> None:
    for prompt, (ids, tokens, text) in zip(PROMPTS, reference, strict=True):
        answer = go_on(client, prompt, logprobs=True)
        (choice,) = answer.choices
        assert [entry["id"] for entry in choice.logprobs.content] == tokens
        assert choice.text == text
        assert answer.usage.prompt_tokens == len(ids)
        assert answer.usage.completion_tokens == len(tokens)


def test_an_answer_has_openais_shape(client: openai.OpenAI) -> None:
    answer = go_on(client, REPEAT, max_tokens=60)
    assert answer.object == "text_completion"
    assert answer.id.startswith("cmpl-")
    assert answer.model == "pocket"
    (choice,) = answer.choices
    assert (choice.index, choice.text, choice.finish_reason) == (0, "one fine day", "stop")
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.lane == "batched"


def test_token_ids_say_the_same_as_their_text(client: openai.OpenAI, reference: list[Any]) -> None:
    lists = [ids for ids, _, _ in reference]
    wanted = [text for _, _, text in reference]
    assert go_on(client, lists[0]).choices[0].text == wanted[0]
    assert [choice.text for choice in go_on(client, lists).choices] == wanted


def test_several_prompts_are_several_answers_each_as_if_alone(
    server: Server, client: openai.OpenAI, reference: list[Any]
) -> None:
    wanted = [text for _, _, text in reference]
    answer = go_on(client, PROMPTS)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert [choice.text for choice in answer.choices] == wanted
    assert answer.usage.prompt_tokens == sum(len(ids) for ids, _, _ in reference)
    assert answer.usage.completion_tokens == sum(len(tokens) for _, tokens, _ in reference)
    *events, done = chunks(server, prompt=PROMPTS, max_tokens=24)
    assert done == "[DONE]"
    assert ["".join(texts(events, index)) for index in range(4)] == wanted
    # On a busy machine all of a short answer may come in one go.
    *events, done = chunks(server, prompt=[COUNT] * 4, max_tokens=400)
    order = [e["choices"][0]["index"] for e in events if e["choices"][0]["text"]]
    assert order != sorted(order), "they are written at the same time"


def test_n_answers_have_seeds_that_follow_one_another(client: openai.OpenAI) -> None:
    options = {"temperature": 2, "max_tokens": 20}
    alone = [go_on(client, "word", seed=seed, **options).choices[0].text for seed in (40, 41, 42)]
    assert len(set(alone)) == 3
    answer = go_on(client, ["word", "other"], n=3, best_of=3, seed=40, **options)
    assert [choice.text for choice in answer.choices[:3]] == alone
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3, 4, 5]
    one = go_on(client, "word", **options).usage.prompt_tokens
    other = go_on(client, "other", **options).usage.prompt_tokens
    assert answer.usage.prompt_tokens == one + other


def test_echo_puts_the_prompt_in_front(server: Server, client: openai.OpenAI, reference: list[Any]) -> None:
    for prompt, (ids, _, text) in zip(PROMPTS, reference, strict=True):
        assert go_on(client, prompt, echo=True).choices[0].text == prompt + text
        assert go_on(client, ids, echo=True).choices[0].text == prompt + text
    events = chunks(server, prompt=PROMPTS[:2], echo=True)
    assert texts(events, 1)[0] == PROMPTS[1]


def test_ids_that_end_inside_a_character_are_completed(client: openai.OpenAI) -> None:
    prompt = RENDERED.format("Repeat: 漢字") + "漢"
    (logged,) = go_on(client, RENDERED.format("Repeat: 漢字"), logprobs=True).choices
    ids = [entry["id"] for entry in logged.logprobs.content]
    before = computed(
        "import json, sys; from mlx_lm.utils import load_tokenizer; from pathlib import Path;"
        "print(json.dumps(load_tokenizer(Path(sys.argv[1])).encode(sys.argv[2])))",
        str(POCKET),
        prompt[:-1],
    )
    answer = go_on(client, [*before, ids[0]], echo=True)
    assert answer.choices[0].text == prompt[:-1] + "漢字"


def test_markup_stays_text(client: openai.OpenAI) -> None:
    prompt = RENDERED.format("Repeat: fine") + "<think>\n"
    assert (
        go_on(client, RENDERED.format("Hello") + "<think>\nI", echo=True).choices[0].text.count("<think>")
        == 1
    )
    answer = go_on(client, prompt + "The user wants it.", max_tokens=60)
    assert "</think>" in answer.choices[0].text


@pytest.mark.parametrize("max_tokens", [3, 60])
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("prompt", [REPEAT, [REPEAT, "One, two,"]])
def test_a_stream_ends_in_finish_reasons_then_usage_then_done(
    server: Server, max_tokens: int, asked: bool, prompt: Any
) -> None:
    options = {"stream_options": {"include_usage": True}} if asked else {}
    *events, done = chunks(server, prompt=prompt, max_tokens=max_tokens, **options)
    assert done == "[DONE]"
    finishes = [(c["index"], c["finish_reason"]) for e in events for c in e["choices"] if c["finish_reason"]]
    assert sorted(index for index, _ in finishes) == list(range(1 if prompt == REPEAT else 2))
    assert dict(finishes)[0] == ("length" if max_tokens == 3 else "stop")
    assert [i for i, e in enumerate(events) if not e["choices"]] == ([len(events) - 1] if asked else [])
    assert [i for i, e in enumerate(events) if e.get("usage")] == [len(events) - 1]
    usage = events[-1]["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["lane"] == "batched"
    assert {e["object"] for e in events} == {"text_completion"}
    assert len({e["id"] for e in events}) == 1


def test_progress_is_sent_only_when_asked_for(server: Server) -> None:
    *events, _ = chunks(server, return_progress=True)
    assert "prefill" in [e["fireside"]["phase"] for e in events if "fireside" in e]
    assert {"lane", "queue_ms", "ttft_ms", "decode_tps", "seed"} <= events[-1]["usage"]["fireside"].keys()
    assert not any("fireside" in e for e in chunks(server)[:-1])


@pytest.mark.parametrize("max_tokens", [60, *range(1, 8)])
def test_text_in_many_scripts_comes_back_whole(server: Server, max_tokens: int) -> None:
    body = {"prompt": RENDERED.format(f"Repeat exactly: {FIXTURE}"), "max_tokens": max_tokens}
    whole = post(server, **body).json()["choices"][0]
    *events, _ = chunks(server, **body)
    assert "".join(texts(events)) == whole["text"]
    pieces = [text for text in texts(events) if text]
    assert not any("\ufffd" in text for text in pieces[:-1])
    assert FIXTURE.startswith(whole["text"].rstrip("\ufffd"))
    if max_tokens == 60:
        assert whole["text"] == FIXTURE


def test_stop_texts_end_an_answer_and_are_not_in_it(server: Server, client: openai.OpenAI) -> None:
    (choice,) = go_on(client, REPEAT, stop=["e d", ""]).choices
    assert (choice.text, choice.finish_reason) == ("one fin", "stop")
    events = chunks(server, prompt=[REPEAT, REPEAT], stop="fine", max_tokens=60)
    assert ["".join(texts(events, index)) for index in (0, 1)] == ["one ", "one "]
    assert idle(server)


def test_an_answer_has_512_tokens_unless_it_says_otherwise(client: openai.OpenAI) -> None:
    answer = client.completions.create(model="any", prompt=COUNT, temperature=0)
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 512
    assert answer.choices[0].finish_reason == "length"
    limited = go_on(client, COUNT, max_tokens=30, extra_body={"max_completion_tokens": 5})
    assert limited.usage.completion_tokens == 5


def test_logprobs_are_those_of_the_chat_route(server: Server, client: openai.OpenAI) -> None:
    (choice,) = go_on(client, REPEAT, logprobs=True, extra_body={"top_logprobs": 2}).choices
    question: list[Any] = [{"role": "user", "content": "Repeat: one fine day"}]
    chat = client.chat.completions.create(
        model="any",
        messages=question,
        temperature=0,
        logprobs=True,
        top_logprobs=2,
        reasoning_effort="none",
    )
    said = chat.choices[0].logprobs
    assert said is not None
    assert said.content is not None
    assert choice.logprobs.content == [entry.to_dict() for entry in said.content]
    events = chunks(server, top_logprobs=2, max_tokens=24)
    streamed = [
        x for e in events[:-1] for c in e["choices"] for x in c.get("logprobs", {}).get("content", [])
    ]
    assert streamed == choice.logprobs.content
    assert go_on(client, REPEAT).choices[0].logprobs is None


@pytest.mark.parametrize("repeats", [1, 2])
def test_the_same_prompt_again_is_answered_the_same(client: openai.OpenAI, repeats: int) -> None:
    longer = go_on(client, REPEAT)
    shorter = go_on(client, REPEAT[: REPEAT.index("day")], max_tokens=8)
    for _ in range(repeats):
        assert go_on(client, REPEAT).choices == longer.choices
        usage = go_on(client, REPEAT).usage
        assert usage.prompt_tokens == longer.usage.prompt_tokens
        assert usage.prompt_tokens_details.cached_tokens < usage.prompt_tokens
        assert go_on(client, REPEAT[: REPEAT.index("day")], max_tokens=8).choices == shorter.choices
    assert [c.text for c in go_on(client, [REPEAT] * 2).choices] == [longer.choices[0].text] * 2


@pytest.mark.parametrize(
    ("change", "param", "says"),
    [
        ({"prompt": ""}, "prompt", "empty"),
        ({"prompt": []}, "prompt", "empty"),
        ({"prompt": ["a", ""]}, "prompt[1]", "empty"),
        ({"prompt": [[1], []]}, "prompt[1]", "empty"),
        ({"prompt": None}, "prompt", "Expected"),
        ({"prompt": 7}, "prompt", "Expected"),
        ({"prompt": {"text": "a"}}, "prompt", "Expected"),
        ({"prompt": [True]}, "prompt[0]", "Expected"),
        ({"prompt": ["a", 5]}, "prompt", "list of texts"),
        ({"prompt": [5, [5]]}, "prompt", "list of texts"),
        ({"prompt": [5, 2048]}, "prompt", "from 0 to 2047"),
        ({"prompt": [-1]}, "prompt", "from 0 to 2047"),
        ({"prompt": [[5], [2**70]]}, "prompt[1]", ""),
        ({"prompt": ["a"] * 129}, "prompt", "128"),
        ({"n": 65, "prompt": ["a", "b"]}, "prompt", "128"),
        ({"n": 0}, "n", ""),
        ({"best_of": 2}, "best_of", "n"),
        ({"suffix": "end"}, "suffix", "suffix"),
        ({"stop": 7}, "stop", "Expected"),
        ({"stop": ["a", 7]}, "stop[1]", "Expected"),
        ({"logprobs": 3}, "logprobs", "logprobs must be of type bool"),
        ({"logprobs": "true"}, "logprobs", "logprobs must be of type bool"),
        ({"top_logprobs": 12}, "top_logprobs", "11"),
        ({"top_logprobs": -2}, "top_logprobs", "-1"),
        ({"echo": True, "logprobs": True}, "echo", "logprobs"),
        ({"echo": True, "top_logprobs": 1}, "echo", "logprobs"),
        ({"max_tokens": 0}, "max_tokens", ""),
        ({"temperature": "hot"}, "temperature", ""),
        ({"stream": "yes"}, "stream", ""),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_wrong_field_is_a_400_that_names_it(
    server: Server, change: dict[str, Any], param: str, says: str, stream: bool
) -> None:
    reply = post(server, **{"prompt": "a", "max_tokens": 1, "stream": stream, **change})
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert error["param"] == param
    assert says in error["message"]
    assert error["type"] == "invalid_request_error"


def test_a_missing_prompt_is_a_400(server: Server) -> None:
    reply = post(server)
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == "prompt"


@pytest.mark.parametrize("prompt", ["word " * 9000, "word " * 9_000_000, [5] * 8192])
def test_a_prompt_that_does_not_fit_is_a_400_with_the_numbers(server: Server, prompt: Any) -> None:
    reply = post(server, prompt=["a", prompt] if isinstance(prompt, str) else prompt)
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert error["code"] == "context_over_budget"
    assert "8192" in error["message"]


async def test_max_tokens_is_cut_to_the_room_that_is_left(tmp_path: Path) -> None:
    shutil.copytree(POCKET, tmp_path / "pocket", ignore=shutil.ignore_patterns("*.safetensors"))
    config = tmp_path / "pocket" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "max_position_embeddings": 600}))
    text = await TextModel.load(config.parent)

    async def room(length: int, **fields: Any) -> int:
        body = CompletionBody(prompt=[[5] * length], **fields)
        served = Served("pocket", text, cast("Engine", None), max_tokens=flag)
        (prepared,) = (await prepare_text(served, body)).prepared
        return prepared.request.max_tokens

    flag = None
    assert [await room(length) for length in (1, 88, 89, 599)] == [512, 512, 511, 1]
    assert [await room(500, max_tokens=tokens) for tokens in (99, 100, 101)] == [99, 100, 100]
    with pytest.raises(ContextOverBudget, match="600 tokens"):
        await room(600)
    flag = 40
    assert [await room(1), await room(1, max_tokens=50), await room(599)] == [40, 50, 1]
    text.close()


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_frees_all_its_rows(server: Server, stream: bool) -> None:
    body = {"prompt": [COUNT] * 3, "max_tokens": 4000, "logit_bias": {"2": -100}, "stream": stream}
    url = f"{server.url}/v1/completions"
    if stream:
        with httpx.stream("POST", url, json=body) as reply:
            lines = reply.iter_lines()
            assert next(lines).startswith("data: ")
            assert server.get("/stats")["batch"]["active_rows"] == 3
    else:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(url, json=body, timeout=0.5)
    assert idle(server)
    assert "Traceback" not in server.log.read_text()


def test_requests_that_fail_leave_their_neighbours_alone(server: Server, client: openai.OpenAI) -> None:
    wanted = go_on(client, COUNT, max_tokens=60).choices[0].text
    answers: list[str] = []
    running = threading.Thread(
        target=lambda: answers.append(go_on(client, COUNT, max_tokens=60).choices[0].text)
    )
    running.start()
    for prompt, stop in (("", None), ("a", 7), (["a", ""], None), ([[5000]], None)):
        assert post(server, prompt=prompt, stop=stop).status_code == 400
    running.join()
    assert answers == [wanted]
    assert "/v1/completions" in server.get("/v1")["endpoints"]


def test_what_the_engine_gives_up_is_an_error_in_the_stream(home: Path) -> None:
    paths = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    path = os.pathsep.join(filter(None, paths))
    command = (sys.executable, "-m", "support.poisoned")
    with serving(home, command=command, PYTHONPATH=path, FIRESIDE_TEST_POISON="7,7,7") as poisoned:
        poisoned.wait_ready()
        *events, failure, done = chunks(poisoned, prompt=[[5, 7, 7, 7], [5, 6]], max_tokens=4)
        assert done == "[DONE]"
        assert failure["error"]["code"] == "engine_error"
        assert all(e["object"] == "text_completion" for e in events)
        assert not any(c["finish_reason"] for e in events for c in e["choices"] if c["index"] == 0)
        assert idle(poisoned)
        assert post(poisoned, prompt=[5, 6], max_tokens=4).status_code == 200
