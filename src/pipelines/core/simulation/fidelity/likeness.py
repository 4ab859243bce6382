"""Equal up to what a backend draws at random: ids and times are compared by their shape.

The rule. Where a recorded and a simulated leaf differ, they count as one drawn value when both
  - are timestamps of one layout, or UUIDs, or, under a key that names an id, code or token, texts or numbers
    of one layout (letters for letters, digits for digits, same length), and
  - are new: neither was in the state before the call nor in its arguments.
Words inside a longer text count too, if the texts are equal otherwise and the words are timestamps, UUIDs, or
have both letters and digits: a number alone may be an amount.
A drawn value is then renamed to the recorded one wherever the simulated call used it, so that later
calls which mention the recorded id find it. Everything else must be equal as JSON.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from pipelines.core.ledger.ledger import Add, LedgerUpdate, Remove, SetFlag, Update
from pipelines.core.text.json_text import Json, JsonObject

Renaming = dict[str | int | float, Json]

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_TIME = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?([T ]\d\d?:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"
    r"|\d\d?:\d\d(:\d\d)?( ?[AP]M)?",
    re.IGNORECASE,
)
_DRAWN_KEY = re.compile(
    r"(^|[a-z0-9]_|[a-z](?=[A-Z])|^new_)(ids?|uuid|guid|code|token|key|number|no|ref|reference|confirmation)$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z0-9]+(?:[-_:.+][A-Za-z0-9]+)*|\s+|.", re.DOTALL)
_HAS_BOTH = re.compile(r"(?=.*[A-Za-z])(?=.*\d)")
_SHORTEST_DRAWN = 3  # "a1" and "b2" are as likely two sizes or grades as two drawn ids


def renaming(simulated: Json, recorded: Json, is_known: Callable[[Json], bool], key: str = "id") -> Renaming:
    """Simulated values that stand for recorded ones: {simulated: recorded}."""
    names: Renaming = {}
    for place, mine, theirs in _leaf_pairs(simulated, recorded, key):
        if _is_drawn(place, mine, theirs):
            pairs = [(mine, theirs)]
        elif isinstance(mine, str) and isinstance(theirs, str):
            pairs = _word_pairs(mine, theirs)
        else:
            continue
        if not any(is_known(each) for pair in pairs for each in pair):
            names |= {_plain(own): real for own, real in pairs}
    return names


def renamed(value: Json, names: Renaming) -> Json:
    if not names:
        return value
    if isinstance(value, dict):
        return {_key(name, names): renamed(child, names) for name, child in value.items()}
    if isinstance(value, list):
        return [renamed(child, names) for child in value]
    if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value in names:
        return names[value]
    if isinstance(value, str) and any(isinstance(name, str) and name in value for name in names):
        return "".join(str(names.get(word, word)) for word in _WORD.findall(value))
    return value


def renamed_updates(updates: Iterable[LedgerUpdate], names: Renaming) -> tuple[LedgerUpdate, ...]:
    return tuple(_renamed_update(update, names) for update in updates) if names else tuple(updates)


def leaves(value: Json) -> Iterator[Json]:
    """Every scalar in a value, object keys included: an id is often a key."""
    if isinstance(value, dict):
        for name, child in value.items():
            yield name
            yield from leaves(child)
    elif isinstance(value, list):
        for child in value:
            yield from leaves(child)
    else:
        yield value


def comparable(updates: Iterable[LedgerUpdate]) -> JsonObject:
    """Updates as one value in which an added entity's id is a leaf like others."""
    changed: JsonObject = {}
    added: dict[str, int] = {}
    for update in updates:
        match update:
            case Add():
                added[update.entity_type] = number = added.get(update.entity_type, 0) + 1
                changed[f"+{update.entity_type} {number}"] = {"id": update.id, "attrs": update.attrs}
            case Update():
                changed[f"{update.entity_type} {update.id}"] = update.set
            case Remove() | SetFlag():
                pass  # nothing is drawn in these
    return changed


def _leaf_pairs(mine: Json, theirs: Json, key: str) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for name in mine.keys() & theirs.keys():
            yield from _leaf_pairs(mine[name], theirs[name], name)
        # One entry under a key that only one side has: the key itself may have been drawn.
        only_mine, only_theirs = mine.keys() - theirs.keys(), theirs.keys() - mine.keys()
        if len(only_mine) == len(only_theirs) == 1:
            ours, real = only_mine.pop(), only_theirs.pop()
            yield "id", ours, real
            yield from _leaf_pairs(mine[ours], theirs[real], key)
    elif isinstance(mine, list) and isinstance(theirs, list):
        for one, other in zip(mine, theirs, strict=False):
            yield from _leaf_pairs(one, other, key)
    elif mine != theirs and not isinstance(mine, (dict, list)) and not isinstance(theirs, (dict, list)):
        yield key, mine, theirs


def _is_drawn(key: str, mine: Json, theirs: Json) -> bool:
    if isinstance(mine, bool) or isinstance(theirs, bool) or mine is None or theirs is None:
        return False
    if isinstance(mine, str) and isinstance(theirs, str):
        if _UUID.fullmatch(mine) and _UUID.fullmatch(theirs):
            return True
        if _TIME.fullmatch(mine) and _TIME.fullmatch(theirs):
            return layout(mine) == layout(theirs)
        if " " in mine:  # a sentence is no id, wherever it stands
            return False
    elif isinstance(mine, str) or isinstance(theirs, str):
        return False
    return (
        _DRAWN_KEY.search(key) is not None
        and len(str(theirs)) >= _SHORTEST_DRAWN
        and layout(str(mine)) == layout(str(theirs))
    )


def _word_pairs(mine: str, theirs: str) -> list[tuple[Json, Json]]:
    """Words that differ between two texts; none if the texts differ in anything that is not drawn."""
    ours, real = _WORD.findall(mine), _WORD.findall(theirs)
    pairs = [pair for pair in zip(ours, real, strict=False) if pair[0] != pair[1]]
    is_alike = len(ours) == len(real) and all(_is_drawn_word(*pair) for pair in pairs)
    return [*dict.fromkeys(pairs)] if is_alike else []


def _is_drawn_word(mine: str, theirs: str) -> bool:
    if not _is_drawn("id", mine, theirs):
        return False
    return (
        any(each.fullmatch(mine) is not None for each in (_UUID, _TIME)) or _HAS_BOTH.match(mine) is not None
    )


def layout(text: str) -> str:
    """`W-48ab` and `K-07zz` are both `A-00aa`."""
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", text)))


def _plain(value: Json) -> str | int | float:
    assert isinstance(value, (str, int, float))  # what _is_drawn lets through
    return value


def _key(name: str, names: Renaming) -> str:
    if name in names:
        return str(names[name])
    # An id that is a number in the record is often text as a key.
    return str(names[int(name)]) if name.isdecimal() and int(name) in names else name


def _renamed_update(update: LedgerUpdate, names: Renaming) -> LedgerUpdate:
    match update:
        case Add():
            attrs = renamed(update.attrs, names)
            assert isinstance(attrs, dict)
            return Add(entity_type=update.entity_type, id=_key(update.id, names), attrs=attrs)
        case Update():
            changed = renamed(update.set, names)
            assert isinstance(changed, dict)
            id = _key(update.id, names)
            return Update(entity_type=update.entity_type, id=id, set=changed, unset=update.unset)
        case Remove() | SetFlag():
            return update
