"""`/ws`: JSON frames between a client and its sessions."""

import asyncio
import time

import msgspec
from quart import Blueprint, Response, Websocket, websocket

from fireside_agent.agent import Agent
from fireside_agent.answers import error_answer
from fireside_agent.client_frames import (
    Abort,
    Approval,
    ChangeSettings,
    ClientFrame,
    Compact,
    DeleteSession,
    EditQueued,
    ForkSession,
    ListSessions,
    MarkSession,
    NewSession,
    OpenSession,
    Prompt,
    Regenerate,
    RenameSession,
    Render,
    RestoreSession,
    SelectBranch,
    SessionWish,
    UndoChange,
    UndoCompact,
)
from fireside_agent.conversation import encode
from fireside_agent.errors import AgentError, FrameRefusedError, StorageError
from fireside_agent.outbox import Outbox
from fireside_agent.protocol import PROTOCOL_VERSION, Error, Hello
from fireside_agent.session import LiveSession

FRAMES_AT_ONCE = 200
FRAMES_PER_SECOND = 50.0
"""A page sends a few; a program that floods is told so, and its frames are not acted upon."""

GOING_AWAY = 1001


def create_blueprint(agent: Agent) -> Blueprint:
    """The route `/ws` of `agent`."""
    blueprint = Blueprint("agent", __name__)

    @blueprint.websocket("/ws")
    async def talk() -> None:  # pyright: ignore[reportUnusedFunction]
        await Connection(agent, websocket).run()

    @blueprint.get("/ws")
    async def refuse_plain_http() -> Response:  # pyright: ignore[reportUnusedFunction]
        response = error_answer(426, "expected_websocket", "expected websocket")
        response.headers["Upgrade"] = "websocket"
        return response

    return blueprint


class Allowance:
    """A token bucket: `most` at once, `per_second` in the long run."""

    def __init__(self, most: float, per_second: float) -> None:
        self._most = self._left = most
        self._per_second = per_second
        self._at = time.monotonic()

    def take(self) -> bool:
        """Whether one more is allowed now."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Connection:
    """One client's socket: a task that receives, a task that sends, and what waits between them."""

    def __init__(self, agent: Agent, socket: Websocket) -> None:
        self.outbox = Outbox()
        self._agent = agent
        self._socket = socket
        self._decoder = msgspec.json.Decoder(ClientFrame)
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = asyncio.Event()
        self._allowance = Allowance(FRAMES_AT_ONCE, FRAMES_PER_SECOND)

    async def run(self) -> None:
        """Serve until the client is gone, stops reading, or the agent closes."""
        await self._socket.send(encode(Hello(protocol=PROTOCOL_VERSION, epoch=self._agent.epoch)))
        if self._agent.ready is not None:
            self.outbox.reply(encode(self._agent.ready))
        self._tasks = [asyncio.create_task(self._send()), asyncio.create_task(self._receive())]
        self._agent.connect(self)
        try:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if not task.cancelled():
                    task.result()
                    await self._socket.close(GOING_AWAY)
        finally:
            self._agent.disconnect(self)
            self.outbox.close()
            self.cut()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._closed.set()

    async def wait_closed(self) -> None:
        await self._closed.wait()

    def cut(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _send(self) -> None:
        while (frame := await self.outbox.next()) is not None:
            await self._socket.send(frame)

    async def _receive(self) -> None:
        await self._agent.wait_started()
        while True:
            # A binary message arrives as bytes, an empty one as None.
            message: object = await self._socket.receive()
            if not isinstance(message, str):
                self._refuse("invalid_frame", "Binary messages are not understood; send JSON as text.")
                continue
            if not self._allowance.take():
                self._refuse("too_many_frames", "Too many frames in too short a time; this one was dropped.")
                continue
            try:
                frame = self._decoder.decode(message)
            except msgspec.ValidationError as error:
                self._refuse("invalid_frame", f"This is not a frame of the protocol: {error}")
            except (msgspec.DecodeError, RecursionError) as error:
                self._refuse("invalid_json", f"This is not JSON: {error}")
            else:
                await self._obey(frame)

    async def _obey(self, frame: ClientFrame) -> None:
        session_id = getattr(frame, "session_id", None) or getattr(frame, "id", None)
        client_id = getattr(frame, "client_id", None)
        try:
            await self._act(frame)
        except FrameRefusedError as error:
            self._refuse(error.code, str(error), session_id, client_id)
        except StorageError as error:
            self._refuse("storage_failed", str(error), session_id, client_id)
        except AgentError as error:
            self._refuse("not_possible", str(error), session_id, client_id)

    async def _act(self, frame: ClientFrame) -> None:
        match frame:
            case Prompt():
                await self._ask(frame)
            case OpenSession():
                conversation = (await self._agent.hub.get(frame.id)).conversation
                self.outbox.follow(conversation, conversation.missed(frame.epoch, frame.after_seq))
            case NewSession():
                self._show(self._agent.hub.new(frame.settings, temporary=frame.temporary))
            case ForkSession():
                self._show(await self._agent.hub.fork(frame.id, frame.message_id))
            case ListSessions():
                self.outbox.latest("sessions", await self._agent.list_sessions())
            case RenameSession():
                await self._agent.hub.rename(frame.id, frame.title)
            case MarkSession():
                await self._agent.hub.mark(frame.id, frame.pinned, frame.archived)
            case DeleteSession():
                await self._agent.delete_session(frame.id)
            case RestoreSession():
                await self._agent.hub.restore(frame.id)
            case _:
                await self._act_in(await self._agent.hub.get(frame.session_id), frame)

    async def _act_in(self, session: LiveSession, frame: SessionWish) -> None:
        match frame:
            case Abort():
                session.abort()
            case Regenerate():
                await session.regenerate(frame.message_id)
            case SelectBranch():
                await session.select(frame.message_id)
            case EditQueued():
                await session.edit_queued(frame.message_id, frame.text)
            case Approval():
                session.rule(frame)
            case UndoChange():
                await session.undo_change(frame.call_id, frame.path)
            case Compact():
                session.compact()
            case UndoCompact():
                await session.undo_compact(frame.summary_id)
            case ChangeSettings():
                await session.change_settings(frame.settings)
            case Render():
                self.outbox.reply(await session.rendered(frame.message_ids))

    def _show(self, session: LiveSession) -> None:
        self.outbox.follow(session.conversation, [session.conversation.history()])

    async def _ask(self, prompt: Prompt) -> None:
        session = await self._agent.hub.get(prompt.session_id)
        accepted = await session.ask(prompt)
        if self.outbox.following is not session.conversation:
            self.outbox.reply(accepted)

    def _refuse(
        self, code: str, message: str, session_id: str | None = None, client_id: str | None = None
    ) -> None:
        self.outbox.reply(
            encode(Error(code=code, message=message, session_id=session_id, client_id=client_id))
        )
