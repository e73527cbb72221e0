"""The guard: no spelling, redirect, name or second answer of a name server leads to a private address."""

from __future__ import annotations

import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from agent.tools.web_servers import (
    Names,
    Site,
    local_settings,
    names,
    opened,
    redirect,
    response,
    run_tool,
    site,
)
from fireside_agent.tools.tool import BlockedError, ToolError
from fireside_agent.tools.web import Guard, WebFetch, WebSettings


def fetcher(settings: WebSettings) -> WebFetch:
    return WebFetch(Guard(settings), settings)


@pytest.fixture
async def listener():
    """A private service that must not be reached."""
    async with site({"/hit": response("secret")}) as running:
        yield running


async def refused(settings: WebSettings, url: str) -> str:
    with pytest.raises(BlockedError) as caught:
        await run_tool(fetcher(settings), url=url)
    return str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/hit",
        "http://localhost:{port}/hit",
        "http://[::1]:{port}/hit",
        "http://0.0.0.0:{port}/hit",
        "http://2130706433:{port}/hit",
        "http://[::ffff:127.0.0.1]:{port}/hit",
        "http://169.254.169.254/latest/",
        "file://{sentinel}",
        "http://0x7f.1:{port}/hit",
        "http://0177.0.0.1:{port}/hit",
        "http://127.1:{port}/hit",
        "http://0x7f000001:{port}/hit",
        "http://127.0.0.1.:{port}/hit",
        "http://127.0.0.1%2e:{port}/hit",
        "http://%31%32%37.0.0.1:{port}/hit",
        "http://localhost.:{port}/hit",
        "http://LOCALHOST:{port}/hit",
        "http://app.localhost:{port}/hit",
        "http://[fe80::1%25lo]:{port}/hit",
        "http://[::1]public.example:{port}/hit",
        "http://public.example@127.0.0.1:{port}/hit",
        "http://public.example:80@127.0.0.1:{port}/hit",
        "http://127.0.0.1:{port}\\@public.example/hit",
        "http://127。0。0。1:{port}/hit",
        "http://１２７.0.0.1:{port}/hit",
        "http://①②⑦.0.0.1:{port}/hit",
        "http://ｌｏｃａｌｈｏｓｔ:{port}/hit",
        "http://127.0.0.1\t:{port}/hit",
        "http:///127.0.0.1:{port}/hit",
        "http:127.0.0.1:{port}/hit",
        "//127.0.0.1:{port}/hit",
        "gopher://127.0.0.1:{port}/hit",
        "ftp://public.example/hit",
        "http://public.example:22/",
        "http://public.example:6667/",
        "http://public.example:99999/",
        "http://printer/hit",
        "http:// /hit",
        "http://",
        "http://[::1/hit",
    ],
)
async def test_no_spelling_reaches_a_private_service(listener: Site, tmp_path: Path, url: str) -> None:
    sentinel = tmp_path / "sentinel"
    sentinel.write_text("private words")
    resolver = Names({"public.example": [["127.0.0.1"]]})
    message = await refused(WebSettings(resolver=resolver), url.format(port=listener.port, sentinel=sentinel))
    assert "private words" not in message
    assert listener.connections == 0
    assert resolver.asked == []


async def test_a_huge_data_url_is_refused_at_once(listener: Site) -> None:
    assert "longer than" in await refused(WebSettings(), "data:image/png;base64," + "A" * 200_000_000)


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"]
)
@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/hit",
        "//127.0.0.1:{port}/hit",
        "http://private.example:{port}/hit",
        "http://169.254.169.254/latest/",
        "http://site.example:{port}/hit",
        "http://site.example:25/",
        "file:///etc/passwd",
        "data:text/plain,hello",
    ],
)
async def test_each_redirect_is_judged_anew(listener: Site, status: str, location: str) -> None:
    async with site({"/start": redirect(location.format(port=listener.port), status)}) as allowed:
        settings = local_settings(allowed, "site.example", "private.example")
        await refused(settings, f"http://site.example:{allowed.port}/start")
        assert [request.target for request in allowed.requests] == ["/start"]
    assert listener.connections == 0


async def test_a_name_that_changes_its_address_changes_nothing(listener: Site) -> None:
    """The name is public when it is judged and private when anyone asks again."""
    resolver = Names({"rebind.example": [["192.0.2.1"], ["127.0.0.1"]]})
    opening = opened(listener.port, network="192.0.2.1/32")
    settings = WebSettings(resolver=resolver, allowed_addresses=opening, fetch_seconds=0.5)
    with pytest.raises(ToolError):
        await run_tool(fetcher(settings), url=f"http://rebind.example:{listener.port}/hit")
    assert resolver.asked == ["rebind.example"]
    assert listener.connections == 0


async def test_the_connection_goes_to_what_was_checked(listener: Site) -> None:
    """The reverse: what was judged first is reached, although the name leads elsewhere by then."""
    resolver = Names({"rebind.example": [["127.0.0.1"], ["192.0.2.1"]]})
    settings = WebSettings(resolver=resolver, allowed_addresses=opened(listener.port))
    result = await run_tool(fetcher(settings), url=f"http://rebind.example:{listener.port}/hit")
    assert "secret" in result.text
    assert resolver.asked == ["rebind.example"]
    assert listener.requests[0].headers["host"] == f"rebind.example:{listener.port}"


async def test_the_same_name_is_judged_again_after_a_redirect(listener: Site) -> None:
    async with site({}) as allowed:
        allowed.pages["/start"] = redirect(f"http://rebind.example:{listener.port}/hit")
        resolver = Names({"rebind.example": [["127.0.0.1"], ["127.0.0.2"]]})
        settings = WebSettings(resolver=resolver, allowed_addresses=opened(allowed.port, listener.port))
        await refused(settings, f"http://rebind.example:{allowed.port}/start")
        assert resolver.asked == ["rebind.example"] * 2
    assert listener.connections == 0


@pytest.mark.parametrize("order", [0, 1])
async def test_one_private_address_among_public_ones_is_enough(listener: Site, order: int) -> None:
    found = ["1.1.1.1", "127.0.0.1"] if order else ["127.0.0.1", "1.1.1.1"]
    await refused(
        WebSettings(resolver=Names({"both.example": [found]})), f"http://both.example:{listener.port}/hit"
    )
    assert listener.connections == 0


async def test_an_opening_holds_for_its_ports_alone(listener: Site) -> None:
    settings = WebSettings(allowed_addresses=opened(listener.port + 1), resolver=names("site.example"))
    await refused(settings, f"http://site.example:{listener.port}/hit")
    await refused(settings, f"http://127.0.0.1:{listener.port}/hit")
    assert listener.connections == 0


async def test_the_next_address_is_tried_where_one_does_not_answer(listener: Site) -> None:
    resolver = Names({"site.example": [["127.0.0.9", "127.0.0.1"]]})
    settings = WebSettings(resolver=resolver, allowed_addresses=opened(listener.port, network="127.0.0.0/8"))
    assert (
        "secret" in (await run_tool(fetcher(settings), url=f"http://site.example:{listener.port}/hit")).text
    )


async def test_ipv6_is_reached_where_it_is_opened_and_nowhere_else() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    async with site({"/hit": response("over six")}, host="::1") as running:
        url = f"http://[0:0::1]:{running.port}/hit"
        await refused(WebSettings(), url)
        assert running.connections == 0
        settings = WebSettings(allowed_addresses=opened(running.port, network="::1/128"))
        assert "over six" in (await run_tool(fetcher(settings), url=url)).text
        assert running.requests[0].headers["host"] == f"[::1]:{running.port}"


async def test_proxies_of_the_environment_are_not_used(
    listener: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        settings = local_settings(listener)
        assert (
            "secret"
            in (await run_tool(fetcher(settings), url=f"http://site.example:{listener.port}/hit")).text
        )
        assert proxy.connections == 0


async def test_what_is_sent_is_what_was_shown(listener: Site) -> None:
    listener.pages["/a/../b%2fc/(é)"] = response("found")
    tool = fetcher(local_settings(listener))
    url = f"HTTP://Site.Example:{listener.port}/a/../b%2fc/(é)?q=%41&x=[1]#part"
    shown = (await tool.preview({"url": url})).text
    with pytest.raises(ToolError, match="404"):
        await run_tool(tool, url=url)
    request = listener.requests[0]
    assert shown == f"GET http://{request.headers['host']}{request.target}"
    assert request.target == "/a/../b%2fc/(%C3%A9)?q=%41&x=[1]"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for site.example, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
    command += "-keyout key.pem -out certificate.pem -subj /CN=site.example "
    command += "-addext subjectAltName=DNS:site.example"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text((folder / "key.pem").read_text() + (folder / "certificate.pem").read_text())
    return both


async def test_certificates_are_checked_against_the_name(certificate: Path) -> None:
    asked: list[str | None] = []
    server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_tls.load_cert_chain(certificate)
    server_tls.sni_callback = lambda _, name, __: asked.append(name)
    async with site({"/": response("sealed")}, tls=server_tls) as running:
        trusted = ssl.create_default_context(cafile=str(certificate))
        settings = local_settings(running, "site.example", "other.example", tls=trusted)
        result = await run_tool(fetcher(settings), url=f"https://site.example:{running.port}/")
        assert "sealed" in result.text
        for url, tls in (("https://other.example", trusted), ("https://site.example", None)):
            wrong = local_settings(running, "site.example", "other.example", tls=tls)
            with pytest.raises(ToolError, match="certificate"):
                await run_tool(fetcher(wrong), url=f"{url}:{running.port}/")
        assert len(running.requests) == 1
        # The same address under another name is another server, with a handshake of its own.
        running.pages["/"] = redirect(f"https://other.example:{running.port}/")
        with pytest.raises(ToolError, match="certificate"):
            await run_tool(fetcher(settings), url=f"https://site.example:{running.port}/")
        assert len(running.requests) == 2
    assert asked == ["site.example", "other.example"] + ["site.example"] * 2 + ["other.example"]
