"""A phrase as a whole in a text, and not denied: in any case, with spaces, hyphens and underscores alike.

`in_transit` stands in "It is in transit.", not in "It is not yet in transit."
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from pipelines.core.written.texts import folded

_JOINTS = re.compile(r"[\s_-]+")
_EDGES = " .,:;!?#'\"()[]*`"
# What denies stands right before it on its line, at most a word of its verb between them: "has not yet been
# refunded". What a dash or a colon parts is another statement: "Delayed: no - shipped".
_DENIAL = re.compile(
    r"(?:(?<![^\W_])(?P<word>not|never|no|non|cannot)|n't)[ _-](?:(?:yet|be|been|being|longer) )*[*\"'(]*$"
)
_LONGEST_DENIAL = 40  # characters before a phrase that are looked at


def mentions_of(phrase: str, text: str) -> Iterator[bool]:
    """For each place where the phrase stands, whether it is said there, and not denied."""
    plain = "\n".join(map(folded, text.splitlines()))
    for found in _pattern(phrase).finditer(plain):
        before = _DENIAL.search(plain[max(0, found.start() - _LONGEST_DENIAL) : found.start()])
        # "order no 4521" gives its number
        yield before is None or (before["word"] == "no" and found[0][0].isdigit())


def same_words(left: str, right: str) -> bool:
    """Whether two texts are one phrase, whatever marks stand around it."""
    return _words(left) == _words(right)


def _words(text: str) -> list[str]:
    return _JOINTS.split(folded(text).strip(_EDGES))


@lru_cache(maxsize=256)
def _pattern(phrase: str) -> re.Pattern[str]:
    """Not inside of a word, a number or a date: 4521 is neither in 45210 nor in 4521.50."""
    words = r"[\s_-]+".join(re.escape(word) for word in _words(phrase))
    return re.compile(rf"(?<![^\W_])(?<!\d[.,:/-]){words}(?![^\W_])(?![.,:/-]\d)")
