"""What can be reckoned from the numbers of what is spoken of: steps, rests, shares, sums of two. Nothing here
knows a sentence."""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from itertools import combinations, product

from pipelines.core.english.dates import Day
from pipelines.core.verdict.cells import Scope, When
from pipelines.core.verdict.known import LARGEST_COUNT

MOST_OPERANDS = 30  # numbers of what is spoken of; nobody reckons with more
LARGEST_PART = 60  # by how many an amount is divided or multiplied


def is_small(value: Decimal) -> bool:
    return value <= LARGEST_COUNT and value % 1 == 0


def is_telling(values: Iterable[Decimal]) -> bool:
    """No count: any number of things may be two."""
    return any(value % 1 or value > LARGEST_COUNT for value in values)


def few_of(numbers: Iterable[Decimal]) -> list[Decimal]:
    return sorted(set(numbers) - {Decimal()})[-MOST_OPERANDS:]


def now_held(scope: Scope) -> frozenset[Decimal]:
    return frozenset(few_of(n for cell in scope.cells if cell.when is not When.WAS for n in cell.numbers))


def apart(numbers: Iterable[Decimal]) -> frozenset[Decimal]:
    return frozenset(abs(a - b).normalize() for a, b in combinations(numbers, 2)) - {Decimal()}


def results(numbers: frozenset[Decimal]) -> frozenset[Decimal]:
    """What two numbers of a sentence come to."""
    found: set[Decimal] = {sum(numbers, Decimal())} if len(numbers) > 1 else set()
    for a, b in combinations(numbers, 2):
        found |= {a + b, abs(a - b), a * b, a * b / 100, b - a * b / 100, a - a * b / 100}
        found |= {round(big / part, 2) for big, part in ((a, b), (b, a)) if part}
    return frozenset(value.normalize() for value in found) - {Decimal()}


def owed(scope: Scope) -> frozenset[Decimal]:
    """What is left to pay of each thing: its total or price without what is paid of it."""
    whole: dict[str, dict[str, Decimal]] = {}
    paid: dict[str, Decimal] = {}
    for cell in scope.cells:
        if cell.when is When.IS and cell.numbers and not isinstance(cell.value, bool):
            name = cell.field.lower()
            if name in ("paid", "paid_amount", "amount_paid", "total_paid", "paid_total"):
                paid[cell.record] = next(iter(cell.numbers))
            elif name in ("total", "price", "total_price", "amount", "total_amount", "cost"):
                whole.setdefault(cell.record, {})[name] = next(iter(cell.numbers))
    alone = {record: next(iter(held.values())) for record, held in whole.items() if len(held) == 1}
    return frozenset((alone[record] - done).normalize() for record, done in paid.items() if record in alone)


def steps(scope: Scope) -> frozenset[Decimal]:
    """By how much each number of the things changed in the run."""
    was: dict[tuple[str, str], set[Decimal]] = {}
    for cell in scope.cells:
        if cell.when is When.WAS:
            was.setdefault((cell.record, cell.field), set()).update(cell.numbers)
    now = [cell for cell in scope.cells if cell.when is When.IS]
    return frozenset(
        abs(a - b).normalize()
        for cell in now
        for a in cell.numbers
        for b in was.get((cell.record, cell.field), ())
    )


def moved(scope: Scope) -> frozenset[Decimal]:
    """By how many days each day of the things was moved in the run."""
    was = {(cell.record, cell.field): cell.days for cell in scope.cells if cell.when is When.WAS}
    now = [cell for cell in scope.cells if cell.when is When.IS and cell.days]
    pairs = [
        (date_of(a), date_of(b))
        for cell in now
        for a in cell.days
        for b in was.get((cell.record, cell.field), ())
    ]
    return frozenset(Decimal(abs((a - b).days)) for a, b in pairs if a and b and a != b)


def between(scope: Scope) -> frozenset[Decimal]:
    """What lies between the same field of two things."""
    by_field: dict[str, set[Decimal]] = {}
    for cell in scope.cells:
        if cell.when is not When.WAS:
            by_field.setdefault(cell.field, set()).update(cell.numbers)
    return frozenset(number for values in by_field.values() for number in apart(few_of(values)))


def within(scope: Scope) -> frozenset[Decimal]:
    """What lies between two numbers of one thing or one reply, as it is."""
    by_record: dict[tuple[str, int], set[Decimal]] = {}
    for cell in scope.cells:
        if cell.when is not When.WAS and (cell.record or cell.row):
            by_record.setdefault((cell.record, cell.row), set()).update(cell.numbers)
    return frozenset(number for values in by_record.values() for number in apart(few_of(values)))


def parts_of(scope: Scope, others: frozenset[Decimal]) -> frozenset[Decimal]:
    """What each part is: of an amount, by a count that is said or was given."""
    amounts = {n for cell in scope.cells if cell.is_amount for n in cell.numbers} | {
        n for n in others if not is_small(n)
    }
    counts = {n for n in now_held(scope) | others if 1 < n <= LARGEST_PART and n % 1 == 0} | {Decimal(2)}
    return frozenset(round(a / b, 2).normalize() for a, b in product(few_of(amounts), counts))


def date_of(day: Day) -> date | None:
    return date(day.year, day.month, day.day) if day.year else None
