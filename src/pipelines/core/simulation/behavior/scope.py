"""One tool over one world: what the fields, amounts and nouns of a sentence stand for there."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from pipelines.core.english.inflection import action_nouns
from pipelines.core.english.stems import stem
from pipelines.core.english.words import joined as joined_words
from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.json_text import Json
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.meaning import (
    COUNT,
    MONEY,
    SOLE,
    WHEN,
    Amount,
    Choice,
    Field,
    Literal_,
    Now,
    Percent,
    Sum,
    Total,
)
from pipelines.core.simulation.behavior.rules import (
    ARGUMENTS,
    EACH,
    REPLY,
    Ref,
    Text,
    dotted,
    joined,
    literal,
    text,
)
from pipelines.core.simulation.behavior.things import (
    USUAL_FIELDS,
    Kind,
    Kinds,
    Path,
    ToolWords,
    counts,
    find_argument,
    find_field,
    is_date,
    known_value,
    loose,
)
from pipelines.core.simulation.behavior.words import GENERIC_NOUNS, OWNERS, PERSONS, snake
from pipelines.core.simulation.domain import shapes

# Fields that hold what a thing is worth, best first.
WORTH = (
    "total", "amount", "total_amount", "order_total", "grand_total", "price", "value", "cost", "subtotal",
    "balance",
)  # fmt: skip
_BIRTHS = (
    "creat", "plac", "order", "purchas", "bought", "book", "submit", "issu", "open", "regist", "post", "sent",
    "receiv", "add", "publish", "start", "date", "timestamp", "time", "updat", "modif", "",
)  # fmt: skip
_ENDS = word_set("due expires expiry expiration renews renewal ends end until departure birth deadline")
_CALLERS = (
    "requester_id", "caller_id", "actor_id", "requesting_user_id", "current_user_id", "acting_user_id",
    "performed_by", "requested_by", "requester", "caller", "admin_id", "approver_id", "approved_by",
    "reviewer_id", "manager_id",
)  # fmt: skip
_ACTING = word_set("as acting by behalf calling current requesting performing")
_SESSIONS = ("session", "current_user", "auth", "caller", "login", "context")


class Unresolved(Exception):
    """A word of the sentence stands for nothing this tool or this world has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a value is: what reads it, and the field's description where the world shows one."""

    value: Text
    about: shapes.Field | None = None
    name: str = ""
    root: str = ""

    @property
    def is_date(self) -> bool:
        return self.about is not None and is_date(self.name, self.about)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    tool: ToolWords
    lexicon: Lexicon
    computed: frozenset[str] = frozenset()  # fields of the reply that earlier rules work out
    in_list: str | None = None  # the kind of thing listed, where the rule is about each element
    reaches_far: bool = False  # also what is linked with what the call names, and what that is linked with
    bases: Mapping[str, Text] = field(
        default_factory=dict
    )  # a kind -> an expression for the one that is meant

    @property
    def kind(self) -> str | None:
        return self.tool.kind

    def kind_named(self, noun: str | None) -> Kind | None:
        """The kind a noun means here; without one, what the tool is about."""
        name = (self.lexicon.kind_of(noun) if noun else None) or (self.kind if not noun else None)
        return self.lexicon.kinds.get(name) if name else None

    def base(self, kind: str) -> Text:
        """The entity of a kind that the call is about."""
        if kind == self.in_list:
            return text(Ref(EACH))
        if kind in self.bases:
            return self.bases[kind]
        known = self.lexicon.kinds.get(kind)
        if known is not None and known.role:
            return text(f"entity({literal(known.of)}, ", self._role(known), ")")
        if self._is_yet_to_be(kind):
            # A thing that the call is about to make has only what the call gives it.
            return text(Ref(ARGUMENTS))
        if self.reaches(kind):
            return text(Ref(kind))
        far = self._linked_base(kind) if self.reaches_far else None
        if far is not None:
            return far
        raise Unresolved(f"{self.tool.name} has no {kind}")

    def _role(self, kind: Kind) -> Text:
        """The id of whoever has a role: as the call gives it, else as the one thing it reaches keeps it."""
        if kind.role in self.tool.arguments:
            return text(Ref(ARGUMENTS, (kind.role,)))
        own = self.lexicon.kinds.get(self.in_list or self.kind or "")
        holders = [
            one
            for one in self.lexicon.kinds.values()
            if (kind.role,) in one.fields and self.reaches(one.name)
        ]
        if own is not None and (kind.role,) in own.fields:
            holders = [own]
        if len(holders) != 1 or self._is_yet_to_be(holders[0].name):
            raise Unresolved(f"{self.tool.name} does not say which {kind.name} is meant")
        return within(self.base(holders[0].name), (kind.role,))

    def _linked_base(self, kind: str) -> Text | None:
        """What something that the call names is linked with, where only one such thing is: a pet's owner."""
        found = []
        for (_, to), name in self.lexicon.links.items():
            if to == kind and name in self.tool.arguments:  # a listing's seller_id, given when it is made
                found.append(text(f"entity({literal(kind)}, ", Ref(ARGUMENTS, (name,)), ")"))
        found = list(dict.fromkeys(found))
        for other in self.lexicon.kinds.values() if not found else ():
            known = link_field(other, kind) or self.lexicon.links.get((other.name, kind))
            link = known if other.name != kind and other.fields else None
            if link is not None and self.reaches(other.name) and not self._is_yet_to_be(other.name):
                found.append(text(f"entity({literal(kind)}, ", Ref(other.name, (link,)), ")"))
        return found[0] if len(found) == 1 else None

    def reaches(self, kind: str) -> bool:
        known = self.lexicon.kinds.get(kind)
        if known is None:
            return False
        return (
            kind == self.kind
            or known.only_id is not None
            or self.lexicon.id_argument(self.tool, kind) is not None
            or self.link_to(kind) is not None
        )

    def link_to(self, kind: str) -> str | None:
        """The field of what the tool is about that holds the id of an entity of another kind."""
        own = self.lexicon.kinds.get(self.kind or "")
        return link_field(own, kind) if own is not None else None

    # -- fields ------------------------------------------------------------------------------------

    def place(self, spoken: Field) -> Place:
        """Where the value of a spoken field is, or Unresolved."""
        if spoken.name == MONEY:
            return self.worth(spoken.owner)
        if spoken.name == WHEN:
            return self._when()
        if spoken.name == SOLE:
            return self._sole_argument()
        if spoken.name == COUNT:
            return self._only_number()
        owner, name = self._parted(spoken)
        if owner == ARGUMENTS or (
            owner in ("arguments", "request", "input") and self.kind_named(owner) is None
        ):
            return self._argument(name)
        kind = self.kind_named(owner) if owner is not None else None
        if kind is not None:
            return self._in_kind(kind, name, is_loose=spoken.is_new or _is_name(name))
        if owner is not None and owner not in GENERIC_NOUNS:
            raise Unresolved(f"nothing here is a {owner}")
        return self._argument(name) if spoken.is_argument else self._bare(name)

    def _parted(self, spoken: Field) -> tuple[str | None, str]:
        head, dot, rest = spoken.name.partition(".")
        if dot and (head == ARGUMENTS or self.lexicon.kind_of(head) is not None):
            return head, rest
        first, _, following = spoken.name.partition(" ")
        if spoken.owner is None and following and self.lexicon.kind_of(first) is not None:
            kind = self.kind_named(first)
            if kind is not None and find_field(kind.fields, following) is not None:
                return first, following
        return spoken.owner, spoken.name

    def _bare(self, name: str) -> Place:
        own = self.lexicon.kinds.get(self.in_list or self.kind or "")
        in_own = find_field(own.fields, name) if own else None
        status_like = in_own is not None and own is not None and in_own == own.status
        argument = find_argument(self.tool, name)
        if argument is not None and self.in_list is None and not status_like:
            return self._argument(argument)
        if snake(name) in self.computed and in_own is None:
            return Place(value=text(Ref(REPLY, (snake(name),))), name=snake(name), root=REPLY)
        if own is not None and in_own is not None:
            return self._at(own, in_own)
        found = self._elsewhere(name)
        if found is not None:
            return found
        if snake(name) in self.tool.output:
            return Place(value=text(Ref(REPLY, (snake(name),))), name=snake(name), root=REPLY)
        if own is not None and (_is_name(name) or (not own.fields and name in USUAL_FIELDS)):
            return self._at(own, tuple(name.split(".")))
        raise Unresolved(f"nothing here has a field {name!r}")

    def _elsewhere(self, name: str) -> Place | None:
        """In another kind that the call reaches, where only one has such a field."""
        hits = [
            (kind, path)
            for kind in self.lexicon.kinds.values()
            if kind.name != self.kind
            and kind.fields
            and self.reaches(kind.name)
            and (path := find_field(kind.fields, name)) is not None
        ]
        return self._at(*hits[0]) if len(hits) == 1 else None

    def _in_kind(self, kind: Kind, name: str, is_loose: bool) -> Place:
        path = find_field(kind.fields, name)
        if path is not None:
            return self._at(kind, path)
        # The author's `delivered_at` may be a field of what the thing is linked with.
        elsewhere = self._elsewhere(name) if kind.fields and _is_name(name) else None
        if elsewhere is not None:
            return elsewhere
        if name == "id":
            return self._at(kind, ("id",))
        if is_loose or (not kind.fields and name in USUAL_FIELDS):
            return self._at(kind, tuple(name.split(".")) if "." in name else (snake(name),))
        raise Unresolved(f"no {kind.name} has a field {name!r}")

    def _at(self, kind: Kind, path: Path) -> Place:
        return Place(
            value=within(self.base(kind.name), path),
            about=kind.fields.get(path),
            name=path[-1],
            root=kind.name,
        )

    def _is_yet_to_be(self, kind: str) -> bool:
        is_own = (self.tool.creates and kind == self.kind) or (kind == self.tool.makes and kind != self.kind)
        return is_own and self.in_list is None and self.lexicon.id_argument(self.tool, kind) is None

    def _argument(self, name: str) -> Place:
        found = find_argument(self.tool, name) or (name if name in self.tool.arguments else None)
        if found is None:
            raise Unresolved(f"{self.tool.name} has no argument {name!r}")
        schema = self.tool.arguments[found]
        enum = schema.get("enum")
        about = shapes.Field(name=found, values=tuple(enum) if isinstance(enum, list) else ())
        return Place(value=text(Ref(ARGUMENTS, (found,))), about=about, name=found, root=ARGUMENTS)

    def _sole_argument(self) -> Place:
        """`only accepts values between 10 and 30`: the one argument that is no id."""
        plain = [name for name in self.tool.arguments if words_of(name)[-1:] != ("id",)]
        if len(plain) != 1:
            raise Unresolved(f"{self.tool.name} takes more than one value, or none")
        return self._argument(plain[0])

    def _only_number(self) -> Place:
        """`more than there is in stock`: how many is the one number that the call gives."""
        numbers = counts(self.tool)
        if len(numbers) != 1:
            raise Unresolved(f"{self.tool.name} is given no one number")
        return self._argument(numbers[0])

    # -- what a thing is worth, how old it is, whose it is --------------------------------------------

    def worth(self, noun: str | None) -> Place:
        if not noun:
            argument = next(
                (name for name in ("amount", "total", "price") if name in self.tool.arguments), None
            )
            if argument is not None and self.in_list is None:
                return self._argument(argument)
        kind = self.kind_named(noun)
        if kind is not None and kind.fields and singular(words_of(kind.name)[-1]) in PERSONS:
            if ("age",) not in kind.fields:
                raise Unresolved(f"what a {kind.name} counts for is not said")
            return self._at(kind, ("age",))  # members under 18
        for name in WORTH:
            if kind is not None and self._is_yet_to_be(kind.name) and name not in self.tool.arguments:
                continue  # what is to be made has only what the call gives it
            if kind is not None and (name,) in kind.fields and "number" in kind.fields[(name,)].kinds:
                return self._at(kind, (name,))
        raise Unresolved(f"no amount is known of {noun or self.kind}")

    def moment(self, spoken: Field | None, noun: str | None) -> Place:
        """The field that says when: of the event that is named, or of the thing's own beginning."""
        if spoken is not None and not spoken.is_new:
            return self.place(spoken)
        kind = self.kind_named((spoken.owner if spoken else None) or noun)
        if kind is None:
            raise Unresolved("nothing here has a date")
        dates = kind.dates()
        if spoken is not None:
            named = [
                path for path in dates if stem(spoken.name) in {stem(word) for word in words_of(path[-1])}
            ]
            if named:
                return self._at(kind, named[0])
            if (
                not any(stem(spoken.name).startswith(birth) for birth in _BIRTHS[:10])
                and spoken.name != "made"
            ):
                raise Unresolved(f"no {kind.name} says when it was {spoken.name}")
        return self._at(kind, self.birth(kind))

    def birth(self, kind: Kind) -> Path:
        """The date a thing came about: by name, else the only one that does not say when it will end."""
        dates = [path for path in kind.dates() if not set(words_of(path[-1])) & _ENDS]
        for start in _BIRTHS:
            for path in dates:
                if any(word.startswith(start) for word in words_of(path[-1])):
                    return path
        raise Unresolved(f"no {kind.name} says how old it is")

    def counter(self, verb: str, noun: str | None) -> Text:
        """How often something was done is a number named after the verb: `renewals`, `reschedule_count`."""
        kind = self.kind_named(noun or None)
        counts = [
            path
            for path, one in (kind.fields if kind is not None else {}).items()
            if "number" in one.kinds and _counts(verb, path[-1])
        ]
        if kind is None or len(counts) != 1:
            raise Unresolved(f"nothing counts how often it was {verb}")
        return within(self.base(kind.name), counts[0])

    def _when(self) -> Place:
        """The one moment that the tool is given."""
        named = [name for name in self.tool.arguments if is_date(name, shapes.Field(name=name))]
        if len(named) != 1:
            raise Unresolved(f"{self.tool.name} is given no one moment")
        return self._argument(named[0])

    def owner(self, kind: Kind, named: str | None) -> Text:
        """The field of a thing that says whose it is."""
        if named is not None:
            last = named.rpartition(".")[2]
            path = find_field(kind.fields, last) or find_field(kind.fields, f"{last}_id")
            return within(self.base(kind.name), path or (last,))
        for name in OWNERS:
            path = next(
                (path for path in kind.fields if loose(path[-1]) == loose(name) and len(path) == 1), None
            )
            if path is not None:
                return within(self.base(kind.name), path)
        persons = [path for path in kind.fields if len(path) == 1 and _names_person(path[0])]
        if len(persons) == 1:
            return within(self.base(kind.name), persons[0])
        if not kind.fields:
            return within(self.base(kind.name), ("user_id",))
        raise Unresolved(f"no {kind.name} says whose it is")

    def caller(self, named: str | None = None, is_target: bool = False) -> Text | None:
        """Who is calling: an argument that says so, or the session the world holds; None when nothing
        does.
        """
        names = [*([named] if named is not None and not is_target else ()), *_CALLERS]
        names += () if is_target else OWNERS
        spelled = {joined_words(words_of(name)): name for name in reversed([*self.tool.arguments])}
        known = (spelled.get(joined_words(words_of(name))) for name in names)
        argument = next((name for name in known if name is not None), self._acting(is_target))
        session = self._session()
        if argument is None:
            return session
        given = text(Ref(ARGUMENTS, (argument,)))
        if session is None or argument in self.tool.required:
            return given
        return text("default(", given, ", ", session, ")")

    def _acting(self, is_target: bool) -> str | None:
        """`as_user`, `acting_member`, `on_behalf_of`: an argument that says for whom the call is made."""
        for name in self.tool.arguments:
            said = words_of(name)
            person = any(singular(word) in PERSONS for word in said)
            if set(said) & _ACTING and (person or said[-1] in ("by", "of", "id")):
                return name
        return None

    def _session(self) -> Text | None:
        for name in _SESSIONS:
            kind = self.lexicon.kinds.get(name)
            for owner in (*OWNERS, "id"):
                if kind is not None and (owner,) in kind.fields:
                    return text(f"first(entities({literal(name)}))", within(text(""), (owner,)))
        return None

    # -- amounts -----------------------------------------------------------------------------------------

    def amount(self, spoken: Amount) -> Text:
        match spoken:
            case Field():
                return self.place(spoken).value
            case Literal_(value):
                return text(written_value(value))
            case Percent(fraction):
                return text(written_value(fraction))
            case Now():
                return text("now")
            case Sum("len", (Field() as counted,)):
                return self._count(counted)
            case Sum("length", (Field() as written,)):
                return text("len(default(", self.place(written).value, ", ''))")
            case Sum(op, parts):
                return _sum(op, [self.amount(part) for part in parts])
            case Total():
                return self._total(spoken)
            case Choice():
                raise Unresolved("a choice is resolved with its condition")

    def _count(self, spoken: Field) -> Text:
        """How many: the length of a list, or the number itself where the field is one."""
        place = self.place(spoken)
        is_list = place.about is not None and place.about.keeps is not None
        is_array = place.root == ARGUMENTS and self.tool.arguments[place.name].get("type") == "array"
        return text("len(", place.value, ")") if is_list or is_array else place.value

    def _total(self, spoken: Total) -> Text:
        over = self.place(spoken.over)
        if over.about is None or over.about.keeps != "list":
            raise Unresolved(f"{spoken.over.name} is no list")
        parts: dict[Path, shapes.Field] = {(name,): part for name, part in over.about.parts.items()}
        each = replace(self, lexicon=_with_kind(self.lexicon, "\0part", parts), in_list="\0part").amount(
            spoken.each
        )
        return text("sum(", _named(each, "part"), " for part in ", over.value, ")")


def _counts(verb: str, name: str) -> bool:
    said = {stem(word) for word in words_of(name)}
    return stem(verb) in said or bool(action_nouns(verb) & set(words_of(name)))


def link_field(kind: Kind, other: str) -> str | None:
    last = singular(words_of(other)[-1]) if words_of(other) else other
    same = {f"{last}_id", f"{snake(other)}_id", f"{last}Id", last}
    if last in ("user", "customer", "account", "member", "client"):
        same |= {"user_id", "customer_id", "buyer_id", "owner_id", "account_id", "member_id"}
    return next((path[0] for path in kind.fields if len(path) == 1 and path[0] in same), None)


def within(base: Text, path: Path) -> Text:
    """A field below an expression."""
    last = base.parts[-1] if base.parts else ""
    if len(base.parts) == 1 and isinstance(last, Ref):
        return text(Ref(last.root, (*last.path, *path)))
    return text(base, dotted("", path))


def written_value(value: Json | Decimal) -> str:
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    return literal(value)


def _sum(op: str, parts: list[Text]) -> Text:
    if op in ("*", "/") and len(set(map(repr, parts))) < len(parts):
        raise Unresolved("a value is not multiplied by itself")
    if op in "+-*/%":
        return text("(", joined(parts, f" {op} "), ")")
    return text(f"{op}(", joined(parts, ", "), ")")


def _with_kind(lexicon: Lexicon, name: str, fields: Mapping[Path, shapes.Field]) -> Lexicon:
    return replace(
        lexicon, kinds=Kinds({**lexicon.kinds, name: Kind(name=name, fields=fields)}, lexicon.kinds.roles)
    )


def _named(value: Text, name: str) -> Text:
    """The elements of a sum by a name of their own."""
    parts = (
        text(dotted(name, part.path)) if isinstance(part, Ref) and part.root == EACH else text(part)
        for part in value.parts
    )
    return text(*parts)


def _names_person(name: str) -> bool:
    said = words_of(name)
    return len(said) == 2 and said[1] == "id" and said[0] in PERSONS


def _is_name(name: str) -> bool:
    return "_" in name or "." in name or any(c.isupper() for c in name[1:])


def said_value(place: Place, value: Json | Decimal) -> Json | Decimal:
    """A value in the field's own spelling; a number where the field holds numbers."""
    if isinstance(value, str):
        return known_value(place.about, value)
    return value
