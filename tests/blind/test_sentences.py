"""Sentences by strangers: free prose is mostly not read, and never read wrong; written for the published
language, it is read.
"""

from pathlib import Path

import pytest
from sentence_scores import FIFTEENTH, FOURTEENTH, Scored, rewritten, scored


def _wrong(found: list[Scored]) -> list[tuple[str, str]]:
    return [(one.sentence["text"], one.why) for one in found if one.outcome == "wrong"]


@pytest.mark.parametrize("folder", [FOURTEENTH, FIFTEENTH], ids=lambda folder: folder.name)
def test_free_prose_is_never_read_wrong(folder: Path) -> None:
    found = [*scored(folder)]
    assert _wrong(found) == []
    assert all(one.outcome == "right" for one in found if not one.sentence["enforceable"])


def test_what_newcomers_write_by_the_reference_page_is_read_right() -> None:
    first, last = [*rewritten(0)], [*rewritten(-1)]
    assert _wrong(first) + _wrong(last) == []
    assert sum(one.outcome == "right" for one in first) >= 56
    assert sum(one.outcome == "right" for one in last) == 60
