"""`weather`: what it is like in a place, now and in the next days, from Open-Meteo, which needs no key."""

import asyncio
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlencode

import msgspec

from fireside_agent.tools.tool import (
    Arguments,
    Call,
    Preview,
    Subject,
    ToolError,
    ToolResult,
)
from fireside_agent.tools.web.address import parse_address
from fireside_agent.tools.web.base import WebTool, host_of
from fireside_agent.tools.web.transfer import read_body

T = TypeVar("T")

DAYS = 3
MAX_CITY_CHARACTERS = 100

SKIES = {
    0: "clear", 1: "mostly clear", 2: "partly cloudy", 3: "overcast", 45: "fog", 48: "freezing fog",
    51: "light drizzle", 53: "drizzle", 55: "heavy drizzle", 56: "light freezing drizzle",
    57: "freezing drizzle",
    61: "light rain", 63: "rain", 65: "heavy rain", 66: "light freezing rain", 67: "freezing rain",
    71: "light snow", 73: "snow", 75: "heavy snow", 77: "snow grains", 80: "light showers", 81: "showers",
    82: "violent showers", 85: "light snow showers", 86: "snow showers", 95: "thunderstorm",
    96: "thunderstorm with hail", 99: "thunderstorm with heavy hail",
}  # fmt: skip
"""The WMO's code 4677, as far as Open-Meteo uses it."""


class Place(msgspec.Struct, frozen=True):
    """A place as the service knows it."""

    name: str
    latitude: float
    longitude: float
    country: str = ""


class Places(msgspec.Struct, frozen=True):
    results: list[Place] = []


class Current(msgspec.Struct, frozen=True):
    """Now: °C, %, mm, km/h."""

    temperature_2m: float
    apparent_temperature: float
    relative_humidity_2m: float
    precipitation: float
    wind_speed_10m: float
    weather_code: int


class Daily(msgspec.Struct, frozen=True):
    """A value for each day: °C, %."""

    time: list[str]
    weather_code: list[int]
    temperature_2m_min: list[float]
    temperature_2m_max: list[float]
    precipitation_probability_max: list[float | None]


class Forecast(msgspec.Struct, frozen=True):
    current: Current
    daily: Daily


class Weather(WebTool):
    """Asks two services of Open-Meteo: where a place is, and what it is like there."""

    name: ClassVar[str] = "weather"
    description: ClassVar[str] = "Get the current weather for a city, and the next days'."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 1, "maxLength": MAX_CITY_CHARACTERS}},
        "required": ["city"],
        "additionalProperties": False,
    }
    carries: ClassVar[str] = "a place's name"

    def subject(self, arguments: Arguments) -> Subject:
        return host_of(self._settings.places_url)

    async def preview(self, arguments: Arguments) -> Preview:
        host = parse_address(self._settings.places_url).authority
        return Preview("request", f"Ask {host} for the weather in:\n{arguments['city']}")

    async def run(self, call: Call) -> ToolResult:
        city = str(call.arguments["city"]).strip()
        try:
            async with asyncio.timeout(self._settings.search_seconds):
                found = await self._get(self._settings.places_url, Places, name=city, count=1, format="json")
                if not found.results:
                    raise ToolError(f"No place is called {city!r}. Try a larger town nearby.")
                place = found.results[0]
                forecast = await self._forecast(place)
        except TimeoutError as error:
            raise ToolError("The weather service did not answer in time. Try again.") from error
        return ToolResult(_in_words(place, forecast))

    async def _forecast(self, place: Place) -> Forecast:
        return await self._get(
            self._settings.weather_url,
            Forecast,
            latitude=place.latitude,
            longitude=place.longitude,
            current=",".join(Current.__struct_fields__),
            daily=",".join(field for field in Daily.__struct_fields__ if field != "time"),
            timezone="auto",
            forecast_days=DAYS,
        )

    async def _get(self, url: str, kind: type[T], **parameters: Any) -> T:
        address = parse_address(f"{url}?{urlencode(parameters)}")
        async with self._guard.send("GET", address, {}) as response:
            if response.status_code != 200:
                raise ToolError(f"The weather service answered with status {response.status_code}.")
            body = await read_body(response, self._settings.body_bytes)
        try:
            return msgspec.json.decode(body.data, type=kind)
        except msgspec.DecodeError as error:
            raise ToolError("The weather service's answer cannot be read. Try again later.") from error


def _in_words(place: Place, forecast: Forecast) -> str:
    now = forecast.current
    where = f"{place.name}, {place.country}" if place.country else place.name
    lines = [
        f"{where}: {_sky(now.weather_code)}, {now.temperature_2m:g} °C "
        f"(feels like {now.apparent_temperature:g} °C), humidity {now.relative_humidity_2m:g} %, "
        f"wind {now.wind_speed_10m:g} km/h, precipitation {now.precipitation:g} mm."
    ]
    daily = forecast.daily
    columns = (
        daily.time,
        daily.weather_code,
        daily.temperature_2m_min,
        daily.temperature_2m_max,
        daily.precipitation_probability_max,
    )
    for day, code, low, high, rain in zip(*columns, strict=False):
        chance = "" if rain is None else f", {rain:g} % chance of rain"
        lines.append(f"{day}: {_sky(code)}, {low:g} to {high:g} °C{chance}.")
    return "\n".join(lines)


def _sky(code: int) -> str:
    return SKIES.get(code, f"weather code {code}")
