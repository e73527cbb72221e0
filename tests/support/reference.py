"""mlx-lm as a reference, in a process of its own: this one must not load MLX."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def computed(script: str, *arguments: str) -> Any:
    """What a script prints, as JSON; it runs with mlx-lm and without a BLAS of ours."""
    command = [sys.executable, "-W", "ignore", "-c", script, *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
