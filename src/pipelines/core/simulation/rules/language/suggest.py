"""Suggests the nearest sentences of the language for one that is not read, with the world's own nouns.

A suggestion is shown and never enforced: the sentence with a spelling corrected, or one built from its parts
and nouns. It shows the words that it leaves out, so that nobody takes it for the same rule.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

from pipelines.core.english.words import singular, singulars
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.nouns import ACTION_FORMS
from pipelines.core.simulation.rules.language.read import Reader, Reading
from pipelines.core.simulation.rules.language.sketch import MOST_TOKENS, Sketch
from pipelines.core.simulation.rules.language.to_sentence import to_sentence
from pipelines.core.simulation.rules.rule import Require, Rule

MOST = 3
_MOST_READ = 120  # sentences that are made, a third of a millisecond each
_MOST_TRIED = 8  # of these, in the world
_CLOSE = 0.85  # one letter of seven changed, or one of five left out
#: Words of the grammar that say how much or when: a suggestion with none of a group leaves them out.
_MEASURES = [
    GRAMMAR.words_of(*lines) for lines in (("Sign", "Size"), ("Unit",), ("Times",), ("Order", "Way"))
]
#: Whether rules come out both ways on the records of the world that is at hand.
MakesADifference: TypeAlias = Callable[[Sequence[Rule]], bool]


class Suggestion(NamedTuple):
    sentence: str
    drops: str = ""  # words of the author's sentence that it leaves out

    def said(self) -> str:
        return f"{self.sentence}{self._leaves_out}"

    def quoted(self) -> str:
        return f"“{self.sentence}”{self._leaves_out}"

    @property
    def _leaves_out(self) -> str:
        return f" (leaves out “{self.drops}”)" if self.drops else ""


def suggestions(
    reading: Reading, reader: Reader, makes_a_difference: MakesADifference | None = None
) -> list[Suggestion]:
    """Up to three sentences, first those that make a difference in the world, then those that leave out the
    fewest words. Of a sentence with two readings, both."""
    if reading.readings:
        both = (_sentences_of(rules, reader) for rules in reading.readings[:MOST])
        return [Suggestion(one) for one in both if all(part.is_read for part in reader.read_text(one))]
    spelled = _correct_spelling(reading.sentence, reader)
    sketch = Sketch(spelled, reader)
    drafts = islice(chain([spelled], sketch.from_parts(), sketch.from_nouns()), _MOST_READ)
    found = {
        Suggestion(one, ", ".join(_unused_words(one, sketch))): rules
        for one, rules in _readable(drafts, reading, reader)
    }
    ranked = sorted(found, key=lambda one: len(one.drops.split()))
    if makes_a_difference is not None:
        live = {one: makes_a_difference(found[one]) for one in ranked[:_MOST_TRIED]}
        ranked.sort(key=lambda one: not live.get(one, False))
    return ranked[:MOST]


def _correct_spelling(sentence: str, reader: Reader) -> str:
    """With words that nothing here knows as the world spells them, where one letter is wrong."""
    found, nouns = reader.tokens(sentence)[:MOST_TOKENS], reader.nouns
    parts = [sentence]
    for at in range(len(found) - 1, -1, -1):
        token = found[at]
        is_word = token.kind in ("word", "name") and token.low not in GRAMMAR.words
        if is_word and len(token.low) > 4 and not nouns.knows(found, at):
            is_known = singular(token.low) in nouns.spellings
            near = [] if is_known else get_close_matches(token.low, nouns.spellings, n=1, cutoff=_CLOSE)
            rest = parts.pop()
            parts += [rest[token.end :], near[0], rest[: token.start]] if near else [rest]
    return "".join(reversed(parts))


def _sentences_of(rules: Iterable[Rule], reader: Reader) -> str:
    return ". ".join(dict.fromkeys(to_sentence(rule, reader.vocabulary) for rule in rules)) + "."


def _readable(
    made: Iterable[str], reading: Reading, reader: Reader
) -> Iterator[tuple[str, tuple[Rule, ...]]]:
    """Those that are read and speak of something, each once, as they are shown back, with their rules."""
    known: set[str] = set()
    for text in made:
        rules = found.rules if (found := reader.read(text)).is_read else ()
        sentence = _sentences_of(rules, reader) if rules and all(map(_names_something, rules)) else ""
        if sentence and sentence not in known and sentence != reading.sentence:
            known.add(sentence)
            if all(one.is_read for one in reader.read_text(sentence)):
                yield sentence, rules


def _names_something(rule: Rule) -> bool:
    """Not `5 is at most 200`."""
    return not isinstance(rule.form, Require) or bool(rule.form.need.refs() or rule.form.need.calls())


def _unused_words(said: str, sketch: Sketch) -> Iterator[str]:
    """Words of the sentence that a suggestion does not have, but for those that only hold one together."""
    verbs = {tool.verb for tool in sketch.tools}
    done = [text for kind in ACTION_FORMS for text, one in sketch.nouns[kind].items() if one.text in verbs]
    used = {*singulars(words_of(" ".join((said, *done))))}
    missing = [group for group in _MEASURES if not group & {*words_of(said)}]
    known = {word for named in sketch.nouns.values() for text in named for word in text.split()}
    for token in sketch.found:
        is_plain = token.low in GRAMMAR.words and token.text not in known
        if token.kind == "mark" or (is_plain and not any(token.low in group for group in missing)):
            continue
        words = {*singulars(words_of(token.text))}
        is_used = words <= used if token.kind == "name" else words & used or str(token.number) in used
        if not is_used:
            yield token.text
