"""Stems: one key for `shipped`, `shipping` and `shipment`, and for `freeze`, `froze` and `frozen`.

Crude, and only ever compared with another stem; never shown to anybody.
"""

from functools import lru_cache

_SUFFIXES = (
    *("ations", "ation", "ments", "ment", "ings", "ing", "ions", "ion"),
    *("als", "al", "ies", "ied", "ed", "es", "s", "e", "y"),
)
#: Forms that no suffix leads back from.
IRREGULAR = {
    form: base
    for base, forms in {
        "break": "broke broken",
        "bring": "brought",
        "buy": "bought",
        "choose": "chose chosen",
        "drive": "drove driven",
        "find": "found",
        "freeze": "froze frozen",
        "give": "gave given",
        "go": "went gone",
        "grow": "grew grown",
        "hold": "held",
        "keep": "kept",
        "lose": "lost",
        "make": "made",
        "pay": "paid",
        "renew": "renewal renewals",
        "run": "ran",
        "sell": "sold",
        "send": "sent",
        "speak": "spoke spoken",
        "steal": "stole stolen",
        "take": "took taken",
        "tell": "told",
        "withdraw": "withdrew withdrawn",
        "write": "wrote written",
    }.items()
    for form in forms.split()
}


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Of a word in lower case."""
    word = IRREGULAR.get(word, word)
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1].isalpha() and word[-1] not in "se"
    return word[:-1] if is_doubled else word
