"""The blind tools in other words: names in other cases and orders, by other verbs, without descriptions.

A check on rules that are fitted to the cases: what a tool reads must not be taken for a change because it is
written otherwise. `python tests/blind/tool_variants.py` prints the figures of each kind of variant.
"""

import re
import sys
from collections.abc import Callable
from typing import Any

from tool_scores import ELEVENTH, FOLDER, TENTH, ToolScore, figures, scored

from pipelines.core.english.words import is_plural, plural, singular, tokens
from pipelines.core.simulation.domain.verbs import OP_OF_VERB

#: Verbs that say the same of a tool, whatever it is about.
_SAME = {
    "get": "fetch",
    "list": "show",
    "find": "search",
    "search": "find",
    "show": "display",
    "check": "verify",
    "create": "add",
    "add": "insert",
    "update": "edit",
    "change": "modify",
    "set": "change",
    "edit": "update",
    "cancel": "void",
    "delete": "remove",
    "remove": "delete",
    "close": "shut",
    "book": "reserve",
    "count": "tally",
    "calculate": "compute",
    "register": "enroll",
    "look": "search",
}

Tool = dict[str, Any]


def camel(tool: Tool) -> Tool:
    first, *rest = tokens(tool["name"])
    return tool | {"name": first + "".join(word.capitalize() for word in rest)}


def snake(tool: Tool) -> Tool:
    return tool | {"name": "_".join(tokens(tool["name"]))}


def other_verbs(tool: Tool) -> Tool:
    words = [_SAME.get(word, word) if at == 0 else word for at, word in enumerate(tokens(tool["name"]))]
    return tool | {"name": "_".join(words)}


def without_description(tool: Tool) -> Tool:
    return tool | {"description": ""}


def imperative(tool: Tool) -> Tool:
    """ "Returns the order." becomes "Return the order"."""
    text = re.sub(r"^(\w+?)s\b", r"\1", tool.get("description") or "")
    return tool | {"description": text.rstrip(".")}


def verb_last(tool: Tool) -> Tool:
    """get_order becomes order_get; vaccination_record, which begins with no verb, would become an order."""
    words = tokens(tool["name"])
    return tool | {"name": "_".join((*words[1:], words[0]))} if words[0] in OP_OF_VERB else tool


def prefixed(tool: Tool) -> Tool:
    return tool | {"name": "acme_v2_" + "_".join(tokens(tool["name"]))}


def other_number(tool: Tool) -> Tool:
    """list_orders becomes list_order, get_order get_orders."""
    *rest, last = tokens(tool["name"])
    turned = singular(last) if is_plural(last) else plural(last)
    return tool | {"name": "_".join((*rest, turned)) if rest else last}


VARIANTS: dict[str, Callable[[Tool], Tool]] = {
    one.__name__: one
    for one in (
        *(camel, snake, other_verbs, verb_last, prefixed, other_number),
        *(imperative, without_description),
    )
}


def varied(body: dict[str, Any], turn: Callable[[Tool], Tool]) -> dict[str, Any]:
    """The same trade with every tool turned; one whose new name another has keeps its own."""
    taken = {tool["name"] for tool in body["tools"]}
    tools = []
    for tool in body["tools"]:
        other = turn(tool)
        if other["name"] != tool["name"] and other["name"] in taken:
            other = other | {"name": tool["name"]}
        taken.add(other["name"])
        tools.append(other)
    return body | {"tools": tools}


def variant_scores(turn: Callable[[Tool], Tool]) -> list[ToolScore]:
    """All three sets, each tool turned."""
    folders = (FOLDER, TENTH, ELEVENTH)
    return [
        one for folder in folders for one in scored(folder=folder, turned=lambda body: varied(body, turn))
    ]


def main() -> None:
    print(f"{'variant':<22}{'side':>8}{'reads that write':>18}{'right calls':>13}")
    for name, turn in {"as written": dict, **VARIANTS}.items():
        found = figures(variant_scores(turn))
        print(
            f"{name:<22}{found.right_side:>8.1%}{len(found.reads_that_write):>18}{found.right_calls:>13.1%}"
        )
        if "-v" in sys.argv:
            for one in found.reads_that_write:
                print(f"    {one.name}: {one.tool['description'][:80]!r}")


if __name__ == "__main__":
    main()
