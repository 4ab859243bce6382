"""Format strings in templates: a bare percent sign is a conversion, and the page answers 500."""

import re
from collections.abc import Iterator

import pytest
from jinja2 import nodes

from pipelines.web.render import TEMPLATES, environment

#: What a template may format with. A space between % and the letter is a flag in Python and text to a reader.
_CONVERSION = re.compile(r"%(?:%|[-+0#]*\d*(?:\.\d+)?[dfgs])")


def _format_strings(template: str) -> Iterator[str]:
    tree = environment().parse(template)
    for found in tree.find_all(nodes.Filter):
        if found.name == "format" and found.node is not None:
            texts = [found.node, *found.node.find_all(nodes.Const)]
            yield from (
                each.value for each in texts if isinstance(each, nodes.Const) and isinstance(each.value, str)
            )


@pytest.mark.parametrize("name", sorted(path.name for path in TEMPLATES.glob("*.html")))
def test_no_template_formats_a_text_with_a_bare_percent_sign(name: str) -> None:
    for text in _format_strings((TEMPLATES / name).read_text()):
        # Parts of a conversion that is put together, such as "%." ~ digits ~ "f", have no whole one.
        whole = text if not text.startswith("%.") or "f" in text else ""
        assert "%" not in _CONVERSION.sub("", whole), f"{name}: {text!r}"
