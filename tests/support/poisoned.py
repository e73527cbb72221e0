"""`fireside serve` over the core that one prompt kills."""

import sys

from fireside.config import ServeConfig
from fireside.paths import Home
from fireside.serve import run
from support.server import POCKET

if __name__ == "__main__":
    core = (sys.executable, "-m", "support.poison_core")
    config = ServeConfig(
        home=Home.from_environment(), port=0, open_browser=False, core_command=core, model=str(POCKET)
    )
    run(config, lambda listener: print(f"Fireside at {listener.shown}", flush=True))
