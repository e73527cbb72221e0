"""A model's whole life by the commands and clients that people use: found, fetched, served, left, removed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import openai
import psutil

from support.hub import Cut, running_hub
from support.server import COMMAND, POCKET, Server, serving

PLAIN = "org/pocket"
PACKED = "org--pocket-4bit"


def test_a_model_from_the_hub_to_an_answer_and_away_again(home: Path, tmp_path: Path) -> None:
    with running_hub() as hub:
        environment = {**hub.environment(tmp_path), "FIRESIDE_HOME": str(home)}

        def models(*arguments: str, status: int = 0) -> str:
            result = subprocess.run(
                [*COMMAND, "models", *arguments],
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert result.returncode == status, result.stderr
            assert "Traceback" not in result.stderr
            return result.stdout + result.stderr

        commit = hub.add(PLAIN, POCKET, tags=["mlx"], downloads=7).branches["main"]
        assert [row["repo_id"] for row in json.loads(models("search", "pocket", "--json"))] == [PLAIN]
        hub.faults["model.safetensors"] = [Cut(1_000_000), Cut(1_000_000)]
        models("get", PLAIN, "--convert", "4")
        whole, *rests = hub.ranges_of("model.safetensors")
        begins = [int(str(rest).removeprefix("bytes=").rstrip("-")) for rest in rests]
        assert (whole, len(begins)) == (None, 2)
        assert 0 < begins[0] < begins[1] < 2_000_000
        listed = {row["repo_id"]: row for row in json.loads(models("ls", "--json"))}
        assert [listed[name]["usable"] for name in (PLAIN, PACKED)] == [True, True]
        assert listed[PACKED]["quant_bits"] == 4
        flags = ("--api-only", "--model", PLAIN, "--model-pool", "2")
        with serving(home, *flags, model=None, command=None, **environment) as server:
            server.wait_ready()
            asked = ("default", PACKED, PLAIN)
            assert [answered_by(server, name) for name in asked] == [PLAIN, PACKED, PLAIN]
            # The served snapshot is an old one from now on, and stays for as long as it is served.
            hub.repos[PLAIN].commit({**hub.repos[PLAIN].commits[commit], "README.md": b"# New\n"})
            models("get", PLAIN)
            for name in (PLAIN, PACKED):
                assert "in use" in models("rm", name, "--yes", status=1)
            assert "0 B can be made free" in models("gc", "--yes")
            assert answered_by(server, PLAIN) == PLAIN
            server.post("/api/hub/serve", {"model": PLAIN})
            while server.get("/api/status")["engine"]["switch"]["state"] != "done":
                time.sleep(0.05)
            assert json.loads(models("gc", "--yes", "--json"))["snapshots"] == 1
            assert answered_by(server, PLAIN) == PLAIN
            processes = [server.process, *psutil.Process(server.process.pid).children(recursive=True)]
        assert not [each.pid for each in processes if psutil.pid_exists(each.pid)]
        for name in (PLAIN, PACKED):
            assert "free again" in models("rm", name, "--yes")
        assert "no models yet" in models("ls", status=1)


def answered_by(server: Server, model: str) -> str:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=60) as client:
        answer = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "Hello."}], max_tokens=8
        )
    assert answer.usage
    assert answer.usage.completion_tokens > 0
    return answer.model
