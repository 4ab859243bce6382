"""The functions a plan may call, in one table: name, signature, help, example, and what they do.

The reference page is tested against this table; an arity is read off the signature.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipelines.core.simulation.library import dates, invention, lists, mappings, numbers, text, world
from pipelines.core.simulation.values import Value


@dataclass(frozen=True, kw_only=True, slots=True)
class Function:
    signature: str  # "round(number, digits=0)"
    help: str
    example: str  # an expression and its value: "round(2.675, 2) → 2.68"
    implementation: Callable[..., Value]

    @property
    def name(self) -> str:
        return self.signature.partition("(")[0]

    @property
    def _parameters(self) -> list[str]:
        inside = re.sub(r"'[^']*'", "''", self.signature.partition("(")[2].removesuffix(")"))
        return [part.strip() for part in inside.split(",") if part.strip()]

    @property
    def fewest(self) -> int:
        return sum("=" not in part and part != "…" for part in self._parameters)

    @property
    def takes_entity_type(self) -> bool:
        return self._parameters[:1] == ["type"]

    @property
    def takes_tool(self) -> bool:
        return self._parameters[:1] == ["tool"]

    @property
    def most(self) -> int:
        return 100 if "…" in self._parameters else len(self._parameters)


SECTIONS: Mapping[str, tuple[Function, ...]] = MappingProxyType(
    {
        title: tuple(
            Function(signature=signature, help=help, example=example, implementation=implementation)
            for signature, help, example, implementation in rows
        )
        for title, rows in (
            ("Numbers", numbers.ROWS),
            ("Text", text.ROWS),
            ("Lists", lists.LISTS),
            ("Mappings", mappings.MAPPINGS),
            ("Any value", mappings.ANY_VALUE),
            ("Dates and times", dates.ROWS),
            ("The ledger, ids and chance", (*world.ROWS, *invention.ROWS)),
        )
    }
)

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {function.name: function for section in SECTIONS.values() for function in section}
)


# What these give depends on the run, not on their arguments alone.
IMPURE = frozenset(function.name for function in SECTIONS["The ledger, ids and chance"])


def _first(found: Iterator[Value]) -> Value:
    return next(found, None)


# Given a generator, these look no further than they must.
SHORT_CIRCUIT: Mapping[str, Callable[[Iterator[Value]], Value]] = MappingProxyType(
    {"any": any, "all": all, "first": _first}
)
