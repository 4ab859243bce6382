"""`$number`, `$date` and `$text` against how people write, in cases that were there before the matchers."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.core.matchers.matching import check_expectation, matches

FORMS: dict[str, dict[str, list[Any]]] = yaml.safe_load(
    (Path(__file__).parent / "written_forms.yaml").read_text()
)
CASES = [
    pytest.param(f"${name}", *case, id=f"{name}, {group}: {case[0][:30]!r} {case[1]}")
    for name, groups in FORMS.items()
    for group, cases in groups.items()
    for case in cases
]


@pytest.mark.parametrize(("name", "text", "wanted", "holds"), CASES)
def test_what_people_write(name: str, text: str, wanted: Any, holds: bool) -> None:
    assert check_expectation({name: wanted}) == []
    assert matches({name: wanted}, text) is holds
