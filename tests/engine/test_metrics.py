"""What `/metrics` says, read by Prometheus's own parser."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from fireside.engine.metrics import Metrics
from fireside.engine.requests import GenerationRequest, Row
from fireside.wire import CacheState, Sampling
from support.server import Server, prepared_home, serving

Values = dict[str, float]


def values(text: str) -> Values:
    """Each sample by its name and labels, as in the text."""
    return {
        sample.name
        + "".join(f" {name}={value}" for name, value in sorted(sample.labels.items())): sample.value
        for family in read_text(text)
        for sample in family.samples
    }


def of(metrics: Metrics) -> Values:
    return values(metrics.text()[0].decode())


def scraped(server: Server) -> Values:
    reply = httpx.get(f"{server.url}/metrics")
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    return values(reply.text)


def test_everything_that_can_be_counted_is_there_from_the_start() -> None:
    fresh = of(Metrics())
    assert fresh["fireside_requests_finished_total lane=serial+spec reason=error"] == 0
    assert fresh["fireside_prompt_tokens_total source=cached"] == 0
    assert all(value == 0 for name, value in fresh.items() if not name.split()[0].endswith("_created"))


def test_a_request_is_counted_from_its_arrival_to_its_end() -> None:
    metrics = Metrics()
    row = Row(GenerationRequest([1], 3, (), Sampling()))
    with metrics.request(row):
        metrics.rows(1, 2)
        metrics.started(0.2)
        metrics.computed(30)
        metrics.cached(70)
        metrics.first_token(0.4)
        metrics.token(0.03)
        metrics.token(4.0)
        row.outcome, row.lane = "length", "serial"
    metrics.rejected()
    seen = of(metrics)
    assert seen["fireside_requests_submitted_total"] == 1
    assert seen["fireside_rows_running"] == 1
    assert seen["fireside_rows_queued"] == 2
    assert seen["fireside_prompt_tokens_total source=computed"] == 30
    assert seen["fireside_prompt_tokens_total source=cached"] == 70
    assert seen["fireside_generated_tokens_total"] == 3
    assert seen["fireside_requests_finished_total lane=serial reason=length"] == 1
    assert seen["fireside_requests_rejected_total"] == 1
    assert seen["fireside_queue_wait_seconds_sum"] == pytest.approx(0.2)
    assert seen["fireside_time_to_first_token_seconds_sum"] == pytest.approx(0.4)
    assert seen["fireside_inter_token_seconds_count"] == 2
    assert seen["fireside_inter_token_seconds_bucket le=0.03"] == 1
    assert seen["fireside_inter_token_seconds_bucket le=5.0"] == 2


def test_what_a_core_counts_goes_on_over_its_death() -> None:
    metrics = Metrics()
    metrics.step(1000, CacheState(entries=2, bytes=500, hits=3, misses=4))
    metrics.step(2000, CacheState(entries=3, bytes=700, hits=5, misses=4))
    metrics.core_died()
    dead = of(metrics)
    assert dead["fireside_kv_bytes"] == dead["fireside_prompt_cache_bytes"] == 0
    assert dead["fireside_prompt_cache_entries"] == 0
    metrics.step(10, CacheState(entries=1, bytes=50, hits=1, misses=2))
    seen = of(metrics)
    assert seen["fireside_prompt_cache_hits_total"] == 6
    assert seen["fireside_prompt_cache_misses_total"] == 6
    assert seen["fireside_prompt_cache_entries"] == 1
    assert seen["fireside_prompt_cache_bytes"] == 50
    assert seen["fireside_kv_bytes"] == 10
    assert seen["fireside_core_restarts_total"] == 1


def test_two_engines_share_nothing() -> None:
    one, other = Metrics(), Metrics()
    one.rejected()
    assert of(other)["fireside_requests_rejected_total"] == 0


def test_openmetrics_is_spoken_to_those_who_ask_for_it() -> None:
    text, content_type = Metrics().text("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")
    assert "fireside_generated_tokens" in {family.name for family in read_openmetrics(text.decode())}


@pytest.fixture(scope="module")
def narrow(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One row, and nobody may wait."""
    home = prepared_home(tmp_path_factory.mktemp("metrics"), server.home)
    with serving(home, "--batch", "1", "--max-queue", "0") as running:
        yield running.wait_ready()


def test_a_server_counts_what_it_does(narrow: Server) -> None:
    counting = "<|im_start|>user\nCount to 900.<|im_end|>\n<|im_start|>assistant\n1, 2"
    body: dict[str, Any] = {"prompt": counting, "max_tokens": 7, "temperature": 0}
    answer = narrow.post("/v1/completions", body)
    seen = scraped(narrow)
    assert seen["fireside_requests_submitted_total"] == 1
    assert seen["fireside_requests_finished_total lane=serial reason=length"] == 1
    prompt = sum(seen[f"fireside_prompt_tokens_total source={source}"] for source in ("computed", "cached"))
    assert prompt == answer["usage"]["prompt_tokens"]
    assert seen["fireside_generated_tokens_total"] == answer["usage"]["completion_tokens"] == 7
    assert seen["fireside_inter_token_seconds_count"] == 6
    assert seen["fireside_queue_wait_seconds_count"] == 1
    assert 0 < seen["fireside_time_to_first_token_seconds_sum"] < 60
    with httpx.stream(
        "POST", f"{narrow.url}/v1/completions", json={**body, "max_tokens": 4000, "stream": True}
    ) as reply:
        lines = reply.iter_lines()
        assert any('"text":","' in line for line in lines)
        running = scraped(narrow)
        assert running["fireside_rows_running"] == 1
        assert running["fireside_kv_bytes"] > 0
        assert running["fireside_rows_queued"] == 0
        assert httpx.post(f"{narrow.url}/v1/completions", json=body).status_code == 429
        stopped = scraped(narrow)
        assert stopped["fireside_requests_rejected_total"] == 1
    narrow.kill_core()
    narrow.core_pid()
    narrow.post("/v1/completions", {**body, "max_tokens": 60, "stop": [answer["choices"][0]["text"]]})
    seen = scraped(narrow)
    assert seen["fireside_requests_finished_total lane=serial reason=cancelled"] == 1
    assert seen["fireside_requests_finished_total lane=serial reason=stop"] == 1
    assert seen["fireside_core_restarts_total"] == 1
    assert seen["fireside_rows_running"] == 0


def test_engines_that_go_together_are_added_up() -> None:
    one = Metrics()
    other = one.another()
    one.rows(2, 1)
    other.rows(3, 0)
    one.rejected()
    other.rejected()
    other.step(100, CacheState(entries=2, bytes=10, hits=3))
    found = of(one)
    assert found == of(other)
    assert (found["fireside_rows_running"], found["fireside_rows_queued"]) == (5, 1)
    assert (found["fireside_requests_rejected_total"], found["fireside_prompt_cache_hits_total"]) == (2, 3)
    other.closed()
    found = of(one)
    assert (found["fireside_rows_running"], found["fireside_kv_bytes"]) == (2, 0)
    assert found["fireside_prompt_cache_hits_total"] == 3
