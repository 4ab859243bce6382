"""Worlds and rows made of toolsets that nobody made them for."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.worlds.ground import ground_of
from pipelines.core.worlds.make_world import make_world
from pipelines.core.worlds.review.advisories import tool_cannot_succeed
from pipelines.core.worlds.rows.draft_rows import draft_rows
from pipelines.core.worlds.rows.prove_row import prove_row
from pipelines.core.worlds.shapes import ROW_AXES, Bucket, ProvedRow, Toolset

NOW = "2026-05-01T12:00:00Z"
ROWS = 12  # of a bucket
LEAST_PROVED = 0.8
FILES = sorted((Path(__file__).parent / "toolsets").glob("*.json"))


def read(path: Path) -> tuple[Toolset, list[str]]:
    body: Any = json.loads(path.read_text())
    schema = parse_ledger_schema(body["ledger_schema"])
    tools = parse_tools_schema(body["tools"], ledger_schema=schema)
    return Toolset(tools=tools, ledger_schema=schema, behavior=body["behavior"]), body["buckets"]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_most_rows_that_are_drafted_are_proved(path: Path) -> None:
    toolset, themes = read(path)
    state = make_world(toolset, size="standard", rng_seed=7, now=NOW).state
    ground = ground_of(toolset, state)
    kept: list[ProvedRow] = []
    rejected = Counter[str]()
    for theme in ["", "not allowed", *themes]:
        bucket = Bucket(name=theme or "anything", theme=theme, rows=ROWS)
        wanted = len(kept) + ROWS
        for draft in draft_rows(toolset, state, bucket, rng_seed=7, now=NOW, axes=ROW_AXES, ground=ground):
            texts = [row.draft.user_instruction for row in kept]
            row = prove_row(toolset, state, draft, now=NOW, earlier_texts=texts, ground=ground)
            if isinstance(row, ProvedRow):
                kept.append(row)
            else:
                rejected[row.reason_code] += 1
            if len(kept) == wanted:
                break
    assert len(kept) >= ROWS
    assert len(kept) >= LEAST_PROVED * (len(kept) + rejected.total()), rejected


def test_a_call_that_few_pairs_allow_is_found() -> None:
    """Three berths are free, and few boats are short enough for one of them."""
    toolset, _ = read(next(path for path in FILES if path.stem == "marina"))
    state = make_world(toolset, size="standard", rng_seed=1, now=NOW).state
    assert list(tool_cannot_succeed(ground_of(toolset, state), NOW)) == []
