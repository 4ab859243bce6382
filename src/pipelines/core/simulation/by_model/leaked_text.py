"""Finds quotations of the behaviour text or of our instructions in a reply.

A quotation is a run of equal words. Text that the behaviour text puts in quotes may be repeated.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from pipelines.core.text.json_text import Json, pointer
from pipelines.core.text.problems import Problem

IN_A_ROW = 7  # words; fewer stand together by chance
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"[\"“][^\"”]{0,500}[\"”]|'[^'\n]{0,500}'(?!\w)")


def quotation_problems(value: Json, texts: tuple[str, ...], word: str, path: str) -> Iterator[Problem]:
    """`word` is the fence's: nobody is to know it."""
    unsaid = frozenset[tuple[str, ...]]().union(*map(_runs_in, texts))
    for place, quotation in _texts(value, path):
        if word in quotation:
            yield Problem(path=place, message="contains the word that fences the data: never repeat it")
        elif any(run in unsaid for run in _runs(quotation)):
            yield Problem(
                path=place, message="quotes the behaviour text or the instructions: use other words, or none"
            )


@lru_cache(maxsize=64)
def _runs_in(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(_runs(_QUOTED.sub(" \x00 ", text), breaks="\x00"))


def _runs(text: str, breaks: str = "") -> Iterator[tuple[str, ...]]:
    for part in text.split(breaks) if breaks else (text,):
        words = _WORD.findall(part.lower())
        yield from (tuple(words[at : at + IN_A_ROW]) for at in range(len(words) - IN_A_ROW + 1))


def _texts(value: Json, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts(part, path + pointer([key]))
            yield path, key
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from _texts(part, path + pointer([at]))
