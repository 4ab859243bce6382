"""A tool's arguments as reading needs them: words, kinds, defaults, and what they look like they mean."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tool_annotations import ToolAnnotations

_KINDS = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "object",
}
_ID_WORDS = word_set("id ids uuid guid number no code key slug ref reference sku symbol handle identifier")
#: What the two ends of a transfer are called by.
ENDS = word_set("from source sender to target destination receiver")
_NULL_WORDS = frozenset(("None", "null", "none"))


class ToolLike(Protocol):
    """What reading needs of a declared tool."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def input_schema(self) -> Mapping[str, Json]: ...
    @property
    def output_schema(self) -> Mapping[str, Json] | None: ...
    @property
    def annotations(self) -> ToolAnnotations | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Argument:
    name: str
    kind: str  # text, number, boolean, list, object or any
    is_required: bool
    default: Json
    values: tuple[Json, ...]  # of an enum, or listed in the description
    description: str
    schema: JsonObject
    is_key: bool = False  # not called an id, but what records are kept under: `ear_tag`

    @property
    def words(self) -> tuple[str, ...]:
        return tokens(self.name)

    @property
    def is_scalar(self) -> bool:
        return self.kind in ("text", "number", "any")

    @property
    def is_measure(self) -> bool:
        """A weight or a price: many things have the same, and none is found by it."""
        return self.schema.get("type") == "number" and self.id_noun is None

    @property
    def is_credential(self) -> bool:
        """A token, key or password: it is checked, never kept."""
        words = self.words
        return words[-1:] in (("token",), ("password",), ("secret",), ("passcode",)) or words[-2:] == (
            "api",
            "key",
        )

    @property
    def id_noun(self) -> tuple[str, ...] | None:
        """`order_id` → order, `id` → (); None when the name is not that of an id."""
        words = self.words
        if self.is_key:
            return words
        if len(words) > 1 and words[-1] in _ID_WORDS:
            return words[:-1]
        return () if words and words[-1] in ("id", "uuid", "identifier") else None


def arguments_of(tool: ToolLike) -> tuple[Argument, ...]:
    properties = tool.input_schema.get("properties")
    required = tool.input_schema.get("required")
    names = required if isinstance(required, list) else []
    return tuple(
        _argument(name, schema if isinstance(schema, dict) else {}, name in names)
        for name, schema in (properties if isinstance(properties, dict) else {}).items()
    )


def _argument(name: str, schema: JsonObject, is_required: bool) -> Argument:
    default = schema.get("default")
    description = str(schema.get("description") or "")
    listed = schema.get("enum")
    return Argument(
        name=name,
        kind=_kind(schema),
        is_required=is_required,
        # "None" as text is how some schema writers render a missing default.
        default=None if isinstance(default, str) and default in _NULL_WORDS else default,
        values=tuple(listed) if isinstance(listed, list) else _listed_values(description),
        description=description,
        schema=schema,
    )


def _kind(schema: Mapping[str, Json]) -> str:
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared]
    options = schema.get("anyOf") or schema.get("oneOf")
    for option in options if isinstance(options, list) else []:
        if isinstance(option, dict):
            names = [*names, option.get("type")]
    kinds = [_KINDS[name] for name in names if isinstance(name, str) and name in _KINDS]
    return kinds[0] if kinds else "any"


_ONE_OF = re.compile(
    r"(?:either|one of|must be|should be|can be)\s+((?:['\"][^'\"]+['\"](?:,?\s*(?:or|and)?\s*)?){2,})",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"['\"]([^'\"]+)['\"]")


def _listed_values(description: str) -> tuple[Json, ...]:
    """ "should be either 'a' or 'b'": a closed set. "such as 'a' or 'b'" is not."""
    found = _ONE_OF.search(description)
    return tuple(_QUOTED.findall(found.group(1))) if found else ()


def is_list_of_ids(argument: Argument) -> bool:
    return argument.kind == "list" and bool(argument.words) and argument.words[-1] == "ids"


def part_noun(argument: Argument) -> str:
    """`item_ids` → item, `new_item_ids` → item."""
    words = [word for word in argument.words if word not in ("ids", "id", "new", "old", "target")]
    return singular(words[-1]) if words else ""
