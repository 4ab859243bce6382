"""Templates into text. Loaded when the first page is asked for: a server may never be looked at."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.core.verdict.pending_words import pending_words
from pipelines.web import assets, words

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, context: Mapping[str, Any]) -> str:
    """Everything in `context` is escaped unless it is Markup that this room made."""
    return environment().get_template(template).render(context)


@cache
def environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from pipelines.web import charts, json_view
    from pipelines.web.pretty_json import pretty_json

    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    jinja.globals |= {"asset": assets.asset_url, "charts": charts}
    jinja.filters |= {
        name: getattr(words, name)
        for name in ("when", "duration", "count", "some", "size", "percent", "interval", "cost", "ticked")
    }
    jinja.filters |= {"json_short": words.json_short}
    jinja.filters |= {"json_view": json_view.json_view, "folded": json_view.folded_text}
    jinja.filters |= {"json_line": json_view.json_line, "visible": json_view.visible}
    jinja.filters |= {"pretty": pretty_json, "pending_words": pending_words}
    return jinja
