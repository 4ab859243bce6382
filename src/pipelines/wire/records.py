'''Records that are sent or stored as JSON: one class names the fields, JSON and schema follow from it.

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Credential(Record):
        """A secret of the org, without its value."""

        id: Id
        org_id: Hidden[int]
        name: Annotated[str, "the environment variable that holds it"]
        created_at: Moment

The docstring describes the record, and a text in `Annotated` describes a field. Keys stand in the order of
the fields. The first call of `as_json` compiles the class to one function, as fast as a dict written by hand.
'''

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
NoneType, UnionType = type(None), type(int | str)
F = TypeVar("F", bound=Callable[..., Any])


class Schema:
    """What a schema says beside its kind: `Annotated[int, Schema(minimum=1)]`."""

    def __init__(self, **more: Any) -> None:
        self.more = more


def one_of(values: Iterable[str]) -> Schema:
    """The texts that a field of type `str` may have."""
    return Schema(enum=[str(value) for value in values])


class Named(NamedTuple):
    """The key in JSON, where it is not the name of the field."""

    key: str


class Via(NamedTuple):
    """The function that makes the JSON value. The schema is that of the type it returns."""

    change: Callable[[Any], Any]


class As(NamedTuple):
    """What a value holds that is typed less closely, such as stored JSON. Only the schema tells it. `Named`
    is a record of a room that may not be imported here."""

    kind: Any
    or_null: bool = False


class Without(NamedTuple):
    """Keys of a flat record that are left out."""

    keys: frozenset[str]


class Mark(Enum):
    HIDDEN = "not in the JSON"
    FLAT = "the keys of this record, or dict, stand among those of the record around it"
    OMITTED = "left out where the field has its default"
    FIRST = "ahead of the fields of the class above"
    OFTEN = "there now, but what older releases stored may lack it"


FIRST = Mark.FIRST
Id = Annotated[int, Schema(minimum=1)]
Moment = Annotated[str, Schema(format="date-time")]
Hidden = Annotated[T, Mark.HIDDEN]
Flat = Annotated[T, Mark.FLAT]
Omitted = Annotated[T, Mark.OMITTED]
Often = Annotated[T, Mark.OFTEN]


def shown(*, after: str) -> Callable[[F], F]:
    """Marks a method, or the function of a property, whose result stands after that field; "": first."""

    def mark(function: F) -> F:
        function._shown_after = after  # type: ignore[attr-defined]
        return function

    return mark


class Record:
    """`component` names its schema in the OpenAPI document, where that is not the name of the class. A class
    whose name begins with an underscore has none: its schema stands where it is used."""

    __slots__ = ()

    def __init_subclass__(cls, *, component: str | None = None, **others: Any) -> None:
        super().__init_subclass__(**others)
        if component is not None:
            cls._component = component  # type: ignore[attr-defined]
        if "as_json" not in cls.__dict__:  # not the function that was compiled for a class above
            cls.as_json = Record.as_json  # type: ignore[method-assign]

    def as_json(self) -> dict[str, Any]:
        written = _compiled(type(self))
        type(self).as_json = written  # type: ignore[assignment, method-assign]
        return written(self)


class Key(NamedTuple):
    name: str
    value: str  # an expression over `self`
    type: Any
    notes: tuple[Any, ...]
    default: Any


def component_of(record: type) -> str:
    """The name of its schema; empty where it has none."""
    name = record.__name__
    return str(record.__dict__.get("_component", "" if name.startswith("_") else name))


def keys_of(record: type) -> Iterator[Key]:
    """What stands in its JSON, in order."""
    hints = hints_of(record)
    computed = list(_computed(record))
    yield from (key for after, key in computed if not after)
    for field in sorted(fields(record), key=lambda field: Mark.FIRST not in peeled(hints[field.name])[1]):
        kind, notes = peeled(hints[field.name])
        if Mark.HIDDEN not in notes:
            name = next((note.key for note in notes if isinstance(note, Named)), field.name)
            default = _default(field)
            if Mark.OMITTED in notes and default is None:
                kind, more = peeled(_given(kind))
                notes = (*more, *notes)
            yield Key(name, f"self.{field.name}", kind, notes, default)
        for after, key in computed:
            if after == field.name:
                yield key


def hints_of(thing: Any) -> dict[str, Any]:
    """The types of a class's fields, or of a function. `Json` names itself, and is not known everywhere."""
    return get_type_hints(thing, localns={"Json": Any}, include_extras=True)


def peeled(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its notes, and these."""
    return (kind.__origin__, kind.__metadata__) if get_origin(kind) is Annotated else (kind, ())


def is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def is_any_json(kind: Any) -> bool:
    """Whether it is `Json`, which names itself and so is known by its members."""
    origins = {get_origin(each) for each in get_args(kind)} if is_union(kind) else set()
    return kind in (Any, object, "Json") or {list, dict} <= origins


def _computed(record: type) -> Iterator[tuple[str, Key]]:
    members = {name: member for above in reversed(record.__mro__) for name, member in vars(above).items()}
    for name, member in members.items():
        function = member.fget if isinstance(member, property) else member
        after = getattr(function, "_shown_after", None)
        if after is not None:
            kind, notes = peeled(hints_of(function)["return"])
            value = f"self.{name}" if isinstance(member, property) else f"self.{name}()"
            key = next((note.key for note in notes if isinstance(note, Named)), name)
            yield after, Key(key, value, _given(kind) if Mark.OMITTED in notes else kind, notes, None)


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _compiled(record: type) -> Callable[[Any], dict[str, Any]]:
    names: dict[str, Any] = {}
    lines = ["def as_json(self):", " body = {}"]
    for key in keys_of(record):
        if Mark.FLAT in key.notes:
            lines += _flat(key, names)
        elif Mark.OMITTED in key.notes:
            default = "is not None" if key.default is None else f"!= {_named(key.default, names)}"
            code = _json(key.type, key.notes, key.value, names)
            lines.append(f" if {key.value} {default}: body[{key.name!r}] = {code}")
        else:
            item = f"{key.name!r}: {_json(key.type, key.notes, key.value, names)}, "
            if lines[-1].endswith((" {}", ", }")):  # a dict that goes on
                lines[-1] = f"{lines[-1][:-1]}{item}}}"
            else:
                lines.append(f" body |= {{{item}}}")
    lines.append(" return body")
    exec("\n".join(lines), names)
    written: Callable[[Any], dict[str, Any]] = names["as_json"]
    return written


def _flat(key: Key, names: dict[str, Any]) -> list[str]:
    copy_code = _json(key.type, key.notes, key.value, names)
    left_out = next((note.keys for note in key.notes if isinstance(note, Without)), None)
    if left_out is not None:
        chosen = _named(left_out, names)
        copy_code = f"{{key: value for key, value in {copy_code}.items() if key not in {chosen}}}"
    return [f" body |= {copy_code}"]


def _given(kind: Any) -> Any:
    """A type without None."""
    options = [each for each in get_args(kind) if each is not NoneType] if is_union(kind) else []
    return Union[tuple(options)] if options else kind  # noqa: UP007 - of a tuple


def _json(kind: Any, notes: Sequence[Any], value: str, names: dict[str, Any]) -> str:
    """The expression of a value's JSON; the value itself where nothing is to be changed."""
    for note in notes:
        if isinstance(note, Via):
            return f"{_named(note.change, names)}({value})"
    origin, arguments = get_origin(kind), get_args(kind)
    if is_any_json(kind):
        return value
    if is_union(kind):
        return _json_of_either(arguments, value, names)
    if origin in (tuple, list, Sequence, frozenset):
        inner, item = _variable(value), arguments[0]
        code = _json(*peeled(item), inner, names)
        listed = "sorted" if origin is frozenset else "list"
        return f"{listed}({value})" if code == inner else f"[{code} for {inner} in {value}]"
    if origin in (dict, Mapping):
        return _json_by_name(kind, value, names)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"{value}.value"
    if isinstance(kind, type) and issubclass(kind, tuple):  # a named one of numbers, such as an interval
        return f"list({value})"
    return f"{value}.as_json()" if hasattr(kind, "as_json") else value


def _json_of_either(kinds: Sequence[Any], value: str, names: dict[str, Any]) -> str:
    codes = {_json(*peeled(each), value, names) for each in kinds if each is not NoneType}
    if len(codes) > 1:
        raise TypeError(f"{value} may be {kinds}: say with Via how it is written")
    (one,) = codes
    return f"(None if {value} is None else {one})" if NoneType in kinds and one != value else one


def _json_by_name(kind: Any, value: str, names: dict[str, Any]) -> str:
    key, item = get_args(kind)
    place = _variable(value)
    as_key = _json(*peeled(key), f"{place}_key", names)
    as_key = f"str({as_key})" if key is int else as_key
    code = _json(*peeled(item), place, names)
    if (as_key, code) == (f"{place}_key", place):
        return value if get_origin(kind) is dict else f"dict({value})"
    return f"{{{as_key}: {code} for {place}_key, {place} in {value}.items()}}"


def _variable(value: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in value) + "_"


def _named(value: Any, names: dict[str, Any]) -> str:
    name = f"v{len(names)}"
    names[name] = value
    return name
