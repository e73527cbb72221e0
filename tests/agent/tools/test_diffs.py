"""Diffs of changes: `patch` applies them, and large files hold nothing up."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireside_agent.tools import diffs
from fireside_agent.tools.diffs import unified_diff

LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "\x0c\u2028x\n", "-- \n", "@@ -1 +1 @@\n"]), max_size=40
)
ENDS = st.sampled_from(["", "end"])


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs `patch`")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, LINES, LINES, LINES, ENDS, ENDS, st.booleans())
def test_patch_applies_our_diffs(
    tmp_path: Path,
    start: list[str],
    end: list[str],
    old: list[str],
    new: list[str],
    old_end: str,
    new_end: str,
    whole: bool,
) -> None:
    before = "".join([*start, *old, *end, old_end]).encode()
    after = "".join([*start, *new, *end, new_end]).encode()
    if not before or not after or before == after:
        return
    with pytest.MonkeyPatch.context() as patch:
        if whole:
            patch.setattr(diffs, "MAX_COMPARED", 0)
        diff = unified_diff("f", before, after)
    (tmp_path / "f").write_bytes(before)
    done = subprocess.run(
        ["patch", "--binary", "-s", "-F0", "f"],
        input=diff.encode(),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, diff)
    assert (tmp_path / "f").read_bytes() == after


def test_long_and_binary_files_have_diffs_at_once() -> None:
    before = b"".join(b"line %d\n" % number for number in range(100_000))
    diff = unified_diff("f", before, before.replace(b"line 50000\n", b"x\n"))
    assert diff.count("\n") == 2 + 1 + 5 + 2 + 5
    assert "@@ -49996,11 +49996,11 @@" in diff
    assert unified_diff("f", before, before.upper()).count("\n-line") == 100_000
    assert "Binary content: 2 bytes before, 3 after." in unified_diff("f", b"\0x", b"\0yz")
