"""`/api/settings/mcp`: the MCP servers, as the settings page lists and changes them."""

from typing import Any

import msgspec
from quart import Blueprint, Response, request

from fireside_agent.tools.mcp.config import ConfigError, Entry, EntryError
from fireside_agent.tools.mcp.servers import McpServers, ServerState

MAX_NAME = 64


class ServerList(msgspec.Struct, frozen=True):
    """`problem` says why `mcp.json` cannot be used; null when it can."""

    servers: list[ServerState]
    problem: str | None


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {
            "error": {
                "message": message,
                "type": "invalid_request_error" if status < 500 else "server_error",
                "code": code,
                "param": param,
            }
        }


def create_blueprint(servers: McpServers) -> Blueprint:
    """The routes of `servers`. Starting is never waited for: what comes of it is in the list."""
    blueprint = Blueprint("mcp", __name__, url_prefix="/api/settings/mcp")

    @blueprint.errorhandler(RefusedError)
    async def refuse(error: RefusedError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _json(error.body, error.status)

    @blueprint.errorhandler(EntryError)
    async def refuse_entry(error: EntryError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _json(RefusedError(400, "invalid_mcp_server", str(error)).body, 400)

    @blueprint.errorhandler(ConfigError)
    async def refuse_config(error: ConfigError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _json(RefusedError(409, "mcp_config_unusable", str(error)).body, 409)

    @blueprint.get("")
    async def list_servers() -> Response:  # pyright: ignore[reportUnusedFunction]
        await servers.reload()
        return _listing(servers)

    @blueprint.put("/<path:name>")
    async def put_server(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        _check_name(name)
        await servers.put(name, await _entry())
        return _listing(servers)

    @blueprint.delete("/<path:name>")
    async def delete_server(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        if not await servers.remove(name):
            raise RefusedError(404, "unknown_mcp_server", f"There is no MCP server {name!r}.", "name")
        return _listing(servers)

    @blueprint.post("/<path:name>/restart")
    async def restart_server(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        if not await servers.restart(name):
            message = f"There is no MCP server {name!r} that is switched on."
            raise RefusedError(404, "unknown_mcp_server", message, "name")
        return _listing(servers)

    return blueprint


def _listing(servers: McpServers) -> Response:
    return _json(ServerList(servers.states(), servers.problem or None), 200)


async def _entry() -> Entry:
    if request.mimetype != "application/json":
        message = "The body must be JSON, with `Content-Type: application/json`."
        raise RefusedError(415, "unsupported_media_type", message)
    body: Any = await request.get_data()
    try:
        return msgspec.json.decode(body, type=Entry)
    except msgspec.ValidationError as error:
        raise RefusedError(400, "invalid_mcp_server", f"This is no MCP server's entry: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise RefusedError(400, "invalid_json", f"The body is not JSON: {error}") from None


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or "/" in name:
        message = (
            f"A server's name has 1 to {MAX_NAME} printable characters and no slash; this is {name[:80]!r}."
        )
        raise RefusedError(400, "invalid_mcp_server", message, "name")


def _json(value: object, status: int) -> Response:
    return Response(msgspec.json.encode(value), status, content_type="application/json")
