"""A phrase as the agent wrote it: its own capitals, numbers and marks.

The judge compares a plainer text, without markup and numbers of lists. Whoever reads a phrase should find it
in the answer, letter for letter.
"""

import re
from collections.abc import Iterable

_WORD = re.compile(r"\w+")
#: Between two words: marks, and a number that plain text takes for one of a list.
_GAP = r"(?:[^\w\n]{1,8}\d{1,2})?[^\w\n]{1,8}"
_CLOSING = r"[^\w\s]{0,3}"


def as_written(phrase: str, turns: Iterable[str]) -> str:
    """The phrase itself where no turn has its words in a row."""
    words = _WORD.findall(phrase)
    pattern = re.compile(_GAP.join(map(re.escape, words)), re.IGNORECASE) if words else None
    for text in turns:
        if phrase in text:
            return phrase
        found = pattern.search(text) if pattern is not None else None
        if found is not None:
            start = max(0, found.start() - phrase.index(words[0]))  # with the marks before its first word
            closing = re.compile(_CLOSING).match(text, found.end()) if not phrase[-1].isalnum() else None
            return text[start : closing.end() if closing is not None else found.end()]
    return phrase
