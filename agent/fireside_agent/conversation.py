"""A session as its clients see it: the messages, the numbered frames, and who follows them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from fireside_agent.messages import SessionSettings, Summary
from fireside_agent.protocol import Error, History, ServerFrame, SessionFrame
from fireside_agent.replay import ReplayRing
from fireside_agent.store.sessions import TitledBy
from fireside_agent.transcript import Transcript


class Follower(Protocol):
    """Whoever gets a session's frames. Must not block and must not raise."""

    def push(self, frame: str) -> None: ...


def encode(frame: ServerFrame) -> str:
    return msgspec.json.encode(frame).decode()


@dataclass
class Facts:
    """What belongs to a session beside its messages."""

    title: str
    titled_by: TitledBy = "prompt"
    settings: SessionSettings = field(default_factory=SessionSettings)
    summaries: list[Summary] = field(default_factory=list[Summary])
    temporary: bool = False


class Conversation:
    """Every change of `transcript` goes with the frame that tells of it, in one step of the event loop.

    So `history` is at every moment the session as it is after frame `seq`.
    """

    def __init__(self, session_id: str, epoch: str, transcript: Transcript, facts: Facts, seq: int) -> None:
        self.id = session_id
        self.transcript = transcript
        self.facts = facts
        self.followers: set[Follower] = set()
        self.adding = asyncio.Lock()
        """Held while a message is stored and added, so that each hangs on the one before it."""
        self._epoch = epoch
        self._ring = ReplayRing(seq)

    @property
    def seq(self) -> int:
        """The number of the newest frame."""
        return self._ring.seq

    def emit(self, make: Callable[[int], SessionFrame]) -> str:
        """Number a frame, keep it for replay and send it to all followers; returns it encoded."""
        frame = encode(make(self.seq + 1))
        self._ring.append(frame)
        self._push(frame)
        return frame

    def tell(self, code: str, message: str) -> None:
        """Send an error to all followers. It has no number: it is not part of the session."""
        self._push(encode(Error(code=code, message=message, session_id=self.id)))

    def resync(self) -> None:
        """Send the whole session to all followers, after a change that no frame tells of.

        Who is away now has missed that too, and gets it all on coming back.
        """
        self._ring.skip()
        self._push(self.history())

    def history(self) -> str:
        return encode(
            History(
                session_id=self.id,
                epoch=self._epoch,
                seq=self.seq,
                title=self.facts.title,
                messages=list(self.transcript),
                leaf_id=self.transcript.leaf_id,
                summaries=self.facts.summaries,
                settings=self.facts.settings,
                temporary=self.facts.temporary,
            )
        )

    def missed(self, epoch: str, after_seq: int) -> list[str]:
        """What a client needs that has had the frames up to `after_seq` of `epoch`."""
        # A client that has had no frame has not had the messages before them either.
        frames = self._ring.after(after_seq) if epoch == self._epoch and after_seq > 0 else None
        return [self.history()] if frames is None else frames

    def _push(self, frame: str) -> None:
        for follower in tuple(self.followers):
            follower.push(frame)
