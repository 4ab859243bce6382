"""Stems: one key for `shipped`, `shipping` and `shipment`, and for `freeze`, `froze` and `frozen`.

Crude, and only ever compared with another stem; never shown to anybody.
"""

from functools import lru_cache

from pipelines.core.english.inflection import IRREGULAR

_SUFFIXES = (
    *("ations", "ation", "ments", "ment", "ings", "ing", "ions", "ion"),
    *("als", "al", "ies", "ied", "ed", "es", "s", "e", "y"),
)
#: Forms that no suffix leads back from.
_BASES = {form: base for base, forms in IRREGULAR.items() for form in forms} | {
    "renewal": "renew",
    "renewals": "renew",
    "creation": "create",
}
del _BASES["left"]  # nights that are left were not left by anybody


_WHOLE = frozenset({"ready"})  # which is not read


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Of a word in lower case."""
    if word in _WHOLE:
        return word
    word = _BASES.get(word, word)
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1].isalpha() and word[-1] not in "se"
    return word[:-1] if is_doubled else word
