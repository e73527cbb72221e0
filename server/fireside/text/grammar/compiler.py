"""Grammars to what a core enforces, one process away: a hostile one may take all time and memory there is."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from fireside.text.grammar.spec import GrammarSpec, GrammarUnsupported, GrammarWrong
from fireside.text.grammar.vocabulary import VocabularyDescription
from fireside.text.grammar.worker import LENGTH, Answer, Compile, Tokenizer

COMMAND = (sys.executable, "-P", "-m", "fireside.text.grammar.worker")
WITHIN_S = 5.0
MOST_BYTES = 16 << 20
"""Of one compiled grammar; an answer that needs more is not worth what it takes from the others."""
CACHE_BYTES = 64 << 20
_START_WITHIN_S = 60.0
_THREADS = 2
_ENTRY_BYTES = 200
"""What an entry of the cache takes besides its texts, roughly."""

T = TypeVar("T")

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Answer).decode


class GrammarCompiler:
    """Compiles for one model, one grammar at a time, and keeps what was asked for last.

    Its process is started at the first grammar, and again after it had to be ended.

    Args:
        describe: tells of the model's tokens; asked at the first grammar. May raise `GrammarUnsupported`.
        command: starts the process.
        within_s: seconds that a grammar may take.
        cache_bytes: that finished grammars may take.
    """

    def __init__(
        self,
        describe: Callable[[], Awaitable[VocabularyDescription]],
        *,
        command: tuple[str, ...] = COMMAND,
        within_s: float = WITHIN_S,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._describe = describe
        self._command = command
        self._within_s = within_s
        self._known = _Known(cache_bytes)
        self._jobs: dict[GrammarSpec, _Job] = {}
        self._worker: _Worker | None = None
        self._info = b""
        self._turn = asyncio.Lock()
        self._closed = False
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="grammar")

    @property
    def pid(self) -> int | None:
        """Of the process; None while there is none."""
        return self._worker.pid if self._worker and self._worker.alive else None

    async def compile(self, spec: GrammarSpec) -> bytes:
        """`wire.Grammar.compiled` of a grammar. What is asked for at the same time is compiled once.

        Raises:
            GrammarWrong: it is no grammar.
            GrammarUnsupported: it cannot be enforced here: it takes too much time or memory, or says more
                than a grammar can.
        """
        try:
            spec.text.encode()
        except UnicodeEncodeError as error:
            raise GrammarUnsupported("it has half a character in it") from error
        answer = self._known.get(spec) or await self._shared(spec)
        if answer.wrong:
            raise GrammarWrong(answer.wrong)
        if answer.unsupported:
            raise GrammarUnsupported(answer.unsupported)
        return answer.made

    async def off_loop(self, work: Callable[[], T]) -> T:
        """Do what may take seconds, such as to look at a large schema, in a thread.

        There are few of them, and none that others wait for.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def vocabulary(self) -> bytes:
        """`wire.Vocabulary.info`, which a core needs before its first grammar.

        Raises:
            GrammarUnsupported: the model's tokenizer cannot be described.
        """
        if not self._info:
            async with self._turn:
                await self._ready()
        return self._info

    async def close(self) -> None:
        """End the process. Idempotent."""
        self._closed = True
        for job in list(self._jobs.values()):
            job.task.cancel()
        if self._jobs:
            await asyncio.wait([job.task for job in self._jobs.values()])
        await self._end()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _shared(self, spec: GrammarSpec) -> Answer:
        job = self._jobs.get(spec)
        if job is None:
            job = self._jobs[spec] = _Job(asyncio.create_task(self._compile(spec), name="grammar"))
            job.task.add_done_callback(lambda _, job=job: self._forget(spec, job))
        job.waiting += 1
        try:
            return await asyncio.shield(job.task)
        finally:
            job.waiting -= 1
            if not job.waiting:
                self._forget(spec, job)
                job.task.cancel()  # nobody wants it any more

    def _forget(self, spec: GrammarSpec, job: _Job) -> None:
        if self._jobs.get(spec) is job:
            del self._jobs[spec]

    async def _compile(self, spec: GrammarSpec) -> Answer:
        within = self._within_s
        async with self._turn:
            try:
                worker = await self._ready()
                question = Compile(spec.kind, spec.text, int(within) + 2)
                answer = await self._ask(worker, question, within)
            except TimeoutError:
                answer = Answer(unsupported=f"it takes longer than {within:g} s to compile")
            except _DiedError:
                # Not kept: it may be nothing of the grammar's doing.
                return Answer(unsupported="compiling it ended the process that does it, maybe for its memory")
            except GrammarUnsupported as error:
                return Answer(unsupported=str(error))
        if len(answer.made) > MOST_BYTES:
            size, most = len(answer.made) >> 20, MOST_BYTES >> 20
            answer = Answer(unsupported=f"it takes {size} MB when compiled, {most} MB are allowed")
        self._known.put(spec, answer)
        return answer

    async def _ready(self) -> _Worker:
        """The process, knowing the tokenizer."""
        if self._closed:
            raise GrammarUnsupported("Fireside is stopping")
        if self._worker is not None and self._worker.alive:
            return self._worker
        await self._end()
        question = Tokenizer(info=self._info) if self._info else Tokenizer(await self._describe())
        try:
            worker = self._worker = await _Worker.start(self._command)
            answer = await self._ask(worker, question, _START_WITHIN_S)
        except (OSError, _DiedError) as error:
            why = "the process that compiles grammars does not start; see the log"
            raise GrammarUnsupported(why) from error
        self._info = answer.made
        return worker

    async def _ask(self, worker: _Worker, question: Tokenizer | Compile, within_s: float) -> Answer:
        try:
            async with asyncio.timeout(within_s):
                return await worker.ask(question)
        except BaseException:
            # Its answer would be taken for the next question's.
            await self._end()
            raise

    async def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.end()


@dataclass
class _Job:
    """A grammar that is being compiled, or waits for that, and how many requests wait for it."""

    task: asyncio.Task[Answer]
    waiting: int = 0


class _DiedError(Exception):
    """The process is gone."""


class _Worker:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    @classmethod
    async def start(cls, command: tuple[str, ...]) -> _Worker:
        pipe = asyncio.subprocess.PIPE
        # A session of its own: a Ctrl-C in the terminal reaches only the app.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, start_new_session=True, limit=1 << 20
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def ask(self, question: Tokenizer | Compile) -> Answer:
        """Raises `_DiedError`."""
        body = _encode(question)
        try:
            self._stdin.write(LENGTH.pack(len(body)) + body)
            await self._stdin.drain()
            (length,) = LENGTH.unpack(await self._stdout.readexactly(LENGTH.size))
            return _decode(await self._stdout.readexactly(length))
        except (OSError, EOFError) as error:
            raise _DiedError from error

    async def end(self) -> None:
        """Kill it, and collect it even where the caller is cancelled meanwhile."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await asyncio.shield(asyncio.ensure_future(self._process.wait()))


class _Known:
    """Answers by grammar, those asked for last; what they take together stays within a bound."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._answers: OrderedDict[GrammarSpec, Answer] = OrderedDict()

    def get(self, spec: GrammarSpec) -> Answer | None:
        answer = self._answers.get(spec)
        if answer is not None:
            self._answers.move_to_end(spec)
        return answer

    def put(self, spec: GrammarSpec, answer: Answer) -> None:
        self._answers[spec] = answer
        self._bytes += _size(spec, answer)
        while self._bytes > self._most_bytes:
            self._bytes -= _size(*self._answers.popitem(last=False))


def _size(spec: GrammarSpec, answer: Answer) -> int:
    return _ENTRY_BYTES + len(spec.text) + len(answer.made) + len(answer.wrong) + len(answer.unsupported)
