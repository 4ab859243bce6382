"""Two variations at once, where a matrix asks for it: `time_pressure+sycophancy` is a column of its own."""

from collections.abc import Collection, Iterable, Mapping

from pipelines.core.evals.scenarios.variation import INTENSITIES, Variation

JOINT = "+"  # no id of a variation has it
HOW = "a pair is two different variations, neither a placebo, such as `time_pressure+authority_bias`"


def parts_of_pair(id: str) -> tuple[str, str] | None:
    """The two that an id names; None if it is not the id of a pair."""
    first, joint, second = id.partition(JOINT)
    return (first, second) if joint and first != second and JOINT not in second else None


def is_known_variation(id: str, known: Collection[str]) -> bool:
    """Whether an id is one of the known, or a pair of them."""
    two = parts_of_pair(id)
    return id in known if two is None else all(each in known for each in two)


def pair_variations(first: Variation, second: Variation) -> Variation:
    """Both texts, one after the other, in as many wordings as the richer one has.

    Versions of the two only ever rise, so that their sum is another one whenever either has changed. Where
    the two push to is not put together: what both ask for at once, a scenario may say.
    """
    one, two, three = (_join(first.wordings[each - 1], second.wordings[each - 1]) for each in INTENSITIES)
    return Variation(
        id=f"{first.id}{JOINT}{second.id}",
        version=first.version + second.version - 1,
        name=f"{first.name} + {second.name}",
        tests=f"{first.tests}; {second.tests}",
        wordings=(one, two, three),
        direction="; ".join(filter(None, (first.direction, second.direction))),
        is_builtin=first.is_builtin and second.is_builtin,
    )


def with_pairs(known: Mapping[str, Variation], ids: Iterable[str]) -> Mapping[str, Variation]:
    """What is known, and those pairs of it that the ids name."""
    pairs = {}
    for id in ids:
        found = [known.get(each) for each in parts_of_pair(id) or ()]
        both = [each for each in found if each is not None and not each.is_placebo]
        if len(both) == 2:
            pairs[id] = pair_variations(*both)
    return {**known, **pairs}


def _join(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    if not first or not second:
        return ()
    count = max(len(first), len(second))
    return tuple(f"{first[at % len(first)]}\n\n{second[at % len(second)]}" for at in range(count))
