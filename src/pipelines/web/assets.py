"""Static files: read once, named with their hash, so that a browser keeps them for good."""

import gzip
import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
BASE = "/ui/static"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".toml": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    content: bytes
    zipped: bytes
    content_type: str
    version: str


@cache
def assets() -> dict[str, Asset]:
    return {path.name: _read(path) for path in sorted(FOLDER.iterdir()) if path.suffix in TYPES}


def asset_url(name: str) -> str:
    return f"{BASE}/{assets()[name].version}/{name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Vendored:
    """A file that others wrote."""

    name: str
    of: str
    version: str
    licence: str
    sha256: str


def vendored() -> list[Vendored]:
    return [Vendored(**row) for row in tomllib.loads((FOLDER / "vendor.toml").read_text())["file"]]


def _read(path: Path) -> Asset:
    content = path.read_bytes()
    return Asset(
        content=content,
        zipped=gzip.compress(content, 9, mtime=0),
        content_type=TYPES[path.suffix],
        version=hashlib.sha256(content).hexdigest()[:12],
    )
