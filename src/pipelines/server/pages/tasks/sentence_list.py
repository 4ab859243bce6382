"""Sentences of behaviour texts for a page: how each one is read, or why it is not read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pipelines.core.simulation.sentences import call_in_words, suggested
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.yaml_text import as_yaml

MOST_SENTENCES = 200  # on a page
LONGEST_YAML = 2_000  # characters of one rule
LONGEST_CALL = 300


class Status(NamedTuple):
    """The status of a sentence as a badge."""

    colour: str
    sign: str
    text: str


ENFORCED = Status("green", "✓", "enforced")
IN_PART = Status("amber", "◔", "read in part")
UNIFORM = Status("amber", "◔", "same for all records")
NOT_ENFORCED = Status("red", "✕", "not enforced")
NOT_READ = Status("red", "✕", "not read")
NO_RULE = Status("", "–", "no rule")
DISMISSED = Status("", "–", "dismissed")


class ReadRule(NamedTuple):
    yaml: str
    passes: list[str]  # calls, where examples were asked for
    refused: list[str]


class SentenceRow(NamedTuple):
    sentence: str
    status: Status
    is_translated: bool
    tools: list[str]
    read_as: list[str]
    rules: list[ReadRule]
    ways: list[str]  # two or more where it can be read so
    reasons: list[str]  # why it is not read, not enforced, or that it comes out the same for every record
    suggestions: list[str]


def sentence_rows(sentences: Sequence[JsonObject]) -> list[SentenceRow]:
    return [_row(one) for one in sentences[:MOST_SENTENCES]]


def _row(shown: Any) -> SentenceRow:
    stop = shown["not_read"]
    reasons = [stop["message"] if stop is not None else None, shown["not_enforced"], shown["uniform"]]
    return SentenceRow(
        sentence=shown["sentence"],
        status=_status(shown),
        is_translated=shown["origin"] == "translated",
        tools=[*dict.fromkeys(tool for rule in shown["rules"] for tool in rule["tools"])],
        read_as=shown["read_as"],
        rules=_rules(shown),
        ways=[" ".join(way["read_as"]) for way in shown["readings"]],
        reasons=[one for one in reasons if one],
        suggestions=[one.said() for one in suggested(shown)],
    )


def _status(shown: Any) -> Status:
    if shown["not_read"] is not None:
        return IN_PART if shown["rules"] else NOT_READ
    if shown["not_enforced"] is not None:
        return NOT_ENFORCED
    if not shown["rules"]:
        return DISMISSED if shown["origin"] == "dismissed" else NO_RULE
    return UNIFORM if shown["uniform"] is not None else ENFORCED


def _rules(shown: Any) -> list[ReadRule]:
    return example_rules(
        shown["examples"] if shown.get("examples") else [{"rule": one} for one in shown["rules"]]
    )


def example_rules(examples: Sequence[Any]) -> list[ReadRule]:
    """Rules with example calls."""
    return [
        ReadRule(
            as_yaml(one["rule"])[:LONGEST_YAML],
            [call_in_words(call, LONGEST_CALL) for call in one.get("passes", ())],
            [call_in_words(call, LONGEST_CALL) for call in one.get("refused", ())],
        )
        for one in examples
    ]
