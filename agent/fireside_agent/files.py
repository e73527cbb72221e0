"""Files of ours, written whole or not at all."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put `data` in the file at `path`: afterwards all of it is there, or what was there before.

    Args:
        mode: of the file, less what the umask takes; never open to more than that meanwhile.

    Raises:
        OSError: nothing was changed.
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
