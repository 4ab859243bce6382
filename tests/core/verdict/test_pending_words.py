"""What people read of a pending run: every reason has its words, and they name what there is."""

import re

import pytest

from pipelines.core.verdict.pending_words import PENDING_WORDS, in_order, most_basic_reason, pending_words
from pipelines.core.verdict.verdict import PendingReason
from support.repository import DOCS


def test_every_reason_has_its_words_in_the_order_of_the_reasons() -> None:
    assert list(PENDING_WORDS) == list(PendingReason)


@pytest.mark.parametrize("reason", PendingReason)
def test_the_words_are_whole_sentences(reason: PendingReason) -> None:
    words = PENDING_WORDS[reason]
    assert re.fullmatch(r"[A-Z][^.]*\.", words.says)
    assert re.match(r"[A-Z].*\.$", words.to_do)


@pytest.mark.parametrize("reason", PendingReason)
def test_what_is_named_is_there(reason: PendingReason) -> None:
    to_do = PENDING_WORDS[reason].to_do
    commands = (DOCS / "reference/cli.md").read_text()
    for command in re.findall(r"\((pipelines [a-z ]+)\)", to_do):
        assert f"## `{command} " in commands
    for page in re.findall(r"docs/(\S+\.md)", to_do):
        assert (DOCS / page).exists()


def test_without_a_reason_there_are_no_words() -> None:
    assert pending_words(None) is None


def test_a_reason_of_a_later_version_is_said_to_be_unknown() -> None:
    words = pending_words("of_a_later_version")
    assert words is not None
    assert "does not know" in words.says


def test_the_most_basic_reason_names_several() -> None:
    assert most_basic_reason(["not_checked", None, "no_oracle", "of_a_later_version"]) == "no_oracle"
    assert most_basic_reason([None]) is None


def test_counts_are_listed_with_the_most_basic_first() -> None:
    counted = in_order({"zzz": 4, "answer_cut": 1, "rule_not_enforced": 2})
    assert list(counted.items()) == [("rule_not_enforced", 2), ("answer_cut", 1), ("zzz", 4)]
