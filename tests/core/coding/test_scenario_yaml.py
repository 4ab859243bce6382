"""What is written as YAML is read back as the same scenario, to the last character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.coding.scenario_yaml import scenario_as_yaml
from pipelines.core.text.yaml_text import read_yaml

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


def read_back(body):
    return read_yaml(scenario_as_yaml(body), what="scenario", most_bytes=1 << 20).value


def test_files_are_blocks_of_lines():
    text = scenario_as_yaml({"files": {"a.py": "def a():\n    return 1\n"}})
    assert text == "files:\n  a.py: |\n    def a():\n        return 1\n"


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "no", "12:30", "0x1f", "1e3", "null", "~", "2026-01-01", "", " ", "a: b", "- a", "#a", "&a"),
        *("a\n", "a\n\n", "\na", " a\nb", "a \nb\n", "a\tb\n", "\t", "a\r\nb", "é\n☃", "'\n\"", "%a\n---\n"),
    ],
)
def test_texts_stay_texts(text):
    assert read_back({"name": text, "files": {text or "x": text}}) == {
        "name": text,
        "files": {text or "x": text},
    }


@given(
    st.dictionaries(
        TEXTS.filter(bool),
        st.one_of(TEXTS, st.lists(TEXTS), st.booleans(), st.integers(0, 9_999)),
        max_size=4,
    )
)
def test_whatever_stands_in_it(body):
    assert read_back(body) == body or not body
