"""The agent's exceptions.

AgentError
    StorageError            the database could not be read or written
        DatabaseClosedError     it was used after `close`
        NewerDatabaseError      it was written by a newer Fireside
    ProviderError           the model server gave no answer, or only a part of one
    FrameRefusedError       a client's frame cannot be acted upon
"""


class AgentError(Exception):
    """Base of everything the agent raises on purpose. The text is meant for the person."""


class StorageError(AgentError):
    """The database could not be read or written; nothing of the failed step was kept."""


class DatabaseClosedError(StorageError):
    """The database was used after it was closed."""


class NewerDatabaseError(StorageError):
    """The database was written by a newer Fireside than this one."""


class ProviderError(AgentError):
    """The model server gave no answer, or broke it off. Carries the server's own words."""


class FrameRefusedError(AgentError):
    """A client's frame is not acted upon. `code` is one of the codes of `protocol.Error`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
