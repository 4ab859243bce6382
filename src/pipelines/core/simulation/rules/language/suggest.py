"""The nearest sentences of the language to one that is not read, filled with the world's own nouns.

A suggestion is shown and never enforced. It is made of the parts of the sentence that can be read, of the
nouns that it names, or of what is left when some of its words are dropped. What it leaves out is said beside
it, so that nobody takes a weaker rule for the one he wrote.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import chain, islice, product
from typing import NamedTuple

from pipelines.core.english.words import joined, plural, singulars
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.nouns import DEEDS, Named
from pipelines.core.simulation.rules.language.read import Reader, Reading
from pipelines.core.simulation.rules.language.say import say
from pipelines.core.simulation.rules.language.scope import fields_called, same_name
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import ToolNouns

MOST = 3
_MOST_TOKENS = 60  # of a sentence that is looked at
_MOST_DROPPED = 6  # words
_MOST_TRIED = 60  # sentences of each way to make them, half a millisecond each
_MOST_TOOLS = 3
_STATUS = re.compile(r"\b[45]\d\d\b")
_NOUNS = ("tool", "type", "field", "state", "number", "text", "date", *DEEDS)
_ARTICLES = GRAMMAR.starts["The"] or frozenset()
#: After these the condition says when a call goes through; else it is tried first as what stops one.
_ALLOWING = frozenset(("only", "must", "unless", "requires", "needs", "need", "require", "until"))


class Suggestion(NamedTuple):
    sentence: str
    drops: str = ""  # words of the author's sentence that it leaves out

    def said(self) -> str:
        return f"{self.sentence} (leaves out “{self.drops}”)" if self.drops else self.sentence


def suggestions(reading: Reading, reader: Reader) -> list[Suggestion]:
    """Up to three sentences, nearest first; of a sentence with two readings, both."""
    if reading.readings:
        both = (_said(rules, reader) for rules in reading.readings[:MOST])
        return [Suggestion(one) for one in both if all(part.is_read for part in reader.read_text(one))]
    sketch = _Sketch(reading.sentence, reader)
    made = islice(chain(sketch.from_parts(), sketch.from_nouns()), _MOST_TRIED)
    found = sorted(sketch.kept((text, "") for text in made), key=lambda one: len(one.drops.split()))
    if len(found) < MOST:
        found += sketch.kept(islice(sketch.shorter(), _MOST_TRIED), {one.sentence for one in found})
    return found[:MOST]


def _said(rules: Iterable[Rule], reader: Reader) -> str:
    return ". ".join(dict.fromkeys(say(rule, reader.vocabulary) for rule in rules)) + "."


class _Sketch:
    """What can be made out in a sentence that is not read."""

    def __init__(self, sentence: str, reader: Reader) -> None:
        self.sentence, self.reader = sentence, reader
        self.found = reader.tokens(sentence)[:_MOST_TOKENS]
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
    def nouns(self) -> dict[str, dict[str, Named]]:
        """What the sentence names, by the kind of noun: as it is written, the longest noun at each place."""
        named: dict[str, dict[str, Named]] = {kind: {} for kind in _NOUNS}
        at = 0
        while at < len(self.found):
            kinds = () if self.found[at].low in _ARTICLES else _NOUNS
            here = [(kind, one) for kind in kinds for one in self.reader.nouns.table[kind](self.found, at)]
            end = max((one.end for _, one in here), default=at + 1)
            for kind, one in here:
                if one.end == end:
                    text = self.text(at, end).strip("`")
                    own = one.node if isinstance(one.node, Named) else None
                    named[kind][text] = own or Named.of(str(getattr(one.node, "value", text)))
            at = end
        return named

    @cached_property
    def tools(self) -> list[ToolNouns]:
        """The tools that the sentence names, whose verb and object it has, or whose arguments."""
        tools = self.reader.vocabulary.tools.values()
        by_name = [tool for tool in tools if tool.name in self.nouns["tool"]]
        verbs = {one.text for kind in DEEDS for one in self.nouns[kind].values()}
        types = {joined(one.words) for one in self.nouns["type"].values()}
        fields = self.nouns["field"].values()
        same = [tool for tool in tools if tool.verb in verbs]
        fitting = [tool for tool in same if types & set(map(joined, tool.things))]
        taking = [tool for tool in tools if any(same_name(*one) for one in product(tool.arguments, fields))]
        meant = fitting or same or taking
        return by_name[:_MOST_TOOLS] or (meant if len(meant) <= _MOST_TOOLS else [])

    @cached_property
    def error(self) -> str:
        """What the sentence answers a refused call with: a status, or a code that is no other noun."""
        said, other = self.longest("Error"), {*self.nouns["field"], *self.nouns["tool"]}
        measured = " ".join(self.longest("Test"))
        with_status = [text for text in said if (one := _STATUS.search(text)) and one[0] not in measured]
        codes = [text for text in said if "_" in text and text.split()[-1] not in other]
        found = next(iter((*with_status, *codes)), "")
        is_led = found.lower().startswith(("with", "and", ",", ":"))
        return f" {'' if is_led else 'with '}{found}" if found else ""

    @cached_property
    def words(self) -> tuple[str, str]:
        is_allowing = bool({token.low for token in self.found} & _ALLOWING)
        return ("unless", "when") if is_allowing else ("when", "unless")

    # -- candidates -----------------------------------------------------------------------------------------

    def from_parts(self) -> Iterator[str]:
        """Clauses, conditions and things of the sentence, said of its tools."""
        named = " and ".join(tool.name for tool in self.tools) or "the tool"
        yield from (f"{named} {clause}" for clause in self.longest("Clause")[:3])
        for part, word in product(self.longest("Condition")[:2], self.words):
            yield f"{named} fails{self.error} {word} {part}"
        verbs = {"when": "rejects", "unless": "only works for"}
        for some, word in product(self.longest("Things")[:2], self.words):
            yield f"{named} {verbs[word]} {some}"

    def from_nouns(self) -> Iterator[str]:
        """The plainest sentences of the language over the nouns of the sentence."""
        values = [text for kind in ("text", "state", "date") for text in self.nouns[kind]]
        some = [f"is one of {', '.join(values)}"] if len(values) > 1 else []
        values += [text for text in self.nouns["number"] if text not in self.error]
        tests = [*dict.fromkeys((*self.longest("Test"), *some, *(f"is {value}" for value in values)))]
        for tool in self.tools:
            refs = [ref for one in self.nouns["field"].values() for ref in self._refs(tool, one)]
            for ref, test, word in product(refs, tests, self.words):
                yield f"{tool.name} fails{self.error} {word} {ref} {test}"
            for kind, state, word in product(self.nouns["type"], self.nouns["state"], self.words):
                yield f"{tool.name} fails{self.error} {word} the {kind} is {state}"
            yield from (f"{tool.name} {rest}" for rest in self._lists(tool, refs, tests))
            changes = [] if tool.reads else product(refs, values)
            yield from (f"{tool.name} sets {ref} to {value}" for ref, value in changes)
            given = (ref for ref in refs if ref.startswith("the given"))
            yield from (f"{tool.name} fails{self.error} when {ref} is missing" for ref in given)

    def _refs(self, tool: ToolNouns, named: Named) -> Iterator[str]:
        """What a field of the sentence may mean for a tool."""
        yield from (f"the given {name}" for name in tool.arguments if same_name(name, named))
        kinds = self.reader.vocabulary.kinds
        linked = kinds[tool.about].links.values() if tool.about and tool.about in kinds else ()
        near = (tool.about or "", tool.lists or "", *(one.kind for one in tool.lookups), *linked)
        for kind in (kinds[name] for name in dict.fromkeys(near) if name in kinds):
            noun, found = " ".join(singulars(words_of(kind.name))), fields_called(kind, named.words)
            yield from (f"the {noun}'s {keys[0]}" for keys in found if len(keys) == 1)

    def _lists(self, tool: ToolNouns, refs: list[str], tests: list[str]) -> Iterator[str]:
        *first, last = singulars(words_of(tool.lists or ""))
        some = " ".join((*first, plural(last)))
        yield from (f"returns only {some} where {ref} {test}" for ref, test in product(refs, tests))
        yield from (f"returns only {state} {some}" for state in self.nouns["state"])
        yield from (f"returns results sorted by {ref.rpartition(' ')[2]}" for ref in refs)
        yield from (f"returns at most {count} results" for count in self.nouns["number"])

    def shorter(self) -> Iterator[tuple[str, str]]:
        """The sentence without some words that stand together, as few as will do, and these words."""
        for length in range(1, min(_MOST_DROPPED, len(self.found) - 2) + 1):
            for at in range(len(self.found) - length + 1):
                start, end = self.found[at].start, self.found[at + length - 1].end
                yield f"{self.sentence[:start]} {self.sentence[end:]}".strip(" ,;"), self.sentence[start:end]

    # -- which are kept -------------------------------------------------------------------------------------

    def kept(self, made: Iterable[tuple[str, str]], known: Collection[str] = ()) -> list[Suggestion]:
        """Those that are read and new, each once, as they are shown back."""
        kept: dict[str, Suggestion] = {}
        own = [token.text.lower() for token in self.found]
        for text, dropped in made:
            reading = self.reader.read(text)
            said = _said(reading.rules, self.reader) if reading.is_read and reading.rules else ""
            is_new = (
                said and said not in known and [one.text.lower() for one in self.reader.tokens(said)] != own
            )
            if is_new and all(one.is_read for one in self.reader.read_text(said)):
                kept.setdefault(said, Suggestion(said, dropped or ", ".join(self._unused(said))))
        return [*kept.values()]

    def _unused(self, said: str) -> Iterator[str]:
        """Words of the sentence that a suggestion does not have, but for those of the grammar alone."""
        verbs = {tool.verb for tool in self.tools}
        done = [text for kind in DEEDS for text, one in self.nouns[kind].items() if one.text in verbs]
        used = {*singulars(words_of(" ".join((said, *done))))}
        known = {word for named in self.nouns.values() for text in named for word in text.split()}
        for token in self.found:
            words = {*singulars(words_of(token.text)), str(token.number)}
            if (
                token.kind != "mark"
                and (token.low not in GRAMMAR.words or token.text in known)
                and not words & used
            ):
                yield token.text
