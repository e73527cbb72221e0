"""What the programs that tools start get to see of our environment: nothing that may be a secret."""

import os
import re
from collections.abc import Mapping

# Only what programs need to run at all. Proxies are left out: their URLs may hold a password.
_ALLOWED = re.compile(r"PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|LANG|LANGUAGE|LC_\w+|XDG_\w+")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)

_FIXED = {
    "TERM": "dumb",
    # Nobody is there to leaf through pages or to answer.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
}


def plain_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that are known to be harmless, and settings for programs that run unattended."""
    allowed = {
        name: value
        for name, value in environment.items()
        if _ALLOWED.fullmatch(name) and not _SECRET.search(name)
    }
    return allowed | _FIXED
