"""Our greedy answers are mlx-lm's own, token for token."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.server import Server

# In a process of its own: this one must not load MLX, and the reference uses no BLAS of ours.
_REFERENCE = """
import sys
import mlx.core as mx
from mlx_lm import generate, load
from mlx_lm.utils import dequantize_model
model, tokenizer = load(sys.argv[1])
model.set_dtype(mx.float32)
dequantize_model(model)
prompt = tokenizer.apply_chat_template([{"role": "user", "content": sys.argv[2]}], add_generation_prompt=True)
print(generate(model, tokenizer, prompt, max_tokens=24), end="")
"""


def reference(folder: Path, question: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", _REFERENCE, str(folder), question]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("question", ["What is the capital of France?", "Write one line about the sea."])
def test_a_greedy_answer_equals_mlx_lm(server: Server, question: str) -> None:
    body = {"messages": [{"role": "user", "content": question}], "temperature": 0, "max_tokens": 24}
    ours = server.post("/v1/chat/completions", body)["choices"][0]["message"]["content"]
    assert ours == reference(server.home / "models" / "SmolLM2-135M-Instruct", question)
