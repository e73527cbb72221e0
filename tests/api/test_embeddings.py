"""`/v1/embeddings` with a real encoder and a decoder, against references that share no code with them."""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from tokenizers import Tokenizer

from support.chat import chatting
from support.completions import rows, wait_idle, wait_until
from support.embedders import END, Floats, decoder_vector, minilm
from support.onnx_bert import bert_session
from support.server import Server, prepared_home, serving

TEXTS = [
    "a",
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog.",
    "Ein Fuchs springt über den faulen Hund, während der Bär schläft.",
    "Быстрая коричневая лиса перепрыгивает через ленивую собаку.",
    "Η γρήγορη καφέ αλεπού πηδά πάνω από το τεμπέλικο σκυλί.",
    "敏捷的棕色狐狸跳过了懒狗。",
    "いろはにほへと ちりぬるを",
    "다람쥐 헌 쳇바퀴에 타고파",
    "الثعلب البني السريع يقفز فوق الكلب الكسول.",
    "השועל החום המהיר קופץ מעל הכלב העצלן",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर से कूदती है।",
    "def add(a: int, b: int) -> int:\n    return a + b\n",
    '{"name": "value", "numbers": [1, 2.5, -3e8]}',
    "🦊 jumps over 🐶, twice!",
    "naïve café — “quotes” … ½ ∑ √2 ≠ 1",
    "   spaces\tand\n\nlines   ",
    "Pneumonoultramicroscopicsilicovolcanoconiosis is a lung disease.",
    "A longer text about nothing in particular, with a clause here and another one there. " * 6,
    "One that nearly fills the window of the model, word after word after word. " * 14,
]


@pytest.fixture(scope="module")
def encoder(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Fireside that serves all-MiniLM-L6-v2."""
    home = prepared_home(tmp_path_factory.mktemp("encoder"), server.home)
    with serving(home, model=minilm()) as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def expected() -> Floats:
    """What onnxruntime makes of `TEXTS`, one at a time."""
    tokenizer = Tokenizer.from_file(str(minilm() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    session = bert_session(minilm())
    vectors: list[Floats] = []
    for text in TEXTS:
        ids = np.array([tokenizer.encode(text).ids])
        (hidden,) = session.run(None, {"ids": ids, "mask": np.ones_like(ids)})
        mean = hidden[0].mean(axis=0)
        vectors.append(mean / np.linalg.norm(mean))
    return np.stack(vectors)


def vectors(server: Server, texts: Any, **fields: Any) -> Floats:
    answer = server.post("/v1/embeddings", {"input": texts, **fields})
    assert [row["index"] for row in answer["data"]] == list(range(len(answer["data"])))
    return np.array([row["embedding"] for row in answer["data"]], np.float32)


def refused(server: Server, **body: Any) -> dict[str, Any]:
    response = httpx.post(f"{server.url}/v1/embeddings", json=body, timeout=60)
    assert response.status_code == 400, response.text
    error: dict[str, Any] = response.json()["error"]
    return error


def test_an_encoder_gives_what_onnxruntime_gives(encoder: Server, expected: Floats) -> None:
    together = vectors(encoder, TEXTS)
    assert together.shape == (20, 384)
    assert np.abs(together - expected).max() < 1e-5
    assert (together * expected).sum(axis=1).min() > 0.999


def test_a_text_gives_the_same_alone_as_among_others(encoder: Server, expected: Floats) -> None:
    for index in (0, 6, 18, 19):
        alone = vectors(encoder, TEXTS[index])
        assert np.abs(alone[0] - expected[index]).max() < 1e-5


def test_token_ids_are_read_as_they_are(encoder: Server, expected: Floats) -> None:
    tokenizer = Tokenizer.from_file(str(minilm() / "tokenizer.json"))
    tokenizer.no_padding()
    ids = tokenizer.encode(TEXTS[1]).ids
    for given in (ids, [ids], [ids, ids[:3]]):
        assert np.abs(vectors(encoder, given)[0] - expected[1]).max() < 1e-5
    answer = encoder.post("/v1/embeddings", {"input": [ids, ids[:3]]})
    assert answer["usage"] == {"prompt_tokens": len(ids) + 3, "total_tokens": len(ids) + 3}
    assert encoder.post("/v1/embeddings", {"input": TEXTS[1]})["usage"]["prompt_tokens"] == len(ids)


def test_the_openai_client_gets_its_vectors(encoder: Server, expected: Floats) -> None:
    with openai.OpenAI(base_url=f"{encoder.url}/v1", api_key="unused", max_retries=0) as client:
        plain = client.embeddings.create(model="any", input=TEXTS[:3], user="somebody")
        floats = client.embeddings.create(model="any", input=TEXTS[:3], encoding_format="float")
        with pytest.raises(openai.BadRequestError, match="cannot be cut"):
            client.embeddings.create(model="any", input="a", dimensions=8)
    assert plain.model == floats.model == "model"
    assert [row.embedding for row in plain.data] == [row.embedding for row in floats.data]
    assert np.abs(np.array([row.embedding for row in plain.data]) - expected[:3]).max() < 1e-5


def test_base64_holds_the_same_numbers(encoder: Server) -> None:
    body = {"input": TEXTS[2], "encoding_format": "base64"}
    (row,) = encoder.post("/v1/embeddings", body)["data"]
    assert (np.frombuffer(base64.b64decode(row["embedding"]), "<f4") == vectors(encoder, TEXTS[2])[0]).all()


def test_a_decoder_gives_what_numpy_gives(embedder: Server, embedder_folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(embedder_folder / "tokenizer.json"))
    found = vectors(embedder, TEXTS)
    for text, vector in zip(TEXTS, found, strict=True):
        ids = tokenizer.encode(text).ids
        assert ids[-1] == tokenizer.token_to_id(END)
        expected = decoder_vector(embedder_folder, ids)
        assert np.abs(vector - expected).max() < 1e-5
        assert float(vector @ expected) > 0.999
    assert np.abs(vectors(embedder, TEXTS[19])[0] - found[19]).max() < 1e-5


def test_an_instruction_comes_before_the_query(embedder: Server) -> None:
    found = vectors(embedder, ["Where?", "When?"], instruction="Find places")
    written = [f"Instruct: Find places\nQuery:{text}" for text in ("Where?", "When?")]
    assert (found == vectors(embedder, written)).all()


def test_vectors_are_cut_where_the_model_is_made_for_it(embedder: Server) -> None:
    whole, cut = vectors(embedder, TEXTS[:3]), vectors(embedder, TEXTS[:3], dimensions=16)
    expected = whole[:, :16] / np.linalg.norm(whole[:, :16], axis=1, keepdims=True)
    assert np.abs(cut - expected).max() < 1e-6
    body = {"input": TEXTS[:3], "dimensions": 16, "encoding_format": "base64"}
    rows = embedder.post("/v1/embeddings", body)["data"]
    packed = np.stack([np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in rows])
    assert (packed == cut).all()
    assert (vectors(embedder, TEXTS[:3], dimensions=64) == whole).all()
    error = refused(embedder, input="a", dimensions=17)
    assert (error["param"], error["message"]) == ("dimensions", "dimensions: 17 is not one of 16, 32.")


@pytest.mark.parametrize(
    ("body", "param", "says"),
    [
        ({}, "input", "missing"),
        ({"input": None}, "input", "Expected `str | array`"),
        ({"input": []}, "input", "at least one"),
        ({"input": ["a", ""]}, "input", "text 1 is empty"),
        ({"input": [[101], []]}, "input", "text 1 has no tokens"),
        ({"input": ["a", 5]}, "input", "mixed"),
        ({"input": ["a", {}]}, "input[1]", "got `object`"),
        ({"input": [101, -1]}, "input[1]", ">= 0"),
        ({"input": [[101, 30522]]}, "input", "text 0 has the token id 30522"),
        ({"input": ["a"] * 2049}, "input", "2049 texts are too many"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format", "int8"),
        ({"input": "a", "dimensions": 0}, "dimensions", ">= 1"),
        ({"input": "a", "dimensions": 383}, "dimensions", "384 numbers and cannot be cut"),
        ({"input": "a", "instruction": "Find it"}, "instruction", "not made"),
        ({"input": [101], "instruction": "Find it"}, "instruction", "token ids"),
    ],
)
def test_what_is_wrong_is_named(encoder: Server, body: dict[str, Any], param: str, says: str) -> None:
    error = refused(encoder, **body)
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert says in error["message"]


def test_a_text_that_is_too_long_is_refused_with_its_place(encoder: Server, embedder: Server) -> None:
    error = refused(encoder, input=["short", "word " * 300])
    assert "text 1 has 302 tokens; model reads 256 at most" in error["message"]
    assert error["code"] == "context_over_budget"
    assert "text 0 has 1537 tokens" in refused(embedder, input=[[5] * 1537])["message"]
    assert vectors(embedder, [[5] * 1536]).shape == (1, 64)


def test_a_chat_model_makes_no_vectors(server: Server) -> None:
    error = refused(server, input="Hello")
    assert (error["type"], error["param"]) == ("invalid_request_error", "model")
    assert error["message"].startswith("pocket is not an embedding model")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}]}),
        ("/v1/completions", {"prompt": "Hello"}),
        ("/v1/messages", {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5, "model": "m"}),
    ],
)
def test_an_embedder_answers_nothing(encoder: Server, path: str, body: dict[str, Any]) -> None:
    response = httpx.post(encoder.url + path, json=body)
    assert response.status_code == 400
    assert "model is an embedding model" in response.json()["error"]["message"]


def test_the_page_says_in_words_that_it_cannot_chat(encoder: Server) -> None:
    with chatting(encoder) as chat:
        message = chat.ask(chat.new_session(), "Hello")
    assert "model is an embedding model" in message["error"]


def test_what_it_is_can_be_seen(encoder: Server, embedder: Server) -> None:
    (row,) = encoder.get("/v1/models")["data"]
    assert (row["type"], row["dimensions"], row["context_window"]) == ("embedding", 384, 256)
    assert "gen_defaults" not in row
    assert encoder.get("/v1")["model"] == "model"
    status = encoder.get("/api/status")["engine"]
    assert status["phase"] == "ready"
    assert "cannot chat" in status["model"]["note"]
    stats = embedder.get("/stats")
    assert stats["prompt_cache"]["max_bytes"] == 0
    assert stats["engine"]["weights"] == "float32"


async def test_others_do_not_wait_for_much_work_which_ends_with_its_client(encoder: Server) -> None:
    body = {"input": ["word " * 200] * 300}
    async with httpx.AsyncClient(base_url=encoder.url, timeout=120) as client:
        large = asyncio.create_task(client.post("/v1/embeddings", json=body))
        await asyncio.to_thread(wait_until, lambda: rows(encoder) == (1, 0), 10)
        begun = time.monotonic()
        (await client.post("/v1/embeddings", json={"input": "short"})).raise_for_status()
        took = time.monotonic() - begun
        assert await asyncio.to_thread(rows, encoder) == (1, 0)
        large.cancel()
        await asyncio.wait({large})
    assert took < 3
    await asyncio.to_thread(wait_idle, encoder, 3)


def test_a_core_that_dies_costs_nothing_but_time(encoder: Server, expected: Floats) -> None:
    found: list[Floats] = []
    asking = threading.Thread(target=lambda: found.append(vectors(encoder, TEXTS)))
    with encoder.slowed():
        asking.start()
        wait_until(lambda: rows(encoder) == (1, 0), 5)
        encoder.kill_core()
    asking.join()
    assert np.abs(found[0] - expected).max() < 1e-5
