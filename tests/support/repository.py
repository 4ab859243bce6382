"""Folders of the repository, wherever in tests/ the file stands that asks for them."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
TESTS = ROOT / "tests"
PACKAGE = ROOT / "src" / "pipelines"
