"""Our greedy answers are mlx-lm's own, token for token."""

import json

from support.reference import computed
from support.server import Server

QUESTIONS = ["What is the capital of France?", "Write one line about the sea."]
TOKENS = 16

_REFERENCE = """
import json, sys
import mlx.core as mx
from mlx_lm import generate, load
from mlx_lm.utils import dequantize_model
model, tokenizer = load(sys.argv[1])
model.set_dtype(mx.float32)
dequantize_model(model)
answers = []
for question in json.loads(sys.argv[2]):
    messages = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    answers.append(generate(model, tokenizer, prompt, max_tokens=int(sys.argv[3])))
print(json.dumps(answers))
"""


def test_greedy_answers_equal_those_of_mlx_lm(default_server: Server) -> None:
    ours: list[str] = []
    for question in QUESTIONS:
        body = {"messages": [{"role": "user", "content": question}], "temperature": 0, "max_tokens": TOKENS}
        ours.append(default_server.post("/v1/chat/completions", body)["choices"][0]["message"]["content"])
    folder = default_server.home / "models" / "SmolLM2-135M-Instruct"
    assert ours == computed(_REFERENCE, str(folder), json.dumps(QUESTIONS), str(TOKENS))
