"""A small model hub on a real socket: what `huggingface_hub` uses of its API, with faults on order."""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_LARGE = 100_000
"""Files from this size on are kept beside git, and sent from another host, as the real hub does."""
_PIECE = 64 * 1024
_WEIGHTS = ".safetensors"


@dataclass(frozen=True)
class Cut:
    """The body ends after `at` bytes: by a reset of the connection, or as if that were the end."""

    at: int
    reset: bool = True


@dataclass(frozen=True)
class Short:
    """The answer says that it has `size` bytes, and has no more."""

    size: int


@dataclass(frozen=True)
class Refused:
    """Another status instead of the file."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Slow:
    """The body comes piece by piece, each after a pause."""

    pause_s: float


Fault = Cut | Short | Refused | Slow


@dataclass
class Repo:
    """A repository: the files of each commit, and the commit of each branch."""

    repo_id: str
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict[str, dict[str, bytes]])
    branches: dict[str, str] = field(default_factory=dict[str, str])
    tags: list[str] = field(default_factory=list[str])
    downloads: int = 0
    gated: str | bool = False
    private: bool = False

    def commit(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Let a branch have these files; returns the commit."""
        listing = [(name, hashlib.sha1(body).hexdigest()) for name, body in sorted(files.items())]
        commit = hashlib.sha1(json.dumps(listing).encode()).hexdigest()
        self.commits[commit] = dict(files)
        self.branches[branch] = commit
        return commit


@dataclass(frozen=True)
class Asked:
    """A request that came: with a token or not, and for which part."""

    method: str
    path: str
    token: str | None
    range: str | None


@dataclass
class Hub:
    """The hub, and what tests arrange in it.

    Attributes:
        token: opens what is gated or private.
        faults: for the next requests of a file, by its name; each is used once.
        ranges: whether a part of a file can be asked for.
        wrong: names of files whose content is not what the hub says it is.
        sizes: said instead of the real ones, by the names of files.
        names: said instead of the real ones, by the names of files.
        down: a status that everything is answered with.
    """

    url: str = ""
    token: str = "hf_test_token"
    repos: dict[str, Repo] = field(default_factory=dict[str, Repo])
    faults: dict[str, list[Fault]] = field(default_factory=dict[str, list[Fault]])
    ranges: bool = True
    wrong: set[str] = field(default_factory=set[str])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    names: dict[str, str] = field(default_factory=dict[str, str])
    down: Refused | None = None
    asked: list[Asked] = field(default_factory=list[Asked])

    def add(self, repo_id: str, files: Mapping[str, bytes] | Path, **more: Any) -> Repo:
        """Have a model with these files, or with those of a folder."""
        if isinstance(files, Path):
            files = files_of(files)
        repo = self.repos[repo_id] = Repo(repo_id, **more)
        repo.commit(files)
        return repo

    def ranges_of(self, name: str) -> list[str | None]:
        """The parts of a file that were asked for, in turn, from where it is sent."""
        return [each.range for each in self.asked if each.method == "GET" and each.path.endswith(f"?{name}")]

    def environment(self, home: Path) -> dict[str, str]:
        """What lets a process use this hub, with a cache of its own."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home / "hf"),
            "HF_HUB_CACHE": str(home / "hub"),
            "HF_HUB_OFFLINE": "0",
            "HF_TOKEN": "",
            "HF_HUB_ETAG_TIMEOUT": "5",
            "HF_HUB_DOWNLOAD_TIMEOUT": "5",
        }


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder by their names."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def git_digest(body: bytes) -> str:
    """The id of a content in git."""
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


@contextmanager
def running_hub() -> Iterator[Hub]:
    """A hub that runs until the block ends."""
    hub = Hub()

    class Handler(_Handler):
        pass

    Handler.hub = hub
    server = _Server(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is what many tests are about."""


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        self.hub.asked.append(Asked(self.command, self.path, token, self.headers.get("Range")))
        if self.hub.down is not None:
            return self._refuse(self.hub.down)
        address = urlsplit(self.path)
        parts = [unquote(part) for part in address.path.strip("/").split("/")]
        if parts[0] == "cdn":
            return self._file(parts[1], parts[2], parts[3], unquote(address.query))
        if parts == ["api", "models"]:
            return self._list(parse_qs(address.query))
        api = parts[:2] == ["api", "models"]
        parts = parts[2:] if api else parts
        repo = self.hub.repos.get("/".join(parts[:2]))
        if repo is None or (repo.private and token != self.hub.token):
            return self._error(401 if token is None else 404, "RepoNotFound")
        rest = parts[2:]
        commit = self._commit(repo, rest[1] if len(rest) > 1 else "main")
        if commit is None:
            return self._error(404, "RevisionNotFound")
        if api:
            return self._info(repo, commit) if rest[:1] != ["tree"] else self._tree(repo, commit)
        return self._resolve(repo, commit, "/".join(rest[2:]), token)

    def _commit(self, repo: Repo, revision: str) -> str | None:
        return repo.branches.get(revision) or (revision if revision in repo.commits else None)

    def _list(self, query: dict[str, list[str]]) -> None:
        words = query.get("search", [""])[0].lower()
        wanted = set(query.get("filter", []))
        found = [
            repo
            for repo in self.hub.repos.values()
            if words in repo.repo_id.lower() and wanted <= set(repo.tags) and not repo.private
        ]
        if query.get("sort") == ["downloads"]:
            found.sort(key=lambda repo: -repo.downloads)
        limit = int(query.get("limit", ["1000"])[0])
        self._json([self._row(repo, repo.branches["main"]) for repo in found[:limit]])

    def _info(self, repo: Repo, commit: str) -> None:
        files = repo.commits[commit]
        siblings = [self._sibling(name, body) for name, body in files.items()]
        self._json({**self._row(repo, commit), "siblings": siblings})

    def _row(self, repo: Repo, commit: str) -> dict[str, Any]:
        weights = sum(len(body) for name, body in repo.commits[commit].items() if name.endswith(_WEIGHTS))
        return {
            "id": repo.repo_id,
            "modelId": repo.repo_id,
            "sha": commit,
            "tags": repo.tags,
            "downloads": repo.downloads,
            "likes": 1,
            "gated": repo.gated,
            "private": repo.private,
            "lastModified": "2026-01-01T00:00:00.000Z",
            "safetensors": {"parameters": {"BF16": weights // 2}, "total": weights // 2} if weights else None,
        }

    def _sibling(self, name: str, body: bytes) -> dict[str, Any]:
        size = self.hub.sizes.get(name, len(body))
        row: dict[str, Any] = {
            "rfilename": self.hub.names.get(name, name),
            "size": size,
            "blobId": git_digest(body),
        }
        if len(body) >= _LARGE:
            row["lfs"] = {"sha256": hashlib.sha256(body).hexdigest(), "size": size, "pointerSize": 130}
        return row

    def _tree(self, repo: Repo, commit: str) -> None:
        rows = [self._sibling(name, body) for name, body in repo.commits[commit].items()]
        self._json(
            [
                {"type": "file", "path": row["rfilename"], "size": row["size"], "oid": row["blobId"]}
                | ({"lfs": {**row["lfs"], "oid": row["lfs"]["sha256"]}} if "lfs" in row else {})
                for row in rows
            ]
        )

    def _resolve(self, repo: Repo, commit: str, name: str, token: str | None) -> None:
        body = repo.commits[commit].get(name)
        if body is None:
            return self._error(404, "EntryNotFound", {"X-Repo-Commit": commit})
        if repo.gated and token != self.hub.token:
            return self._error(401 if token is None else 403, "GatedRepo")
        headers = {"X-Repo-Commit": commit, "ETag": f'"{git_digest(body)}"'}
        if len(body) >= _LARGE:
            elsewhere = self.hub.url.replace("127.0.0.1", "localhost")
            headers |= {
                "X-Linked-Etag": f'"{hashlib.sha256(body).hexdigest()}"',
                "X-Linked-Size": str(len(body)),
                "Location": f"{elsewhere}/cdn/{repo.repo_id}/{commit}?{name}",
            }
            return self._send(302, b"", headers)
        return self._content(name, body, headers)

    def _file(self, owner: str, short: str, commit: str, name: str) -> None:
        body = self.hub.repos[f"{owner}/{short}"].commits[commit][name]
        self._content(name, body, {"ETag": f'"{hashlib.sha256(body).hexdigest()}"'})

    def _content(self, name: str, body: bytes, headers: dict[str, str]) -> None:
        faults = self.hub.faults.get(name, [])
        fault = faults.pop(0) if faults and self.command == "GET" else None
        if isinstance(fault, Refused):
            return self._refuse(fault)
        if name in self.hub.wrong:
            body = bytes([body[0] ^ 1]) + body[1:]
        status = 200
        asked = self.headers.get("Range")
        if asked and self.hub.ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin, end = int(first), min(int(last) + 1 if last else len(body), len(body))
            if begin >= len(body):
                return self._send(416, b"", {"Content-Range": f"bytes */{len(body)}"})
            headers = {**headers, "Content-Range": f"bytes {begin}-{end - 1}/{len(body)}"}
            status, body = 206, body[begin:end]
        return self._send(status, body, headers, fault)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], fault: Fault | None = None) -> None:
        length = min(len(body), fault.size) if isinstance(fault, Short) else len(body)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if isinstance(fault, Cut):
            self.wfile.write(body[: fault.at])
            self._hang_up(reset=fault.reset)
            return
        for begin in range(0, length, _PIECE):
            self.wfile.write(body[begin : min(begin + _PIECE, length)])
            if isinstance(fault, Slow):
                time.sleep(fault.pause_s)

    def _hang_up(self, *, reset: bool) -> None:
        self.close_connection = True
        self.wfile.flush()
        if reset:
            time.sleep(0.05)  # A reset drops what the client has not read yet.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _refuse(self, refused: Refused) -> None:
        self._send(refused.status, b"{}", {"Content-Type": "application/json", **refused.headers})

    def _error(self, status: int, code: str, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code, **(headers or {})})

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})
