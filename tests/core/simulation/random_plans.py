"""Random plans that mostly run to their end: names are used after they are bound, and types are mostly right.

Everything comes from one `Random`: a seed says which plan, world, arguments and budget a case has.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from pipelines.core.text.json_text import Json, JsonObject

T = TypeVar("T")

#: What a name or an expression is taken for. "line" is a mapping inside an order, "lines" a list of them.
TYPES = ("num", "text", "bool", "date", "nums", "texts", "lines", "orders", "map", "order", "user", "line")
_FIELDS = {
    "order": {"num": ["total", "count"], "text": ["status", "user_id", "note"], "date": ["at"],
              "lines": ["items"], "texts": ["tags"], "bool": ["paid"], "map": ["address"], "nums": ["marks"]},
    "user": {"num": ["balance"], "text": ["email", "city"], "date": ["since"], "texts": ["orders"],
             "map": ["cards", "name"], "bool": ["vip"]},
    "line": {"num": ["price", "quantity"], "text": ["sku", "id"], "bool": ["gone"]},
}  # fmt: skip
_ARGUMENTS = {"num": ["n", "m"], "text": ["word", "status"], "date": ["day"], "nums": ["ns"],
              "texts": ["ids"], "lines": ["rows"], "map": ["data"], "bool": ["go", "yes"]}  # fmt: skip
_WORDS = ["pending", "shipped", "a", "b", "o-101", "u-1", "", "Zoë", "it's", "x{y}", "42", "a b c"]
_DATES = ["2026-01-31", "2026-02-01T10:00:00", "2026-11-15T10:30:00Z", "2025-12-31"]


@dataclass(frozen=True, kw_only=True)
class Case:
    body: list[Json]
    state: JsonObject
    arguments: JsonObject
    budget: int | None  # None: the usual one


def random_case(random: Random) -> Case:
    body, state, arguments = _Maker(random).plan(), _state(random), _arguments(random)
    budget = random.randrange(2_000) if random.random() < 0.12 else None
    if random.random() < 0.1:
        arguments |= _large(random)
        budget = random.choice([20_000, 50_000, None])
    _name_rules(body, random)
    return Case(body=body, state=state, arguments=arguments, budget=budget)


def _name_rules(block: list[Any], random: Random) -> None:
    """Some of the steps that may answer a call say which rule they are."""
    for step in block:
        if step.keys() & {"find", "require", "fail", "return"} and random.random() < 0.5:
            step["rule"] = f"rule {random.randrange(99)}"
        for key in ("do", "then", "else"):
            if isinstance(step.get(key), list):
                _name_rules(step[key], random)


def _large(random: Random) -> JsonObject:
    """Values whose size is what a plan pays for."""
    many = random.choice([300, 3_000])
    return {
        "word": random.choice(["a", "aß", "b c "]) * many, "ns": [n / 7 for n in range(many)],
        "ids": [f"o-{n}" for n in range(many)], "rows": [_line(random) for _ in range(many // 10)],
        "data": {f"k{n}": [n, str(n)] for n in range(many)}, "n": random.choice([2, many]),
    }  # fmt: skip


def _sometimes(random: Random, value: Json, likely: float = 0.93) -> Json:
    """The value; now and then nothing, or something else."""
    return value if random.random() < likely else random.choice([None, None, "?", 7, 2.5, True, [], {}, [1]])


def _line(random: Random) -> JsonObject:
    line: JsonObject = {
        "sku": random.choice("abc"),
        "price": random.choice([10, 2.5, 0, 12.75]),
        "quantity": 2,
    }
    line |= {"id": random.choice("abc")} if random.random() < 0.5 else {}
    return line | ({"gone": random.random() < 0.5} if random.random() < 0.7 else {})


def _state(random: Random) -> JsonObject:
    order_ids = [f"o-{100 + n}" for n in range(1, random.randrange(2, 6))]
    cards = {"c1": {"balance": 50.25}, "c2": {"balance": 0}}
    orders: JsonObject = {}
    for id in order_ids:
        whole: JsonObject = {
            "user_id": random.choice(["u-1", "u-2"]), "status": random.choice(["pending", "shipped"]),
            "at": random.choice(_DATES), "total": random.choice([80, 5.5, 0, 7]),
            "count": random.randrange(5),
            "items": [_line(random) for _ in range(random.randrange(4))], "tags": random.choices(_WORDS, k=2),
            "paid": random.random() < 0.5, "address": {"zip": "1", "lines": {"deep": [1, {"x": 2}]}},
            "note": random.choice([None, "n"]), "marks": [1, 2.5, 3],
        }  # fmt: skip
        if random.random() < 0.2:
            whole["id"] = id
        orders[id] = {name: _sometimes(random, value, 0.97) for name, value in whole.items()
                      if random.random() < 0.96}  # fmt: skip
    users: JsonObject = {
        id: {"email": f"{id}@example.com", "name": {"first": "Ann"}, "orders": list(order_ids[:2]),
             "cards": dict(cards), "balance": 9.99, "city": "Ulm", "since": "2020-01-01", "vip": True}
        for id in ("u-1", "u-2")
    }  # fmt: skip
    return {"order": orders, "user": users, "flags": {"outage": True}}


def _arguments(random: Random) -> JsonObject:
    whole: JsonObject = {
        "id": random.choice(["o-101", "101", "#101", "o-102", "o-101", 101, "nope"]), "user": "u-1",
        "n": random.randrange(-2, 6), "m": random.choice([2, 0.5, 3, 1.08]), "word": random.choice(_WORDS),
        "status": random.choice(["pending", "shipped"]), "day": random.choice(_DATES), "ns": [3, 1.5, 2],
        "ids": ["o-101", "102", "zzz"], "rows": [_line(random) for _ in range(3)],
        "data": {"k": 1, "status": "new", "l": [1, 2]}, "go": True, "yes": random.random() < 0.8,
    }  # fmt: skip
    return {name: _sometimes(random, value, 0.98) for name, value in whole.items() if random.random() < 0.98}


class _Maker:
    """One plan, step by step; `scope` has the names bound so far, each with its type."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.scope: dict[str, str] = {}
        self.loop_names: set[str] = set()
        self.made = 0
        self.level = 0  # of blocks inside blocks
        self.only_reads = self.chance(0.3)

    # -- choices

    def one_of(self, *ways: Callable[[], Any]) -> Any:
        return self.of(ways)()

    def of(self, choices: Sequence[T]) -> T:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def named(self, type: str) -> list[str]:
        return [name for name, known in self.scope.items() if known == type]

    def new_name(self) -> str:
        self.made += 1
        return f"{self.of(['order', 'x', 'it', 'total', 'v', 'k', 'names', 'call'])}{self.made}"

    # -- expressions

    def v(self, type: str, depth: int = 3) -> str:
        if self.chance(0.008):
            type = self.of(TYPES)
        made: str = getattr(self, f"_{type}")(depth)
        return made

    def any(self, depth: int) -> str:
        return self.v(self.of(TYPES), depth)

    def simple(self, type: str) -> list[str]:
        """Names, fields and arguments of a type."""
        found = self.named(type)
        for owner in ("order", "user", "line"):
            for name in self.named(owner):
                found += [f"{name}.{field}" for field in _FIELDS[owner].get(type, [])]
        return found + [f"args.{name}" for name in _ARGUMENTS.get(type, [])]

    def guarded(self, type: str, fallback: str) -> str:
        choices = self.simple(type)
        if not choices:
            return fallback
        found = self.of(choices)
        return found if self.chance(0.5) else f"default({found}, {fallback})"

    def pick(
        self, type: str, depth: int, leaves: list[Callable[[], str]], ways: list[Callable[[], str]]
    ) -> str:
        if depth <= 0 or self.chance(0.35):
            return self.one_of(*leaves)  # type: ignore[no-any-return]
        if self.chance(0.08):
            test, one, other = self.v("bool", depth - 1), self.v(type, depth - 1), self.v(type, 0)
            return f"({one} if {test} else {other})"
        if self.chance(0.05):
            return f"({self.v(type, depth - 1)} {self.of(['or', 'and'])} {self.v(type, 0)})"
        return self.one_of(*ways)  # type: ignore[no-any-return]

    def call(self, name: str, depth: int, *types: str) -> str:
        return f"{name}({', '.join(self.v(type, depth - 1) for type in types)})"

    def calls(self, depth: int, *rows: str) -> list[Callable[[], str]]:
        """Rows such as "round num num": a function and the types of its arguments."""
        return [lambda row=row: self.call(row.split()[0], depth, *row.split()[1:]) for row in rows]  # type: ignore[misc]

    def _num(self, depth: int) -> str:
        d = depth - 1
        leaves = [lambda: self.guarded("num", "1"), lambda: self.guarded("num", "2"),
                  lambda: self.of(["0", "1", "2", "3", "1.5", "0.1", "-4", "100"])]  # fmt: skip
        ways = [
            lambda: f"({self.v('num', d)} {self.of('+-*')} {self.v('num', d)})",
            lambda: f"({self.v('num', d)} {self.of(['/', '//', '%'])} {self.of(['2', '3.5'])})",
            lambda: f"({self.v('num', d)} {self.of(['/', '//', '%'])} (1 + abs({self.v('num', d)})))",
            lambda: f"({self.v('num', 0)} ** {self.of(['2', '3', '0.5'])})",
            lambda: f"-{self.v('num', d)}" if self.chance(0.7) else f"(+{self.v('num', d)})",
            lambda: f"sum({self.comprehension('num', d, brackets='')})",
            lambda: f"default(first({self.comprehension('num', d, brackets='')}), 0)",
            lambda: f"{self.v('nums', d)}[{self.of(['0', '-1', '7', 'args.n'])}]",
            lambda: f"default(find({self.v('lines', d)}, 'sku', 'a').price, 0)",
            lambda: f"default(number({self.v('text', d)}), 3)",
            lambda: f"random_int(1, 1 + abs(int({self.v('num', 0)})))",
            lambda: f"default(index_of({self.v('texts', d)}, {self.v('text', 0)}), 0)",
            lambda: f"round({self.v('num', d)}, {self.of(['0', '2', '-1'])})",
            lambda: f"default(calculate('1 + 2 * {self.random.randrange(9)}'), 0)",
            lambda: f"default({self.of(['mean', 'median', 'stdev', 'pstdev', 'max', 'min'])}"
                    f"({self.v('nums', d)}), 0)",
            lambda: f"default({self.of(['sqrt', 'log'])}({self.v('num', d)}), 1)",
            lambda: f"significant({self.v('num', d)}, 3)",
            lambda: f"default(date_part({self.v('date', d)}, 'day'), 1)",
            *self.calls(depth, "len texts", "len lines", "len map", "len text", "sum nums", "abs num",
                        "floor num", "ceil num", "int num", "float num", "max num num",
                        "min num num num", "count texts text", "days_between date date"),
        ]  # fmt: skip
        return self.pick("num", depth, leaves, ways)

    def _text(self, depth: int) -> str:
        d = depth - 1
        leaves = [lambda: self.guarded("text", "'t'"), lambda: repr(self.of(_WORDS)),
                  lambda: self.of(["today", "now", "str(args.n)"])]  # fmt: skip
        ways = [
            lambda: f"({self.v('text', d)} + {self.v('text', d)})",
            lambda: self.f_string(d),
            lambda: f"{self.v('text', d)}[{self.of([':2', '1:', '-3:', ':', '1:args.n', '0'])}]",
            lambda: f"join({self.v(self.of(['texts', 'nums']), d)}, '-')",
            lambda: f"default(first({self.comprehension('text', d, brackets='')}), 'none')",
            lambda: f"str({self.any(d)})",
            lambda: f"default({self.v('texts', d)}[0], 'e')",
            lambda: f"{self.of(self.named('order') + self.named('user'))}.id"
                    if self.named("order") + self.named("user") else "'z'",
            lambda: f"format_date({self.v('date', d)}, '%d.%m.%Y %H:%M')",
            lambda: f"date_part({self.v('date', d)}, 'weekday')",
            lambda: f"pad({self.v('num', d)}, 5)",
            lambda: f"replace({self.v('text', d)}, 'a', {self.v('text', 0)})",
            lambda: f"default(last({self.v('texts', d)}), 'l')", lambda: "id_of(entity('user', 'u-1'))",
            lambda: "new_id('order')", lambda: "uuid()", lambda: "token(4)",
            lambda: f"invented({{'enum': ['a', 'b', 'c']}}, 'x', {self.v('text', d)})",
            lambda: f"default(get({self.v('map', d)}, 'status', 'none'), '0')",
            *self.calls(depth, "lower text", "upper text", "title text", "strip text", "str num"),
        ]  # fmt: skip
        return self.pick("text", depth, leaves, ways)

    def f_string(self, depth: int) -> str:
        shown = self.v("num", min(depth, 1)).replace("'", "").replace('"', "")
        inner = self.of([f"{{{shown}:.2f}}", f"{{{shown}:,.1f}}", f"{{{shown}}}"])
        name = self.of([*self.scope, "args"])
        return f"f'is {inner} of {{{name}}}'" if self.chance(0.4) else f"f'is {inner} of {{today}}'"

    def _bool(self, depth: int) -> str:
        d = depth - 1
        sign = self.of(["<", "<=", ">", ">=", "==", "!="])
        kind = self.of(["num", "text"])
        ways = [
            lambda: f"{self.v(kind, d)} {sign} {self.v(kind, d)}",
            lambda: f"{self.v('num', d)} {sign} {self.of(['2', '0', '1.5'])}",
            lambda: f"{self.v('text', d)} {self.of(['==', '!=', '<'])} 'pending'",
            lambda: f"1 {sign} {self.v('num', d)} <= {self.v('num', d)} < 1000",
            lambda: f"{self.v('text', d)} {self.of(['in', 'not in'])} {self.v('texts', d)}",
            lambda: f"{self.v('text', d)} in {self.v('text', d)}",
            lambda: f"{self.v('text', 0)} in {self.v('map', d)}",
            lambda: f"{self.any(d)} {self.of(['is', 'is not', '==', '!='])} null",
            lambda: f"{self.any(d)} == {self.any(d)}",
            lambda: f"({self.v('bool', d)} and {self.v('bool', d)} and {self.v('bool', d)})",
            lambda: f"({self.v('bool', d)} or {self.v('bool', d)})",
            lambda: f"(not {self.v('bool', d)})",
            lambda: f"any({self.comprehension('bool', d, brackets='')})",
            lambda: f"all({self.comprehension('bool', d, brackets='')})",
            lambda: f"exists('order', {self.v('text', d)})",
            lambda: f"bool({self.any(d)})", lambda: "is_flagged('outage')",
            lambda: f"same_id({self.v('text', d)}, {self.v('num', 0)})",
            lambda: f"like({self.v('text', d)}, '*{self.of('abo')}*')",
            *self.calls(depth, "contains text text", "contains texts text", "starts_with text text",
                        "ends_with text text", "is_before date date", "any nums", "all texts"),
        ]  # fmt: skip
        leaves = [lambda: self.guarded("bool", "true"), lambda: "true", lambda: "args.go"]
        return self.pick("bool", depth, leaves, ways)

    def _date(self, depth: int) -> str:
        leaves = [lambda: self.guarded("date", "today"), lambda: self.of(["today", "now"])]
        ways = [
            *self.calls(depth, "add_days date num"),
            lambda: f"add_months({self.v('date', depth - 1)}, 2)",
            lambda: f"add_minutes({self.v('date', depth - 1)}, 90)",
        ]
        return self.pick("date", depth, leaves, ways)

    # -- lists and mappings

    def _nums(self, depth: int) -> str:
        d = depth - 1
        ways = [
            lambda: f"[{self.v('num', d)}, *{self.v('nums', d)}, {self.v('num', 0)}]",
            lambda: self.comprehension("num", d), lambda: f"range({self.of(['3', '1, 4'])})",
            lambda: f"({self.v('nums', d)} + {self.v('nums', d)})",
            lambda: f"flatten([{self.v('nums', d)}, {self.v('nums', 0)}])",
            lambda: f"{{{self.comprehension('num', d, brackets='')}}}",
            lambda: f"values({{'a': {self.v('num', d)}, 'b': 2}})",
            lambda: f"[p[0] for p in zip({self.v('nums', d)}, {self.v('texts', d)})]",
            *self.calls(depth, "sort nums", "unique nums", "reversed nums"),
        ]  # fmt: skip
        leaves = [lambda: self.guarded("nums", "[1, 2]"), lambda: "[1, 2.5]", lambda: "[]"]
        return self.pick("nums", depth, leaves, ways)

    def _texts(self, depth: int) -> str:
        d = depth - 1
        ways = [
            lambda: f"[{self.v('text', d)}, {self.v('text', 0)}]", lambda: self.comprehension("text", d),
            lambda: f"split({self.v('text', d)}, 'a')", lambda: f"keys({self.v('map', d)})",
            lambda: f"{self.v('texts', d)}[{self.of([':1', '1:', '-1:'])}]",
            lambda: "ids('order')", lambda: f"{{{self.comprehension('text', d, brackets='')}}}",
            *self.calls(depth, "sort texts", "unique texts", "words text"),
        ]  # fmt: skip
        leaves = [lambda: self.guarded("texts", "['p']"), lambda: "['a', 'pending']"]
        return self.pick("texts", depth, leaves, ways)

    def _lines(self, depth: int) -> str:
        ways = [
            lambda: self.comprehension("line", depth - 1),
            lambda: f"sort({self.v('lines', depth - 1)}, '{self.of(['price', '-sku'])}')",
            lambda: f"calls('{self.of(['buy', 'sell'])}')",
            lambda: f"top({self.v('lines', depth - 1)}, 'price', 2)",
        ]
        leaves = [lambda: self.guarded("lines", "[]"), lambda: "[{'sku': 'a', 'price': 4, 'quantity': 1}]"]
        return self.pick("lines", depth, leaves, ways)

    def _orders(self, depth: int) -> str:
        leaves = [lambda: self.of([*self.named("orders"), "entities('order')"])]
        ways = [
            lambda: f"[o for o in entities('order') if {self.inside('o', 'order', 'bool', depth - 1)}]",
            lambda: f"{self.v('orders', depth - 1)}[:2]",
        ]
        return self.pick("orders", depth, leaves, ways)

    def _map(self, depth: int) -> str:
        d = depth - 1
        ways = [
            lambda: f"{{'a': {self.any(d)}, 'status': {self.v('text', 0)}}}",
            lambda: f"{{**{self.v('map', d)}, {self.v('text', 0)}: {self.any(0)}}}",
            lambda: f"{{k: v for k, v in items({self.v('map', d)}) if v != {self.any(0)}}}",
            lambda: f"{{{self.of('kn')}: 1 for {self.of(['k', 'n'])} in ['k', 'n']}}"
                    if self.chance(0.1) else "{n: n for n in ['q', 'r']}",
            lambda: f"pick({self.v('map', d)}, 'status', 'k')", lambda: f"without({self.v('map', d)}, 'k')",
            lambda: f"merge({self.v('map', d)}, {self.v('map', d)})",
            lambda: f"pick({self.v('order', d)}, 'status', 'total')",
        ]  # fmt: skip
        leaves = [lambda: self.guarded("map", "{}"), lambda: "{'k': 1, 'status': 'x'}"]
        return self.pick("map", depth, leaves, ways)

    def _order(self, depth: int) -> str:
        if self.named("order") and self.chance(0.7):
            return self.of(self.named("order"))
        return self.of(["entity('order', args.id)", "entity('order', 'o-101')"])

    def _user(self, depth: int) -> str:
        return self.of([*self.named("user"), "entity('user', 'u-1')"])

    def _line(self, depth: int) -> str:
        made = "{'sku': 'c', 'price': 1.5, 'quantity': 1}"
        return self.of([*self.named("line"), *self.named("line"), made, "args.rows[0]"])

    @contextmanager
    def bound(self, name: str, type: str) -> Iterator[None]:
        before = self.scope
        self.scope = {**before, name: type}
        yield
        self.scope = before

    def inside(self, name: str, type: str, wanted: str, depth: int) -> str:
        with self.bound(name, type):
            return self.v(wanted, depth)

    def comprehension(self, wanted: str, depth: int, brackets: str = "[]") -> str:
        """Over numbers, texts, lines, orders or pairs; the name may hide one that is bound already."""
        type = {"line": "line"}.get(wanted) or self.of(["num", "text", "line", "line", "order"])
        name = self.of([*self.scope, "x", "y"]) if self.chance(0.15) else self.of("xyz")
        source = self.v({"num": "nums", "text": "texts", "line": "lines", "order": "orders"}[type], depth - 1)
        before = self.scope
        self.scope = {**before, name: type}
        loops = f"for {name} in {source}"
        if self.chance(0.15):
            other = self.v("nums", 0)
            self.scope = {**self.scope, "w": "num"}
            loops += f" for w in {other}"
        elif self.chance(0.12):
            loops, self.scope = f"for at, {name} in enumerate({source})", {**self.scope, "at": "num"}
        for _ in range(self.of([0, 0, 1, 1, 2])):
            loops += f" if {self.v('bool', min(depth, 1))}"
        result = name if wanted == type and self.chance(0.3) else self.v(wanted, depth - 1)
        self.scope = before
        return f"{brackets[:1]}{result} {loops}{brackets[1:]}"

    def json(self, depth: int) -> Json:
        """A VALUE: an expression, or a mapping or list of values."""
        if depth <= 0 or self.chance(0.5):
            return self.of([self.any(2), self.any(2), self.any(2), 3, 2.5, True, None])
        if self.chance(0.3):
            return [self.json(depth - 1) for _ in range(self.random.randrange(3))]
        made: JsonObject = {name: self.json(depth - 1) for name in self.random.sample(["a", "b", "c's"], 2)}
        if self.chance(0.3):
            made[f"[{self.v('text', 1)}]"] = self.json(0)
        return made | ({"...": self.v("map", 1)} if self.chance(0.3) else {})

    # -- steps

    def plan(self) -> list[Json]:
        steps: list[Json] = [self._find_order(), self._find_user()]
        self.random.shuffle(steps)
        if self.only_reads and self.chance(0.5):  # short: what is found is then read for its fields alone
            return [*steps, self._find_some(), *self.block(1), self._ending()]
        return steps + self.block(self.random.randrange(2, 7)) + [self._ending()]

    def _ending(self) -> JsonObject:
        if self.chance(0.06):
            return {"let": {self.new_name(): self.any(2)}}
        whole = self.named("order") + self.named("user") + self.named("orders")
        value = self.of([self.of(whole or ["1"]), self.v("orders"), self.json(3), self.json(3)])
        return {"return": value} | ({"status": 201} if self.chance(0.2) else {})

    def block(self, count: int) -> list[Json]:
        return [self.step() for _ in range(count)]

    def step(self) -> JsonObject:
        flat = [self._find_order, self._find_user, *[self._find_some, self._find_line, self._require] * 2]
        flat += [*[self._let] * 3, self._flag]
        if not self.only_reads:
            flat += [self._let_place, *[self._set] * 4, self._append, self._unset, self._add, self._remove]
        nested = [self._for, self._for, self._for, self._if, self._if] if self.level < 3 else []
        make: Callable[[], JsonObject] = self.of([*flat, *nested])
        return make()

    def bind(self, name: str, type: str) -> str:
        self.scope = {**self.scope, name: type}
        return name

    def name_for(self, type: str) -> str:
        """Mostly a new one; now and then one that is bound, but not by a loop."""
        known = [name for name in self.scope if name not in self.loop_names]
        return self.of(known) if known and self.chance(0.12) else self.new_name()

    def failure(self) -> JsonObject:
        if self.chance(0.2):
            return {"status": 422, "body": self.json(2)}
        name = self.of([*self.scope, "args"])
        message = self.of(["no", f"not {{{name}}} {{{{x}}}}", "sum {args.n:.2f}", "{args.word} is it"])
        return {"status": 409, "error": "refused_so", "message": message}

    def _find_order(self) -> JsonObject:
        name = self.name_for("order")
        spec: JsonObject = {
            "as": name,
            "in": "order",
            "id": self.of(["args.id", "'o-101'", "'101'"]),
        }
        spec |= {"exact": True} if self.chance(0.1) else {}
        spec |= self.of([{}, {}, {"optional": True}, {"else": self.failure()}])
        self.bind(name, "order")
        return {"find": spec}

    def _find_user(self) -> JsonObject:
        name = self.name_for("user")
        where = [
            f"{name}.email == 'u-1@example.com'",
            f"{name}.city == 'Ulm' and {name}.balance > 2",
            f"'o-101' in {name}.orders",
            f"args.user == {name}.id",
            f"{name}.name.first == 'Ann'",
        ]
        spec: JsonObject = {"as": name, "in": "user", "where": self.of(where)}
        spec |= {"sort": self.of(["city", ["-city", "email"]])} if self.chance(0.3) else {}
        self.bind(name, "user")
        return {"find": spec}

    def _find_some(self) -> JsonObject:
        name = self.name_for("orders")
        spec: JsonObject = {"as": name, "in": "order", "all": True}
        way = self.random.randrange(4)
        if way == 0:
            spec["id"] = self.v("texts", 1)
        elif way < 3:
            common = [f"{name}.status == args.status", f"{name}.user_id == 'u-1' and {name}.total >= args.n",
                      f"any(i.sku == 'a' for i in {name}.items)", f"'a' in {name}.tags"]  # fmt: skip
            spec["where"] = self.of([*common, self.inside(name, "order", "bool", 2)])
        spec |= {"sort": self.of(["-at", ["status", "-total"]])} if self.chance(0.4) else {}
        spec |= {"limit": self.of(["args.n", 2, "null"])} if self.chance(0.4) else {}
        self.bind(name, "orders")
        return {"find": spec}

    def _home(self) -> str | None:
        orders = self.named("order")
        return f"{self.of(orders)}.items" if orders else None

    def _find_line(self) -> JsonObject:
        home = self._home()
        users = self.named("user")
        if home is None or (users and self.chance(0.2)):
            owner = f"{self.of(users)}.cards" if users else None
            if owner is None:
                return self._let()
            name = self.new_name()
            self.bind(name, "map")
            return {"find": {"as": name, "in": owner, "id": "'c1'"}}
        name = self.name_for("line")
        spec: JsonObject = {"as": name, "in": home}
        if self.chance(0.2):
            spec["id"] = "'a'"
        else:
            spec["where"] = self.of([f"{name}.sku == 'a'", self.inside(name, "line", "bool", 1)])
        if self.chance(0.2):
            self.bind(name, "lines")
            return {"find": spec | {"all": True} | ({"sort": "-price"} if self.chance(0.5) else {})}
        spec |= {"sort": "price"} if self.chance(0.2) else {}
        spec |= self.of([{"optional": True}, {"optional": True}, {}, {"else": self.failure()}])
        self.bind(name, "line")
        return {"find": spec}

    def _require(self) -> JsonObject:
        condition = self.v("bool", 3)
        return {
            "require": condition if self.chance(0.15) else f"({condition}) or args.go",
            "else": self.failure(),
        }

    def _let(self) -> JsonObject:
        made: JsonObject = {}
        for _ in range(self.of([1, 1, 2, 3])):
            type = self.of(TYPES)
            value = self.json(2) if type == "map" and self.chance(0.3) else self.v(type)
            name = self.name_for(type)
            if name not in made:
                made[name] = value
                self.bind(name, type)
        return {"let": made}

    def _let_place(self) -> JsonObject:
        users, orders = self.named("user"), self.named("order")
        ways = [f"{user}.cards['c1']" for user in users] + [f"{order}.address" for order in orders]
        ways += [f"{order}.items[{self.of(['0', '-1'])}]" for order in orders]
        if not ways:
            return self._let()
        name, value = self.name_for("line"), self.of(ways)
        self.bind(name, "line" if "items" in value else "map")
        return {"let": {name: value}}

    def target(self) -> str:
        orders, lines, users = self.named("order"), self.named("line"), self.named("user")
        ways = [f"{order}.{field}" for order in orders for field in ("status", "total", "note", "new")]
        ways += [
            f"{order}.{deep}"
            for order in orders
            for deep in ("address.lines.deep[0]", "items[0].price", "extra.a.b", "address[args.word]")
        ]
        ways += [f"{line}.{field}" for line in lines * 3 for field in ("price", "sku")]
        ways += [f"{user}.{deep}" for user in users for deep in ("city", "cards.c1.balance", "cards['c3'].x")]
        ways += [f"{name}.k" for name in self.named("map")]
        return self.of(ways) if ways else ""

    def _set(self) -> JsonObject:
        targets = {target for target in (self.target() for _ in range(self.of([1, 1, 2]))) if target}
        if not targets:
            return self._let()
        return {"set": {target: self.of([self.any(2), self.json(2)]) for target in sorted(targets)}}

    def _append(self) -> JsonObject:
        orders = self.named("order")
        if not orders:
            return self._let()
        order = self.of(orders)
        path, type = self.of([("items", "line"), ("tags", "text"), ("log", "num"), ("marks", "num")])
        return {"append": {f"{order}.{path}": self.v(type, 2)}}

    def _unset(self) -> JsonObject:
        target = self.target()
        return {"unset": self.of([target, [target]])} if target else self._let()

    def _add(self) -> JsonObject:
        kind = self.of(["order", "order", "user", "note"])
        spec: JsonObject = {"in": kind, "attrs": self.of(["args.data", {"status": "'new'", "total": 4,
                            "items": self.v("lines", 1), "city": self.v("text", 1)}])}  # fmt: skip
        spec |= {"id": self.v("text", 1)} if self.chance(0.3) else {}
        if self.chance(0.7):
            name = self.name_for("order")
            spec["as"] = name
            self.bind(name, kind if kind != "note" else "map")
        return {"add": spec}

    def _remove(self) -> JsonObject:
        ways = [*self.named("line")] * 2 + [f"{order}.items[0]" for order in self.named("order")]
        if self.chance(0.15):
            ways = self.named("order")
        return {"remove": self.of(ways)} if ways else self._flag()

    def _flag(self) -> JsonObject:
        return {self.of(["flag", "unflag"]): self.of(["'outage'", "f'seen {args.id}'"])}

    def inner(self, bound: dict[str, str]) -> list[Json]:
        before, names = self.scope, self.loop_names
        self.scope, self.loop_names = {**before, **bound}, names | bound.keys()
        self.level += 1
        made = self.block(self.random.randrange(1, 4))
        self.level -= 1
        if self.chance(0.05):
            made.append({"return": self.json(1)} if self.chance(0.5) else {"fail": self.failure()})
        self.scope, self.loop_names = before, names
        return made

    def _for(self) -> JsonObject:
        name, home = self.new_name(), self._home()
        if home is not None and self.chance(0.5):
            body = self.inner({name: "line"})
            if self.chance(0.7) and not self.only_reads:
                body.append(self.of([{"set": {f"{name}.price": "7"}}, {"remove": name},
                                                {"unset": f"{name}.sku"}]))  # fmt: skip
            return {"for": name, "in": home, "do": body}
        if self.chance(0.3):
            other = self.new_name()
            return {"for": f"{name}, {other}", "in": f"items({self.v('map', 1)})",
                    "do": self.inner({name: "text", other: "num"})}  # fmt: skip
        type, source = self.of([("num", "nums"), ("text", "texts"), ("line", "lines"), ("order", "orders")])
        return {"for": name, "in": self.v(source, 2), "do": self.inner({name: type})}

    def _if(self) -> JsonObject:
        made: JsonObject = {"if": self.v("bool", 3), "then": self.inner({})}
        return made | ({"else": self.inner({})} if self.chance(0.5) else {})
