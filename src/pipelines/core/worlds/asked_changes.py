"""Which sentences change a world, and what one asks for."""

from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.rules.language.grammar import grammar_of

#: Lines that are not here (Things, Restriction, Test, Span …) are those of the language of rules.
CHANGES = grammar_of("""
Change: Please? (add | create | insert | generate) count=<number>? chosen=Chosen Given* -> adds
  | Please? (remove | delete | drop) how=How? chosen=Chosen cascade=Cascade? -> removes
  | Please? (make | turn | mark | let) how=How? chosen=Chosen (become=Become | Given) Given* -> makes
  | Please? (set | change | update) Field how=How? chosen=Chosen (to | "=") value=Quoted -> sets
  | Please? (clear | empty | unset) Field how=How? chosen=Chosen -> clears
  | Please? (spread | distribute) Field? chosen=Chosen (over | across) over=Over -> spreads
Field: The? field=<field> (of | for)
Please: please | also | and | now | then
How: count=<number> of? -> count | share=<percent> of? -> share | half of? -> half | most of? -> most
  | a? third of? -> third | a? quarter of? -> quarter
Cascade: and (everything | all | whatever) that refers to (it | them) -> cascade
Chosen: things=Things owner=Owner? -> chosen
  | Any? type=<type> ids+=<id> (Or ids+=<id>)* -> named
  | Any? type=<type> without Any? other=<type> -> unused
Owner: By who=Things -> of_such | By (The? type=<type>)? id=<id> -> of_named
  | By The? non who=Such -> of_others
By: owned by | belonging to | belong to | of | for
Such: States -> is_so
Become: (be | become)? States -> is_so
  | have The? field=<field> of? test=Test -> has
  | Restriction
  | owner=Owner -> owned
Given: (with | have | and | "," | "," and) given+=Filling
Filling: The? field=<field> ("=" | of | is)? value=Quoted -> filling
Quoted: <text> -> said | <date> -> said | "-"? <number> -> said | <id> -> said | <state> -> said
  | <name> -> said | span=Span ago -> said
Over: Any? type=<type> -> over_type | (all | the | its)? (values | options) -> over_values
  | Any? field=<field> -> over_field | The? (last | past)? span=Span -> over_span
  | The? (last | past) unit=Unit -> over_span
""")


class Said(NamedTuple):
    """A value as it stands in the sentence."""

    text: str
    is_quoted: bool = False
    days_ago: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What a sentence asks for."""

    verb: str  # the label of its line
    kind: str
    test: Expr = m.TRUE  # of the records that are meant, or of those that are made
    ids: tuple[str, ...] = ()  # where they are named
    count: int | float | None = None
    share: float | None = None
    become: Expr | None = None
    given: tuple[tuple[str, Said], ...] = ()  # fields and what they get
    field: str | None = None  # that is cleared or spread
    over: tuple[str, str | float] | None = None  # its label, with the type, the field or the days
    cascade: bool = False


class NotRead(Exception):
    """Where reading stopped, and what could have stood there."""
