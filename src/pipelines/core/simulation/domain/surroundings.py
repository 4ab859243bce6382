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


def _shared_prefix(tools: Sequence[ToolLike]) -> tuple[str, ...]:
    """`wms` of wms_item, wms_create_po, …; `api v 2` of api_v2_account_get, …"""
    names = [tokens(tool.name) for tool in tools]
    shared: tuple[str, ...] = ()
    while True:
        nexts = Counter(
            name[len(shared)]
            for name in names
            if name[: len(shared)] == shared and len(name) > len(shared) + 1
        )
        word, count = nexts.most_common(1)[0] if nexts else ("", 0)
        if count < _FEWEST or count < _SHARE * len(tools) or word in OP_OF_VERB:
            return shared
        shared = (*shared, word)


def _things(tool: ToolLike) -> Iterator[str]:
    """Words that follow another in a name, and those of ids: get_message, message_id."""
    for word in tokens(tool.name)[1:]:
        yield singular(word)
    for argument in arguments_of(tool):
        yield from map(singular, argument.id_noun or ())
