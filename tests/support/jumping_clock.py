"""`pipelines` in a process whose time of day can be set while it runs: `jumping_clock.py FILE command…`

FILE holds by how many seconds the clock is wrong. Only what a person could set is moved: the steady clocks
(time.monotonic, the event loop's) go on as on a real machine.
"""

import sys
import time
from pathlib import Path

_real = time.time


def jump_by(file: Path) -> None:
    def time_of_day() -> float:
        try:
            return _real() + float(file.read_text() or 0)
        except (OSError, ValueError):
            return _real()

    time.time = time_of_day
    time.time_ns = lambda: int(time_of_day() * 1e9)


if __name__ == "__main__":
    jump_by(Path(sys.argv[1]))
    sys.argv[1:] = sys.argv[2:]
    from pipelines.cli.main import run

    run()
