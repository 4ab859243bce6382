"""Forms of verbs, from one table of those that are not regular.

Nothing here knows a tool or a world; over-generating is fine, since forms are mostly looked up.
"""

import re
from functools import cache

from pipelines.core.english.words import plural, rows, word_set

#: Verb -> its past forms, the participle last.
IRREGULAR = {
    base: tuple(forms)
    for base, *forms in rows(
        "begin began begun, break broke broken, bring brought, buy bought, choose chose chosen, "
        "come came come, cut cut, do did done, drive drove driven, find found, "
        "forbid forbade forbidden, freeze froze frozen, get got gotten, give gave given, "
        "go went gone, grow grew grown, hide hid hidden, hold held, keep kept, leave left, "
        "lend lent, lose lost, make made, pay paid, put put, read read, reset reset, run ran run, "
        "see saw seen, sell sold, send sent, set set, show showed shown, speak spoke spoken, "
        "split split, steal stole stolen, take took taken, tell told, throw threw thrown, "
        "undo undid undone, unfreeze unfroze unfrozen, ride rode ridden, rise rose risen, "
        "teach taught, wake woke woken, wear wore worn, win won, withdraw withdrew withdrawn, "
        "write wrote written"
    )
}
#: Of these, those that are no participles: "came" always tells what happened, "left" may be what is left.
TENSES = frozenset(form for forms in IRREGULAR.values() if len(forms) > 1 for form in forms[:-1]) - {"showed"}

#: Their last letter is doubled, as always in verbs of one syllable that end in a vowel and a consonant.
_DOUBLING = word_set("cancel submit admit commit refer defer transfer enrol fulfil permit")
_PARTED = word_set("check log sign pick hand top look")
_PARTICLES = ("out", "in", "up", "off", "over")
_IRREGULAR_NOUNS = {
    verb: tuple(nouns)
    for verb, *nouns in rows(
        "admit admission, apply application, cancel cancellation, choose choice, enter entry, "
        "register registration, sell sale, close closure, deliver delivery, deposit deposit, "
        "extend extension, pay payment, receive receipt reception, redeem redemption, "
        "resolve resolution, ship shipment shipping, submit submission, subscribe subscription, "
        "suspend suspension, unsubscribe unsubscription"
    )
}


@cache
def participle(verb: str) -> str:
    """cancel → cancelled, close → closed, deny → denied, check_in → checked_in."""
    base, particle = _parted(verb)
    if particle:
        return f"{participle(base)}_{particle}"
    if verb in IRREGULAR:
        return IRREGULAR[verb][-1]
    is_short = re.fullmatch(r"[^aeiou]*[aeiou][bdgklmnprt]", verb) is not None
    if verb in _DOUBLING or (is_short and not verb.endswith("k")):
        return verb + verb[-1] + "ed"
    return _regular_past(verb)


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if re.search(r"[^aeiou]y$", verb) else verb + "ed"


@cache
def past_forms(verb: str) -> frozenset[str]:
    if verb in IRREGULAR:
        return frozenset(IRREGULAR[verb])
    regular = _regular_past(verb)
    doubled = _doubled(verb) if regular == verb + "ed" else set()
    return frozenset({regular}) | {each + "ed" for each in doubled}


@cache
def gerunds(verb: str) -> frozenset[str]:
    if verb.endswith("e") and not verb.endswith("ee"):
        return frozenset({verb[:-1] + "ing"})
    return frozenset({verb + "ing"}) | {doubled + "ing" for doubled in _doubled(verb)}


@cache
def action_nouns(verb: str) -> frozenset[str]:
    """Nouns that name the doing of it: `cancellation`, `approval`, `booking`, and the verb itself
    (`refund`).
    """
    bare = verb[:-1] if verb.endswith("e") else verb
    nouns = {bare + "ation", bare + "ion", verb + "ment", bare + "al", verb, *gerunds(verb)}
    if verb.endswith("y"):
        nouns.add(verb[:-1] + "ication")
    nouns |= set(_IRREGULAR_NOUNS.get(verb, ()))
    return frozenset(nouns | {plural(noun) for noun in nouns})


@cache
def verb_forms(verb: str) -> frozenset[str]:
    """Every inflection of a verb: what `return~` in a pattern stands for."""
    return frozenset({verb, plural(verb)}) | past_forms(verb) | gerunds(verb)


@cache
def all_forms(verb: str) -> frozenset[str]:
    """Everything a sentence may call the doing of a verb."""
    return verb_forms(verb) | action_nouns(verb) | parted_forms(verb)


@cache
def parted_forms(verb: str) -> frozenset[str]:
    """`checked out`, `logging in`: forms of a verb that names write as one word."""
    base, particle = _parted(verb)
    return frozenset(f"{form} {particle}" for form in verb_forms(base)) if particle else frozenset()


def _parted(verb: str) -> tuple[str, str]:
    whole = verb.replace("_", "")
    parts = ((whole.removesuffix(particle), particle) for particle in _PARTICLES if whole.endswith(particle))
    return next(((base, particle) for base, particle in parts if base in _PARTED), (verb, ""))


def _doubled(verb: str) -> set[str]:
    return {verb + verb[-1]} if re.search(r"[aeiou][bdglmnprt]$", verb) else set()
