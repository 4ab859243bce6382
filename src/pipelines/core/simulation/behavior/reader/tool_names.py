"""Tools that a sentence calls by name: `cancel_order and refund_order`, `the cancel order tool`."""

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind

_TOOL = word_set("tool tools endpoint endpoints call calls function functions operation method")


def named_tools(phrases: Phrases, at: int) -> tuple[tuple[ToolWords, ...], int] | None:
    """The tools named here, and where their names end."""
    start = phrases.cursor.past(at, word_set("the both either"))
    found: list[ToolWords] = []
    end = start
    while (one := _named(phrases, start)) is not None:
        tool, end = one
        found.append(tool)
        after = phrases.cursor.after(end, ", and", ", or", "and", "or", "/", ",")
        if after is None:
            break
        start = phrases.cursor.past(after, word_set("the"))
    return (tuple(found), end) if found else None


def _named(phrases: Phrases, at: int) -> tuple[ToolWords, int] | None:
    tools = phrases.words.lexicon.tools
    token = phrases.token(at)
    tool = tools.get(phrases.cursor.low(at))
    # A tool with a plain word for a name (`add`) is meant only when the word is written as a name.
    is_name = token is not None and (token.kind is TokenKind.NAME or "_" in token.text or len(tools) == 1)
    if tool is not None and is_name:
        return tool, at + 1 + (phrases.cursor.low(at + 1) in _TOOL)
    for length in (4, 3, 2):
        spelled = tools.get("_".join(phrases.cursor.words(at, at + length)))
        if spelled is not None and phrases.cursor.low(at + length) in _TOOL:
            return spelled, at + length + 1
    return None
