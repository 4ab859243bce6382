"""The annotations of a tool, as MCP defines them: a title, and hints of what the tool does."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.core.text.authored import Fields, as_object, kind
from pipelines.core.text.json_text import Json, JsonObject

LONGEST_TITLE = 1_000  # characters
#: MCP's spelling of each hint, by ours.
HINTS: Mapping[str, str] = {
    "reads_only": "readOnlyHint",
    "is_destructive": "destructiveHint",
    "is_idempotent": "idempotentHint",
    "is_open_world": "openWorldHint",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolAnnotations:
    """A hint that was not given is None: MCP's defaults (everything destroys) are for clients that ask
    before a call, and would say of a plain read that it changes something."""

    title: str | None = None
    reads_only: bool | None = None  # it changes nothing
    is_destructive: bool | None = None  # it may change or delete what is there; false: it only adds
    is_idempotent: bool | None = None  # the same call again changes nothing more
    is_open_world: bool | None = None  # it reaches things outside, as a web search does

    @property
    def changes_something(self) -> bool:
        """`destructiveHint` counts only for a tool that is not said to read, as MCP has it."""
        return self.reads_only is False or (self.reads_only is None and self.is_destructive is True)

    def as_json(self) -> JsonObject:
        """In MCP's spelling, what was not given left out."""
        hints = {spelled: getattr(self, name) for name, spelled in HINTS.items()}
        body: JsonObject = {"title": self.title} | hints
        return {key: value for key, value in body.items() if value is not None}

    @classmethod
    def from_stored(cls, body: Json) -> "ToolAnnotations | None":
        """Of an agent that was stored before there were annotations: None."""
        return _annotations_of(body) if isinstance(body, dict) else None


def read_annotations(fields: Fields, title: str | None) -> ToolAnnotations | None:
    """`title` is the one beside them, which MCP shows before the one among them."""
    given = fields.get("annotations")
    if given is None:
        return ToolAnnotations(title=title) if title else None
    place = fields.at("annotations")
    body = as_object(given, place, fields.problems, f"{fields.subject}`annotations`")
    if body is None:
        return None
    before = len(fields.problems)
    own = Fields(body, place, fields.problems, subject=f"{fields.subject}`annotations`: ")
    own.refuse_unknown(("title", *HINTS.values()))
    own.text("title", longest=LONGEST_TITLE, may_be_blank=True)
    for hint in HINTS.values():
        value = own.get(hint)
        if value is not None and not isinstance(value, bool):
            own.refuse(hint, f"`{hint}` must be true or false, not {kind(value)}")
    if len(fields.problems) > before:
        return None
    found = _annotations_of(body if title is None else body | {"title": title})
    return found if found.as_json() else None


def _annotations_of(body: JsonObject) -> ToolAnnotations:
    title = body.get("title")
    hints = {name: body.get(spelled) for name, spelled in HINTS.items()}
    return ToolAnnotations(
        title=title if isinstance(title, str) and title else None,
        **{name: value for name, value in hints.items() if isinstance(value, bool)},
    )
