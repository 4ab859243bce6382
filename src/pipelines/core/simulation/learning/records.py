"""Records: field by field, a record that is there with some fields changed or left out, a table with one
entry more, changed or gone."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning.found import Found
from pipelines.core.simulation.learning.numbering import Value
from pipelines.core.simulation.learning.scene import Term, field_of
from pipelines.core.simulation.learning.search import Search, Target
from pipelines.core.simulation.values import MISSING

FROM_NOTHING = 5.0  # a record that keeps what was there is mostly meant
MOST_FIELDS = 60
MOST_BASES = 4
MOST_ENTRIES = 3  # of a table that one call changes
LEAST_SHARED = 0.34  # of the entries of a record that another is made from
FIELD, SPREAD, LENGTH, ENTRY = 0.5, 1.5, 2.0, 3.0


def field_by_field(search: Search, target: Target) -> Found | None:
    keys = keys_of(target)
    if keys is None:
        return None
    parts: dict[str, Found] = {}
    columns = {
        key: [field_of(value, key) if isinstance(value, dict) else MISSING for value in target.values]
        for key in keys
    }
    # Lists first: other fields often say how long they are.
    for key in sorted(keys, key=lambda one: not _is_list(columns[one], target.rows)):
        part = search.explain(target.other(columns[key], key))
        if part is None:
            return None
        parts[key] = part
        if _is_list(columns[key], target.rows) and not isinstance(part.expr, n.Constant):
            lengths = [len(value) if isinstance(value, list) else 0 for value in columns[key]]
            search.scene.add(m.call("len", part.expr), lengths, LENGTH, f"{key} count")
    return made_of(keys, [parts[key] for key in keys])


def _is_list(values: Sequence[Value], rows: Sequence[int]) -> bool:
    return all(isinstance(values[row], list) for row in rows)


def entries_given(search: Search, target: Target) -> Found | None:
    """`{args.receiver: args.message}`: a record whose keys are values of the call."""
    values = [target.values[row] for row in target.rows]
    sizes = {len(value) for value in values}
    if len(sizes) != 1 or not 1 <= sizes.pop() <= MOST_ENTRIES or len({tuple(value) for value in values}) < 2:
        return None
    if _bases(search, target):
        return None  # it is a record that is there, with an entry more
    nothing = Term(n.MappingOf(()), [{} for _ in target.values], (), FROM_NOTHING, "")
    return _with_entries(search, target, nothing, values)


def best_fields(search: Search, target: Target) -> Found:
    """As far as it goes: fields that are not explained are what they are most often."""
    keys = keys_of(target) or []
    parts = [
        search.settle(
            target.other(
                [value.get(key, MISSING) if isinstance(value, dict) else MISSING for value in target.values],
                key,
            )
        )
        for key in keys
    ]
    return made_of(keys, parts)


def made_of(keys: Sequence[str], parts: Sequence[Found]) -> Found:
    entries = tuple(n.Entry(n.Constant(key), part.expr) for key, part in zip(keys, parts, strict=True))
    whole = Found(expr=n.MappingOf(entries), cost=1 + FIELD * len(keys))
    return whole.within(whole.expr, *parts)


def keys_of(target: Target) -> list[str] | None:
    """The fields of a record; None for a table, whose keys are values."""
    counts = Counter(key for row in target.rows for key in target.values[row])
    if not counts or len(counts) > MOST_FIELDS:
        return None
    once = sum(1 for times in counts.values() if times == 1)
    is_table = len(target.rows) >= 3 and once > len(counts) / 2 and once > 2
    return None if is_table or _are_entries(target) else list(counts)


def _are_entries(target: Target) -> bool:
    """No key is in all of them, and what the keys have are numbers or records of one shape."""
    first = set(target.values[target.rows[0]])
    if any(len(target.values[row]) == 0 for row in target.rows):
        return False
    return not first.intersection(*(target.values[row] for row in target.rows))


def from_another(search: Search, target: Target) -> Found | None:
    """`{**order, 'status': 'cancelled'}`."""
    best: Found | None = None
    for base in _bases(search, target):
        for made in _changed(search, target, base):
            if made is not None and (best is None or made.cost < best.cost):
                best = made
    return best


def _bases(search: Search, target: Target) -> list[Term]:
    shares: list[tuple[float, float, int, Term]] = []
    seen: set[tuple[int, ...]] = set()
    numbering = search.scene.numbering
    for at, term in enumerate(search.scene.terms):
        key = tuple(term.numbers[row] for row in target.rows)
        if key in seen or not all(isinstance(term.values[row], dict) for row in target.rows):
            continue
        seen.add(key)
        shared = total = alike = 0
        for row in target.rows:
            value, other = target.values[row], term.values[row]
            total += max(len(value), len(other), 1)
            alike += len(value.keys() & other.keys())
            shared += sum(
                key in other and numbering.of(other[key]) == numbering.of(part) for key, part in value.items()
            )
        is_small = all(len(term.values[row]) <= 1 for row in target.rows)
        if shared >= LEAST_SHARED * total or alike > 0.5 * total or is_small:
            shares.append((-(shared + 0.3 * alike) / total, term.cost_for(target.name), at, term))
    return [term for _, _, _, term in sorted(shares)[:MOST_BASES]]


def _changed(search: Search, target: Target, base: Term) -> Iterator[Found | None]:
    different: list[dict[str, Value]] = []
    gone: list[set[str]] = []
    numbering = search.scene.numbering
    for row in target.rows:
        value, old = target.values[row], base.values[row]
        different.append(
            {k: v for k, v in value.items() if k not in old or numbering.of(old[k]) != numbering.of(v)}
        )
        gone.append(set(old) - set(value))
    fixed = Counter(key for one in different for key in one)
    lost = set().union(*gone)
    if not any(gone):
        yield _with_fields(search, target, base, list(fixed))
    elif all(one == lost for one in gone):
        yield _without(search, target, base, sorted(lost), list(fixed))
    elif not fixed:
        yield _without_one(search, target, base, gone)
    sizes = {len(one) for one in different}
    if sizes == {0, 1} and not any(gone):
        _see_entries(search, target, base, different)
    if not any(gone) and len(sizes) == 1 and 1 <= sizes.pop() <= MOST_ENTRIES:
        yield _with_entries(search, target, base, different)


def _with_fields(search: Search, target: Target, base: Term, keys: Sequence[str]) -> Found | None:
    if len(keys) > MOST_FIELDS:
        return None
    parts = []
    for key in keys:
        values = [field_of(value, key) if isinstance(value, dict) else MISSING for value in target.values]
        part = search.explain(target.other(values, key))
        if part is None:
            return None
        parts.append(part)
    entries = [n.Entry(n.Constant(key), part.expr) for key, part in zip(keys, parts, strict=True)]
    expr = n.MappingOf((n.Entry(None, base.expr), *entries))
    cost = max(base.cost_for(target.name), 0.3) + SPREAD + FIELD * len(keys)
    return Found(expr=expr, cost=cost).within(expr, *parts)


def _without(
    search: Search, target: Target, base: Term, lost: Sequence[str], keys: Sequence[str]
) -> Found | None:
    whole = _with_fields(search, target, base, keys) if keys else Found(expr=base.expr, cost=base.cost)
    if whole is None:
        return None
    expr = m.call("without", whole.expr, *map(n.Constant, lost))
    picked = [key for key in base.values[target.rows[0]] if key not in lost]
    if not keys and len(picked) < len(lost):
        expr = m.call("pick", base.expr, *map(n.Constant, picked))
    return whole.within(expr, cost=SPREAD + FIELD * min(len(lost), len(picked)))


def _without_one(search: Search, target: Target, base: Term, gone: Sequence[set[str]]) -> Found | None:
    if any(len(one) != 1 for one in gone):
        return None
    key = search.explain(_spread(target, [next(iter(one)) for one in gone], "id"))
    if key is None:
        return None
    expr = m.call("without", base.expr, m.call("str", key.expr))
    return key.within(expr, cost=base.cost + SPREAD)


def _with_entries(
    search: Search, target: Target, base: Term, different: Sequence[dict[str, Value]]
) -> Found | None:
    """Entries that are new or changed, under keys that each call gives itself."""
    keys = _keys_given(search, target, different)
    if keys is None:
        return None
    parts = list(keys)
    entries = [] if base.expr == n.MappingOf(()) else [n.Entry(None, base.expr)]
    for at, key in enumerate(keys):
        taken = [
            _written(search, target, key, row, one, at)
            for row, one in zip(target.rows, different, strict=True)
        ]
        value = search.explain(_spread(target, taken, target.name if len(keys) == 1 else ""))
        if value is None:
            return None
        parts.append(value)
        entries.append(n.Entry(key.expr, value.expr))
    expr = n.MappingOf(tuple(entries))
    cost = max(base.cost_for(target.name), 0.3) + SPREAD
    return Found(expr=expr, cost=cost).within(expr, *parts)


def _see_entries(search: Search, target: Target, base: Term, different: Sequence[dict[str, Value]]) -> None:
    """The entry that some calls change becomes visible in all of them: what it holds may say which do."""
    rows = [row for row, one in zip(target.rows, different, strict=True) if one]
    keys = _keys_given(search, target.on(rows), [one for one in different if one])
    if keys is None or len(keys) != 1:
        return
    chosen = next((term for term in search.scene.terms if term.expr == keys[0].expr), None)
    if chosen is None:
        return
    entries = [
        field_of(whole, _key_text(key) or "") for whole, key in zip(base.values, chosen.values, strict=True)
    ]
    expr = n.Item(base.expr, chosen.expr)
    search.scene.add(expr, entries, ENTRY, base.name)
    for name in dict.fromkeys(key for entry in entries if isinstance(entry, dict) for key in entry):
        values = [field_of(entry, name) for entry in entries]
        search.scene.add(n.Field(expr, name), values, ENTRY + FIELD, name)
    search.scene.memo.pop("tests", None)


def _keys_given(search: Search, target: Target, different: Sequence[dict[str, Value]]) -> list[Found] | None:
    """Terms, or one longer expression, that give the keys."""
    left = [set(one) for one in different]
    found: list[Found] = []
    for term in sorted(search.scene.terms, key=lambda one: one.cost):
        given = [_key_text(term.values[row]) for row in target.rows]
        if (
            all(key in one for key, one in zip(given, left, strict=True))
            and len(set(given)) > 1 - term.is_argument
        ):
            found.append(Found(expr=term.expr, cost=term.cost))
            for key, one in zip(given, left, strict=True):
                one.discard(key or "")
            if not any(left):
                return found
    if found or any(len(one) != 1 for one in different):
        return None
    whole = search.explain(_spread(target, [next(iter(one)) for one in different], "id"))
    return None if whole is None or isinstance(whole.expr, n.Constant) else [whole]


def _written(search: Search, target: Target, key: Found, row: int, one: dict[str, Value], at: int) -> Value:
    """The value of the entry that this key names."""
    term = next((term for term in search.scene.terms if term.expr == key.expr), None)
    name = _key_text(term.values[row]) if term is not None else None
    return one[name] if name in one else list(one.values())[at]


def _key_text(value: Value) -> str | None:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _spread(target: Target, values: Sequence[Value], name: str) -> Target:
    """A target of these values in the rows that matter."""
    whole: list[Value] = [MISSING] * len(target.values)
    for row, value in zip(target.rows, values, strict=True):
        whole[row] = value
    return Target(values=whole, rows=target.rows, name=name, effort=target.effort)
