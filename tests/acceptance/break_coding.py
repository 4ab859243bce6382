"""Breaks what is said of coding tasks, one sentence at a time, and sees whether its tests notice.

    python tests/acceptance/break_coding.py [words of sentences]

In a copy of the repository. Some minutes: many of the tests start a server and sandboxes.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from coding_sentences import ALL, Said

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "examples", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
LONGEST_S = 900.0


def outcome(copy: Path, sentence: Said) -> int:
    """pytest's own code, of the tests of a sentence."""
    tests = [f"tests/{name}" for name in sentence.tests]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", *tests]
    env = os.environ | {"PYTHONPATH": str(copy / "src")}
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True, timeout=LONGEST_S, check=False)
    return done.returncode


def is_noticed(copy: Path, sentence: Said) -> bool:
    file = copy / "src" / "pipelines" / sentence.source
    whole = file.read_text()
    file.write_text(whole.replace(sentence.text, sentence.broken))
    try:
        return outcome(copy, sentence) == 1  # tests failed; anything else is no answer
    except subprocess.TimeoutExpired:
        return False
    finally:
        file.write_text(whole)


def _needs_a_server(item: tuple[str, Said]) -> bool:
    """Those that need none come first."""
    return not item[1].tests[0].startswith(("core/", "batches/", "sandbox/"))


def main(wanted: list[str]) -> int:
    chosen = {said: one for said, one in ALL.items() if not wanted or any(word in said for word in wanted)}
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copy.chmod(0o755)  # sandboxes read the source as another user
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        for said, sentence in sorted(chosen.items(), key=_needs_a_server):
            noticed = is_noticed(copy, sentence)
            missed += not noticed
            print(f"{'noticed' if noticed else 'NOT noticed'}: {said}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
