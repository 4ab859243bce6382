"""Which build of an agent a batch ran: the label that a person gives, or the build that the agent reports.

The version of an agent changes when its definition changes. A new build behind the same definition changes
nothing there, so a label tells the two apart.
"""

from typing import NamedTuple

from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json

FIELDS = ("label", "note")
BUILD_KEY = "build"  # of the metadata; what is no text there is stored and names no build
LONGEST_LABEL = 100
LONGEST_NOTE = 2_000


class BuildLabel(NamedTuple):
    label: str | None = None
    note: str | None = None  # for people, such as what this build changes


def read_build_label(fields: Fields) -> BuildLabel:
    """None where a field is missing."""
    label = fields.text("label", longest=LONGEST_LABEL)
    if label is not None and not label.strip().isprintable():
        fields.refuse("label", "`label` must be one line without control characters")
        label = None
    note = fields.text("note", longest=LONGEST_NOTE)
    return BuildLabel(_stripped(label), _stripped(note))


def reported_build(metadata: Json) -> str | None:
    """The build that an agent reports; None if it reports none, or nothing that can be shown as a label."""
    build = metadata.get(BUILD_KEY) if isinstance(metadata, dict) else None
    if not isinstance(build, str) or not build.strip().isprintable():
        return None
    return build.strip()[:LONGEST_LABEL] or None


def _stripped(text: str | None) -> str | None:
    return text.strip() if text is not None else None
