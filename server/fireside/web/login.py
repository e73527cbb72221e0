"""`/login` and `/logout`: a browser gets a session for a link or a key, and gives it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from quart import Blueprint, Response, redirect, request
from quart import send_from_directory as send  # pyright: ignore[reportUnknownVariableType]

from fireside.http.access import Access
from fireside.http.errors import BadRequest
from fireside.http.login import LoginCodes
from fireside.http.security import json_body
from fireside.http.sessions import LIFETIME_S
from fireside.http.validation import decode

_PAGE = "/#/chat"


class _Login(msgspec.Struct, frozen=True):
    key: str


def create_blueprint(access: Access, codes: LoginCodes | None, folder: Path) -> Blueprint:
    """The routes that open and end sessions.

    Args:
        codes: of links; None where no login is needed.
        folder: with the page's files.
    """
    blueprint = Blueprint("login", __name__)

    @blueprint.get("/login")
    async def login() -> Response:
        code = request.args.get("code")
        if not access.required:
            return _to_page()
        if code is not None and codes is not None and request.method == "GET" and codes.redeem(code):
            return _with_session(_to_page(), await access.sessions.open_by_link())
        response: Response = await send(folder, "login.html", cache_timeout=0)
        response.headers["Cache-Control"] = "no-store"
        if code is not None and request.method == "GET":
            response.status_code = 401
        return response

    @blueprint.post("/login")
    async def login_with_key() -> Response:
        key = decode(await json_body(), _Login).key
        key_id, refusal = access.try_key(request.scope, key)
        if key_id is None:
            raise refusal or BadRequest("Send the `key`.", param="key")
        return _with_session(Response(status=204), await access.sessions.open_by_key(key, key_id))

    @blueprint.post("/logout")
    async def logout() -> Response:
        for token in access.tokens(request.scope):
            await access.sessions.end(token)
        response = Response(status=204, headers={"Cache-Control": "no-store"})
        response.delete_cookie(access.sessions.cookie, path="/", httponly=True, samesite="Strict")
        return response

    def _with_session(response: Response, token: str) -> Response:
        response.headers["Cache-Control"] = "no-store"
        response.set_cookie(
            access.sessions.cookie,
            token,
            max_age=LIFETIME_S,
            path="/",
            secure=request.scheme == "https",
            httponly=True,
            samesite="Strict",
        )
        return response

    return blueprint


def _to_page() -> Response:
    answer: Any = redirect(_PAGE, 303)
    answer.headers["Cache-Control"] = "no-store"
    return answer
