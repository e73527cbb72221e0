"""llm: its command line with a Fireside in `extra-openai-models.yaml`; LLM_USER_PATH is an empty folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import llm
from click.testing import CliRunner
from llm import cli

from results import URL, outcomes, report

MODELS = f"""
- model_id: fireside
  model_name: any
  api_base: {URL}/v1
  supports_tools: true
  supports_schema: true
- model_id: fireside-responses
  model_name: any
  api_base: {URL}/v1
  responses: true
- model_id: fireside-completion
  model_name: any
  api_base: {URL}/v1
  completion: true
"""
BASH = '''
def bash(command: str) -> str:
    """Run a command."""
    return f"I ran {command}"
'''


COMMAND: Any = cli.cli


def run(*arguments: str, model: str = "fireside") -> str:
    """What the command prints; without a model the last conversation goes on."""
    chosen = ["-m", model, "-o", "temperature", "0"] if model else ["-c"]
    done = CliRunner().invoke(COMMAND, [*chosen, *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def prompted() -> object:
    return run("-s", "Be brief.", "--no-stream", "Repeat: one fine day")


def streamed() -> object:
    pieces = list(llm.get_model("fireside").prompt("Repeat: one fine day", temperature=0))
    return {"text": "".join(pieces), "pieces": len(pieces) > 2}


def gone_on() -> object:
    return [run("Repeat: blue fern"), run("Again.", model=""), run("-u", "Again.", model="")]


def called() -> object:
    return run("--functions", BASH, "Run `ls`")


def structured() -> object:
    return json.loads(run("--schema", "age int", "Give me JSON with age = 36"))


def through_responses() -> object:
    return run("Repeat: one fine day", model="fireside-responses")


def through_completions() -> object:
    return run("-o", "max_tokens", "3", "Hello", model="fireside-completion") != ""


def logged() -> object:
    """What the last answer cost, from the usage that came with the stream."""
    (entry, *_) = json.loads(CliRunner().invoke(COMMAND, ["logs", "-c", "--json"]).stdout)
    return entry["input_tokens"] > 0 and entry["output_tokens"] > 0


Path(os.environ["LLM_USER_PATH"], "extra-openai-models.yaml").write_text(MODELS)
report(
    outcomes(
        [prompted, streamed, gone_on, called, structured, logged, through_responses, through_completions]
    )
)
