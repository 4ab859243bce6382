"""`pipelines demo`: the demo of the repository, which comes with the package."""

import os
import sys
from pathlib import Path

import pipelines
from pipelines.cli.files import stop
from pipelines.core.results.gate import ExitCode

PACKAGE = Path(pipelines.__file__).parent
#: In a wheel, and in a checkout.
PLACES = (PACKAGE / "examples" / "demo.py", PACKAGE.parent.parent / "examples" / "demo.py")


def run_demo() -> None:
    """Replace this process, so that the demo handles Ctrl-C itself."""
    for place in PLACES:
        if place.is_file():
            os.execv(sys.executable, [sys.executable, str(place), "--open"])
    stop(
        "The demo did not come with this installation: see examples/ of the repository.",
        ExitCode.COULD_NOT_RUN,
    )
