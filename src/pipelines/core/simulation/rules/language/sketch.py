"""Finds the known parts of a sentence that cannot be read, and builds candidate sentences from them.

Nothing is decided here: most of what is made is not read, or is not what was meant.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise, permutations, product, zip_longest

from pipelines.core.english.words import joined, plural, singulars
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.nouns import ACTION_FORMS, DATE_ENDS, NounPhrase
from pipelines.core.simulation.rules.language.read import Reader
from pipelines.core.simulation.rules.language.scope import fields_called, same_name
from pipelines.core.simulation.rules.language.text import Token
from pipelines.core.simulation.rules.vocabulary import ToolNouns

MOST_TOKENS = 60  # of a sentence that is looked at
_MOST_TOOLS = 3
_MOST_NEAR = 3  # fields of which the sentence has a word
_STATUS = re.compile(r"\b[45]\d\d\b")
_NOUNS = ("tool", "type", "field", "state", "number", "text", "date", *ACTION_FORMS)
_ARTICLES, _UNITS, _CAN, _NEVER = (
    GRAMMAR.starts[line] or frozenset() for line in ("The", "Unit", "Can", "Never")
)
_BETWEEN = frozenset((",", "or", "and"))
_PLAIN = frozenset(("id", "number", "name", "of", "to", "is")) | DATE_ENDS  # they tell no field from another
#: After the first a condition says when a call goes through, after the others what stops one.
_ALLOWING = frozenset(("only", "must", "unless", "requires", "needs", "need", "require", "until"))
_FORBIDDING = frozenset(
    ("nobody", "refuses", "refused", "refuse", "rejects", "rejected", "reject", "fails", "fail", "declined")
)


class Sketch:
    """What can be made out in a sentence that is not read."""

    def __init__(self, sentence: str, reader: Reader) -> None:
        self.sentence, self.reader = sentence, reader
        self.found = reader.tokens(sentence)[:MOST_TOKENS]
        self.parser = reader.parser(self.found)

    def text(self, start: int, end: int) -> str:
        return self.sentence[self.found[start].start : self.found[end - 1].end]

    def longest(self, line: str) -> list[str]:
        """Parts of the sentence that can be read as a line of the grammar: one per start, longest first."""
        count = range(len(self.found))
        ends = {at: max((one.end for one in self.parser.matches(line, at)), default=at) for at in count}
        spans = sorted((at - end, at, end) for at, end in ends.items() if end - at > 1)
        return [self.text(at, end) for _, at, end in spans]

    @cached_property
    def nouns(self) -> dict[str, dict[str, NounPhrase]]:
        """What the sentence names, by the kind of noun: as it is written, the longest noun at each place."""
        named: dict[str, dict[str, NounPhrase]] = {kind: {} for kind in _NOUNS}
        at = 0
        while at < len(self.found):
            kinds = () if self.found[at].low in _ARTICLES else _NOUNS
            here = [(kind, one) for kind in kinds for one in self.reader.nouns.table[kind](self.found, at)]
            end = max((one.end for _, one in here), default=at + 1)
            for kind, one in here:
                if one.end == end:
                    text = self.text(at, end).strip("`")
                    own = one.node if isinstance(one.node, NounPhrase) else None
                    named[kind][text] = own or NounPhrase.of(str(getattr(one.node, "value", text)))
            at = end
        return named

    @cached_property
    def tools(self) -> list[ToolNouns]:
        """The tools that the sentence names, whose verb and object it has, or most words of their names."""
        tools = self.reader.vocabulary.tools.values()
        by_name = [tool for tool in tools if tool.name in self.nouns["tool"]]
        verbs = {one.text for kind in ACTION_FORMS for one in self.nouns[kind].values()}
        types = {joined(one.words) for one in self.nouns["type"].values()}
        same = [tool for tool in tools if tool.verb in verbs]
        fitting = [tool for tool in same if types & set(map(joined, tool.things))]
        shared = {tool.name: len(self.words & {*singulars(words_of(tool.name))}) for tool in tools}
        most = max(shared.values(), default=0)
        alike = [tool for tool in tools if shared[tool.name] == most > 0]
        making = [tool for tool in alike if tool.makes and len(self.ways) == 1]
        taking = [
            tool for tool in tools if any(same_name(*one) for one in product(tool.arguments, self.fields))
        ]
        some = next(
            (one for one in (fitting, same, alike, making, taking) if 0 < len(one) <= _MOST_TOOLS), []
        )
        changing = [tool for tool in some if not tool.reads]
        return by_name[:_MOST_TOOLS] or changing or some

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(singulars(words_of(self.sentence)))

    @cached_property
    def fields(self) -> list[NounPhrase]:
        """The fields that the sentence names, or of whose names it has a word."""
        names = {
            key for kind in self.reader.vocabulary.kinds.values() for keys in kind.fields for key in keys[-1:]
        }
        names |= {name for tool in self.reader.vocabulary.tools.values() for name in tool.arguments}
        types = {word for one in self.nouns["type"].values() for word in one.words}
        near = [name for name in sorted(names) if self.words & {*singulars(words_of(name))} - types - _PLAIN]
        return [*self.nouns["field"].values()] or [NounPhrase.of(name) for name in near[:_MOST_NEAR]]

    @cached_property
    def error(self) -> str:
        """What the sentence answers a refused call with: a status, or a code that is no other noun."""
        longest_error, other = self.longest("Error"), {*self.nouns["field"], *self.nouns["tool"]}
        measured = " ".join(self.longest("Test"))
        with_status = [
            text for text in longest_error if (one := _STATUS.search(text)) and one[0] not in measured
        ]
        codes = [text for text in longest_error if "_" in text and text.split()[-1] not in other]
        found = next(iter((*with_status, *codes)), "")
        is_led = found.lower().startswith(("with", "and", ",", ":"))
        return f" {'' if is_led else 'with '}{found}" if found else ""

    @cached_property
    def ways(self) -> tuple[str, ...]:
        """How a condition of the sentence may be meant: one way where the sentence says which."""
        lows = {token.low for token in self.found}
        is_denied = any(one.low in _CAN and two.low in _NEVER for one, two in pairwise(self.found))
        allows, forbids = bool(lows & _ALLOWING), is_denied or bool(lows & _FORBIDDING)
        return ("when", "unless") if allows == forbids else ("unless",) if allows else ("when",)

    # -- candidates -----------------------------------------------------------------------------------------

    def from_parts(self) -> Iterator[str]:
        """Clauses, conditions and things of the sentence, said of its tools."""
        named = " and ".join(tool.name for tool in self.tools) or "the tool"
        yield from (f"{named} {clause}" for clause in self.longest("Clause")[:3])
        if all(tool.lists is None for tool in self.tools):
            for part, way in product(self.longest("Condition")[:2], self.ways):
                yield f"{named} fails{self.error} {way} {part}"
            verbs = {"when": "rejects", "unless": "only works for"}
            for some, way in product(self.longest("Things")[:2], self.ways):
                yield f"{named} {verbs[way]} {some}"

    def from_nouns(self) -> Iterator[str]:
        """The plainest sentences of the language over the nouns of the sentence, each way of saying for each
        tool before the next."""
        return (text for row in zip_longest(*map(self._of_tool, self.tools)) for text in row if text)

    def _of_tool(self, tool: ToolNouns) -> Iterator[str]:
        values = [text for kind in ("text", "state", "date") for text in self.nouns[kind]]
        refs = [ref for one in self.fields for ref in self._refs(tool, one)]
        given = [ref for ref in refs if ref.startswith("the given")]
        if tool.lists is not None:
            own = [ref for ref in refs if ref not in given]
            yield from (f"{tool.name} {rest}" for rest in self._lists(tool.lists, own, values))
        fails = f"{tool.name} fails{self.error}"
        ids = {one.argument for one in tool.lookups}
        bounded = refs or [f"the given {name}" for name in tool.arguments if name not in ids]
        for ref, value in product(given if tool.makes else (), [*values, *self.numbers]):
            name, noun = ref.removeprefix("the given "), " ".join(singulars(words_of(tool.makes or "")))
            if name not in tool.required:
                yield f"when {ref} is missing, {tool.name} sets the {noun}'s {name} to {value}"
        yield from (f"{fails} unless {ref} is one of {row}" for ref, row in product(bounded, self.listed))
        rows = [f"is one of {row}" for row in self.listed]
        tests = [*rows, *self.longest("Test"), *(f"is {value}" for value in values)]
        for ref, test, way in product(refs, dict.fromkeys(tests), self.ways):
            yield f"{fails} {way} {ref} {test}"
        for kind, state, way in product(self.nouns["type"], self.nouns["state"], self.ways):
            yield f"{fails} {way} the {kind} is {state}"
        yield from (f"{fails} when {test.format(ref)}" for test, ref in product(self.bounds, bounded))
        yield from (f"{fails} when {ref} is missing" for ref in given)
        sides = ("is in the past", "is in the future") if not self.numbers else ()
        yield from (f"{fails} when {ref} {side}" for side, ref in product(sides, refs))
        for (one, two), sign in product(permutations(refs, 2), ("is more than", "is not")):
            yield f"{fails} when {one} {sign} {two}"
        if not tool.reads:
            changes = product((ref for ref in refs if ref not in given), [*values, *self.numbers, *given])
            yield from (f"{tool.name} sets {ref} to {value}" for ref, value in changes)
            dated = (ref for ref in refs if words_of(ref)[-1] in DATE_ENDS)
            yield from (f"{tool.name} sets {ref} to now" for ref in dated)

    @cached_property
    def numbers(self) -> list[str]:
        return [text for text in self.nouns["number"] if text not in self.error]

    @cached_property
    def listed(self) -> list[str]:
        """Values in a row: `cash, card or voucher`. Two of them count where the world knows both."""
        known = {*self.nouns["state"], *self.nouns["text"], *self.nouns["number"]}
        rows: list[list[Token]] = [[]]
        is_next = False
        for token in self.found:
            is_value = token.text in known or token.low not in GRAMMAR.words
            if token.low not in _BETWEEN:
                rows += [] if is_next and is_value else [[]]
                rows[-1] += [token] if is_value else []
            is_next = token.low in _BETWEEN
        long = [
            row for row in rows if len(row) > 2 or (len(row) > 1 and all(one.text in known for one in row))
        ]
        return [", ".join(one.text if one.text in known else f"'{one.text}'" for one in row) for row in long]

    @cached_property
    def bounds(self) -> list[str]:
        """What the numbers of the sentence may bound of a field `{0}`: its value, its length, or a time."""
        after = {one.text: two.low for one, two in pairwise(self.found) if one.text in self.numbers}
        is_length = "characters" in after.values()
        verb, length = ("has", " characters") if is_length else ("is", "")
        found = []
        if len(self.numbers) == 2:
            low, high = self.numbers
            found = [f"{{0}} {verb} less than {low}{length} or {{0}} {verb} more than {high}{length}"]
        for number, sign in product(self.numbers, self.signs):
            unit = after.get(number, "")
            ends = [f" {unit} from now", f" {unit} ago"] if unit in _UNITS else [length]
            found += [f"{{0}} {verb} {sign} than {number}{end}" for end in ends]
        return found

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """On which side of a number calls are refused: one where the sentence says which."""
        count = range(len(self.found))
        found = {
            one.node.label
            for line in ("Sign", "Size")
            for at in count
            for one in self.parser.matches(line, at)
        }
        below, above = bool(found & {"less", "at_least"}), bool(found & {"more", "at_most"})
        return ("more", "less") if below == above else ("less",) if below else ("more",)

    def _refs(self, tool: ToolNouns, named: NounPhrase) -> Iterator[str]:
        """What a field of the sentence may mean for a tool."""
        yield from (f"the given {name}" for name in tool.arguments if same_name(name, named))
        kinds = self.reader.vocabulary.kinds
        linked = kinds[tool.about].links.values() if tool.about and tool.about in kinds else ()
        near = (tool.about or "", tool.lists or "", *(one.kind for one in tool.lookups), *linked)
        for kind in (kinds[name] for name in dict.fromkeys(near) if name in kinds):
            noun, found = " ".join(singulars(words_of(kind.name))), fields_called(kind, named.words)
            yield from (f"the {noun}'s {keys[0]}" for keys in found if len(keys) == 1)

    def _lists(self, listed: str, refs: Sequence[str], values: Sequence[str]) -> Iterator[str]:
        *first, last = singulars(words_of(listed))
        some = " ".join((*first, plural(last)))
        yield from (f"returns at most {count} results" for count in self.numbers)
        for ref, way in product(refs, ("ascending", "descending")):
            yield f"returns results sorted by {ref.rpartition(' ')[2]} {way}"
        verbs = [{"when": "does not return", "unless": "returns only"}[way] for way in self.ways]
        for verb, ref, value in product(verbs, refs, values):
            yield f"{verb} {some} where {ref} is {value}"
        yield from (f"{verb} {state} {some}" for verb, state in product(verbs, self.nouns["state"]))
