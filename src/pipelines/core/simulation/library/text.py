"""Functions of text. Those made for searching ignore case; `==` and `in` do not."""

from collections.abc import Callable

from pipelines.core.simulation.call import Call
from pipelines.core.simulation.library.numbers import whole_needed
from pipelines.core.simulation.values import (
    MAX_TEXT,
    Stopped,
    Value,
    as_text,
    check_size,
    elements,
    equal,
    is_blank,
    kind_of,
    search_cost,
)


def text_needed(call: Call, value: Value) -> str:
    """Missing and null are empty text: a search in what is not there finds nothing."""
    if isinstance(value, str):
        if len(value) > 7:
            call.spend(len(value) >> 3)
        return value
    if is_blank(value):
        return ""
    raise Stopped("plan_type", f"text is needed, not {kind_of(value)}; str(x) makes text")


def _str(call: Call, value: Value) -> Value:
    return check_size(as_text(value, call), call)


def _changed(change: Callable[[str], str]) -> Callable[..., Value]:
    def changed(call: Call, value: Value) -> Value:
        text = text_needed(call, value)
        call.spend(len(text))  # letters outside ASCII are changed one by one
        return check_size(change(text), call)

    return changed


def _title(text: str) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def _titled(call: Call, value: Value) -> Value:
    text = text_needed(call, value)
    call.spend(4 * len(text))  # as many words as there are blanks
    return check_size(_title(text), call)


def _split(call: Call, text: Value, separator: Value = None) -> Value:
    given = text_needed(call, text)
    glue = None if separator is None else text_needed(call, separator) or None
    call.spend(len(given) + (0 if glue is None else search_cost(given, glue)))
    return check_size(given.split(glue), call)


def _join(call: Call, parts: Value, separator: Value = ", ") -> Value:
    given = elements(parts)
    call.spend(3 * len(given))
    texts = [as_text(part, call) for part in given]
    glue = text_needed(call, separator)
    # Measured before it is made: a hundred thousand long texts would not fit in memory.
    if sum(map(len, texts)) + len(glue) * len(texts) > 2 * MAX_TEXT:
        raise Stopped("plan_too_large", f"joining makes a text of more than {MAX_TEXT:,} characters")
    return check_size(glue.join(texts), call)


def _replace(call: Call, text: Value, old: Value, new: Value) -> Value:
    given, part, other = (text_needed(call, value) for value in (text, old, new))
    if not part:
        return given
    call.spend(2 * search_cost(given, part) + len(given))
    if len(given) + given.count(part) * len(other) > 2 * MAX_TEXT:
        raise Stopped("plan_too_large", f"replacing makes a text of more than {MAX_TEXT:,} characters")
    return check_size(given.replace(part, other), call)


def _contains(call: Call, whole: Value, part: Value) -> Value:
    if isinstance(whole, list):
        call.spend(8 * len(whole))
        part_text = _folded(call, part) if isinstance(part, str) else part
        return any(equal(_folded(call, e) if isinstance(e, str) else e, part_text, call) for e in whole)
    part_text, text = _folded(call, part), _folded(call, whole)
    call.spend(search_cost(text, part_text))
    return part_text in text


def _folded(call: Call, value: Value) -> str:
    """Without case. A letter outside ASCII takes far longer than one inside."""
    text = text_needed(call, value)
    if not text.isascii():
        call.spend(len(text))
    return text.casefold()


def _starts_with(call: Call, text: Value, part: Value) -> Value:
    return _folded(call, text).startswith(_folded(call, part))


def _ends_with(call: Call, text: Value, part: Value) -> Value:
    return _folded(call, text).endswith(_folded(call, part))


def _like(call: Call, text: Value, pattern: Value) -> Value:
    """`*` stands for any text and `?` for one character; no other pattern language is on offer.

    Goes back only to the last star. What was compared in vain is paid for on the way back.
    """
    given, pattern_text = _folded(call, text), _folded(call, pattern)
    call.spend(4 * len(given))
    at, position, star, resume = 0, 0, -1, 0
    while at < len(given):
        if position < len(pattern_text) and pattern_text[position] == "*":
            star, resume = position, at
            position += 1
        elif position < len(pattern_text) and pattern_text[position] in ("?", given[at]):
            at, position = at + 1, position + 1
        elif star >= 0:
            call.spend(4 * (at - resume + 1))
            resume += 1
            at, position = resume, star + 1
        else:
            return False
    return not pattern_text[position:].strip("*")


def _words(call: Call, text: Value) -> Value:
    given = _folded(call, text)
    call.spend(4 * len(given))
    spaced = "".join(c if c.isalnum() or c in "'_-" else " " for c in given)
    return check_size(spaced.split(), call)


def _pad(call: Call, value: Value, width: Value, fill: Value = "0") -> Value:
    size = whole_needed(width)
    if not 0 <= size <= MAX_TEXT:
        raise Stopped("plan_too_large", f"a text has at most {MAX_TEXT:,} characters")
    return check_size(as_text(value, call).rjust(size, (text_needed(call, fill) or " ")[0]), call)


def _same_id(call: Call, left: Value, right: Value) -> Value:
    if is_blank(left) or is_blank(right):
        return False
    one, other = as_text(left, call), as_text(right, call)
    call.spend(4 * (len(one) + len(other)))
    return _bare(one) == _bare(other)


def _bare(id: str) -> str:
    bare = "".join(c for c in id.casefold() if c.isalnum())
    return bare.lstrip("0") or bare


ROWS: tuple[tuple[str, str, str, Callable[..., Value]], ...] = (
    ("str(value)", "as text: text as it is, the rest as JSON writes it", "str(12) → '12'", _str),
    ("lower(text)", "in small letters", "lower('ABC') → 'abc'", _changed(str.lower)),
    ("upper(text)", "in capitals", "upper('usd') → 'USD'", _changed(str.upper)),
    ("title(text)", "each word with a capital", "title('blue mug') → 'Blue Mug'", _titled),
    ("strip(text)", "without blanks at its ends", "strip(' a ') → 'a'", _changed(str.strip)),
    ("split(text, separator=blanks)", "the parts of a text", "split('a,b', ',') → ['a', 'b']", _split),
    ("join(list, separator=', ')", "one text of many", "join(['a', 1], '-') → 'a-1'", _join),
    ("replace(text, old, new)", "every `old` replaced", "replace('a-b', '-', '_') → 'a_b'", _replace),
    (
        "contains(whole, part)",
        "whether a text has the part, or a list the element; ignores case",
        "contains('Blue Mug', 'mug') → true",
        _contains,
    ),
    ("starts_with(text, part)", "ignores case", "starts_with('#W12', '#w') → true", _starts_with),
    ("ends_with(text, part)", "ignores case", "ends_with('a.PDF', '.pdf') → true", _ends_with),
    (
        "like(text, pattern)",
        "`*` stands for any text, `?` for one character; ignores case",
        "like('order-12', 'order-*') → true",
        _like,
    ),
    ("words(text)", "its words in small letters", "words('Red, blue!') → ['red', 'blue']", _words),
    ("pad(value, width, fill='0')", "filled up on the left", "pad(7, 3) → '007'", _pad),
    (
        "same_id(one, other)",
        "whether two ids are one, however they are spelled",
        "same_id('#0042', 42) → true",
        _same_id,
    ),
)
