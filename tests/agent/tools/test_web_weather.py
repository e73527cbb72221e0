"""`weather` against a server that speaks Open-Meteo's format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.tools.web_servers import Answer, Site, local_settings, response, run_tool, site
from fireside_agent.tools.tool import ChatFacts, ToolError
from fireside_agent.tools.web import Guard, Weather, search_settings

PLACES = {
    "results": [{"id": 1, "name": "Bern", "latitude": 46.9, "longitude": 7.4, "country": "Switzerland"}]
}
FORECAST = {
    "latitude": 46.9,
    "current": {
        "temperature_2m": 3.5, "apparent_temperature": 1, "relative_humidity_2m": 80, "precipitation": 0.2,
        "wind_speed_10m": 12, "weather_code": 61, "time": "2026-11-30T08:00",
    },
    "daily": {
        "time": ["2026-11-30", "2026-12-01"], "weather_code": [71, 1234], "temperature_2m_min": [-1, -3.5],
        "temperature_2m_max": [4, 2], "precipitation_probability_max": [90, None],
    },
}  # fmt: skip


def pages(places: Any = PLACES, forecast: Any = FORECAST) -> dict[str, Answer]:
    return {
        "/places": response(json.dumps(places), "application/json"),
        "/forecast": response(json.dumps(forecast), "application/json"),
    }


def weather(running: Site) -> Weather:
    base = f"http://site.example:{running.port}"
    settings = local_settings(running, places_url=f"{base}/places", weather_url=f"{base}/forecast")
    return Weather(Guard(settings), settings)


async def test_the_weather_in_words() -> None:
    async with site(pages()) as running:
        result = await run_tool(weather(running), city="Bern")
    assert result.text.splitlines() == [
        "Bern, Switzerland: light rain, 3.5 °C (feels like 1 °C), humidity 80 %, wind 12 km/h, "
        "precipitation 0.2 mm.",
        "2026-11-30: light snow, -1 to 4 °C, 90 % chance of rain.",
        "2026-12-01: weather code 1234, -3.5 to 2 °C.",
    ]


@pytest.mark.parametrize(
    ("places", "forecast", "said"),
    [
        ({}, FORECAST, "No place is called"),
        ({"results": "x"}, FORECAST, "cannot be read"),
        (PLACES, {"current": {}}, "cannot be read"),
    ],
)
async def test_what_cannot_be_told_is_said(places: Any, forecast: Any, said: str) -> None:
    async with site(pages(places, forecast)) as running:
        with pytest.raises(ToolError, match=said):
            await run_tool(weather(running), city="Nowhere")


async def test_it_asks_once_local_content_is_in_the_chat() -> None:
    async with site(pages()) as running:
        tool = weather(running)
        assert tool.question({"city": "Bern"}, ChatFacts()) is None
        assert tool.question({"city": "Bern"}, ChatFacts(local=True)) is not None
        assert "Bern" in (await tool.preview({"city": "Bern"})).text


def test_a_key_in_the_environment_chooses_who_searches() -> None:
    assert search_settings({}).provider == "duckduckgo"
    assert search_settings({"TAVILY_API_KEY": " k "}).search_key == "k"
    both = search_settings({"TAVILY_API_KEY": "t", "BRAVE_API_KEY": "b"})
    assert (both.provider, both.search_key) == ("brave", "b")
