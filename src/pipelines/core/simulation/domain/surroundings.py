"""What tools of a set tell about each other's names: a prefix they share, and which words are nouns here."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pipelines.core.english.words import singular, tokens
from pipelines.core.simulation.domain.arguments import ToolLike, arguments_of
from pipelines.core.simulation.domain.tool_names import Surroundings
from pipelines.core.simulation.domain.verbs import OP_OF_VERB

_FEWEST = 4  # tools that must share a prefix; among fewer it may be what they are about
_SHARE = 0.8


def surroundings_of(tools: Sequence[ToolLike]) -> Surroundings:
    return Surroundings(_shared_prefix(tools), frozenset(word for tool in tools for word in _things(tool)))


def _shared_prefix(tools: Sequence[ToolLike]) -> str | None:
    """`wms` of wms_item, wms_create_po, …"""
    firsts = Counter(tokens(tool.name)[0] for tool in tools)
    word, count = firsts.most_common(1)[0] if firsts else ("", 0)
    is_shared = count >= _FEWEST and count >= _SHARE * len(tools)
    return word if is_shared and word not in OP_OF_VERB else None


def _things(tool: ToolLike) -> Iterator[str]:
    """Words that follow another in a name, and those of ids: get_message, message_id."""
    for word in tokens(tool.name)[1:]:
        yield singular(word)
    for argument in arguments_of(tool):
        yield from map(singular, argument.id_noun or ())
