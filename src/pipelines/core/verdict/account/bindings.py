"""The values of a segment, each bound to the cells that hold it and are called as the segment calls it."""

from decimal import Decimal
from functools import cached_property
from itertools import combinations

from pipelines.core.english.dates import Dated
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import tokens as name_tokens
from pipelines.core.english.words import word_set
from pipelines.core.verdict.account.grounds import Grounds, Text, stem_of, words_in
from pipelines.core.verdict.account.lexicon import (
    APPROXIMATE,
    COSTS,
    DIFFERENCE,
    FROM,
    FROM_FIELDS,
    FUNCTION,
    MONEY,
    PAST,
    TOTAL,
    UNTIL,
    UNTIL_FIELDS,
)
from pipelines.core.verdict.account.segments import Segment, Token
from pipelines.core.verdict.cells import Cell, Scope, When
from pipelines.core.verdict.records import bare

MOST_ADDED_UP = 40  # numbers of one field
MOST_INFLECTED = 3  # words of a state that may be said in another form
WORDS_BEHIND = 3  # a value, that may be its name


_RETURNS = word_set("get gets got receive receives give given pay paid returned return")
_VERBS = word_set("is are was were has have had will would can could")
_SPANS = word_set("day days week weeks month months hour hours minute minutes year years night nights")
_APART = word_set(
    "ago from off away later earlier longer ahead before beforehand after extra more in another"
)
_AMOUNTS = frozenset(map(stem, ("amount", "total", "sum", "value")))
_IN_THE_RED = word_set("minus negative red overdrawn arrears")
_BELOW = word_set("minus negative red overdrawn owe owes owed debt below short arrears due")


class Bindings:
    def __init__(self, grounds: Grounds, scope: Scope, segment: Segment, *, is_denied: bool) -> None:
        self._grounds = grounds
        self._scope = scope
        self._segment = segment
        self._tokens = segment.tokens
        self._is_denied = is_denied
        self.is_past = any(word in PAST for word in segment.words)
        self.cells: dict[int, list[Cell]] = {}  # by the place of the token
        self.strange: list[Token] = []  # numbers, days and times that another value of the record contradicts

    def bind(self) -> None:
        words = [word for token in self._tokens for word in (*words_in(token.text), _plain(token))]
        for text in self._grounds.texts_from(self._scope, words):
            if text.is_name or (self._is_sayable(text.cell) and self._is_spoken_of(text.cell)):
                self._bind_text(text)
        self._bind_parts_of_names()
        for at, token in enumerate(self._tokens):
            if token.mention is not None and not self._bind_mention(at, token):
                self.strange.append(token)

    def _is_sayable(self, cell: Cell) -> bool:
        """What was tried is said where something is denied, and what is over where it is told as past."""
        if cell.when is When.TRIED:
            return self._is_denied
        return cell.when is not When.WAS or self.is_past

    def _is_spoken_of(self, cell: Cell) -> bool:
        """A state is of what the segment names; of what belongs to it where its kind or field is said."""
        if self._scope.is_own(cell) or not cell.record:
            return True
        said = {other for word in self._segment.words for other in related(stem_of(word))}
        return not self._grounds.labels(cell).isdisjoint(said)

    # Texts

    def _bind_text(self, text: Text) -> None:
        size = len(text.words)
        for at, token in enumerate(self._tokens):
            if token.is_value and words_in(token.text) == text.words:
                self.cells.setdefault(at, []).append(text.cell)
            here = self._tokens[at : at + size]
            if len(here) == size and all(one.is_word for one in here) and self._is_text(here, text):
                for place in range(at, at + size):
                    self.cells.setdefault(place, []).append(text.cell)

    def _is_text(self, here: tuple[Token, ...], text: Text) -> bool:
        """A name as it is spelled; a state also in another form, but not where something is denied."""
        said = tuple(_plain(token) for token in here)
        if said in (text.words, ("".join(text.words),)):
            return text.is_name or not self._is_denied
        if text.is_name or self._is_denied or len(said) > MOST_INFLECTED:
            return False
        return tuple(map(stem, said)) == tuple(map(stem, text.words))

    def _bind_parts_of_names(self) -> None:
        """`Frost`, of Dr Amelia Frost."""
        names = self._grounds.parts_of_names(self._scope)
        for at, token in enumerate(self._tokens):
            if at not in self.cells and token.is_word and token.is_capital and _plain(token) in names:
                self.cells[at] = names[_plain(token)]

    # Numbers, days and times

    def _bind_mention(self, at: int, token: Token) -> bool:
        near = self._near(at)
        held = [
            cell
            for cell in self._scope.cells
            if self._is_sayable(cell)
            and (token.is_held_by(cell) or _is_about(cell, token, near))
            and self._is_called_so(cell, at)
        ]
        is_id = bare(token.text) in self._grounds.ids(self._scope, is_past=self.is_past)
        if held or is_id:
            self.cells[at] = held
        if held or is_id or self._is_worked_out(token, near):
            return True
        if self._counts_things(at) or self._is_span(at):
            return True
        holding = [cell for cell in self._scope.cells if token.is_held_by(cell)]
        is_only_tried = any(cell.when is When.TRIED for cell in holding) and not self._is_denied
        is_below = any(map(_is_negative, holding)) and not self._is_told_negative(token, near)
        return not (is_only_tried or is_below or self._is_otherwise(token, near))

    def _before(self, at: int) -> list[str]:
        """The words before a value up to the value before, without what that is measured in."""
        before: list[str] = []
        for token in reversed(self._tokens[:at]):
            if token.mention is not None:
                before = (
                    before[:-1] if before and before[-1] == getattr(token.mention, "unit", "") else before
                )
                break
            before.append(token.text)
        return before

    def _near(self, at: int) -> list[str]:
        """The words before a value, and those right behind it."""
        after: list[str] = []
        for token in self._tokens[at + 1 : at + 1 + WORDS_BEHIND]:
            if token.mention is not None or token.text in _VERBS:
                break
            after.append(token.text)
        return [*self._before(at), *after]

    def _is_called_so(self, cell: Cell, at: int) -> bool:
        near, token = self._near(at), self._tokens[at]
        own = self._grounds.labels(cell)
        if not cell.words.isdisjoint(COSTS):  # what a thing costs goes by many names
            own |= COSTS
        if not cell.words.isdisjoint(_AMOUNTS):  # an amount is of what was done
            own |= self._grounds.done_words
        stems = {stem_of(word) for word in near}
        if isinstance(token.mention, Quantity):
            if "back" in near and not _RETURNS.isdisjoint(near):
                stems.add(stem("refund"))  # `he gets £235 back`
            is_below = self._is_told_negative(token, near)
            if _is_negative(cell) and not is_below:
                return False
            is_red = not _IN_THE_RED.isdisjoint(near) or self._has_minus(token)
            if is_red and stem("balance") in cell.words and not _is_negative(cell):
                return False
            is_other_money = any(related(word).isdisjoint(own) for word in stems & MONEY)
            return not is_other_money and _is_one_of(stems & self._number_fields, own)
        if isinstance(token.mention, Dated):
            field = frozenset(map(stem, name_tokens(cell.field)))
            before = self._before(at)
            is_no_end = not UNTIL.isdisjoint(before) and field.isdisjoint(UNTIL_FIELDS)
            is_no_start = not FROM.isdisjoint(before) and field.isdisjoint(FROM_FIELDS)
            if is_no_end or (is_no_start and cell.when is not When.WAS):
                return False
            return _is_one_of(stems & self._day_fields, own)
        return True

    def _is_span(self, at: int) -> bool:
        """`four days from now`: how far two moments lie apart is told by no field."""
        behind = [token.text for token in self._tokens[at + 1 : at + 2 + WORDS_BEHIND]]
        return bool(behind) and behind[0] in _SPANS and not _APART.isdisjoint((*behind, *self._before(at)))

    def _counts_things(self, at: int) -> bool:
        """`two dogs`: how many there are of a kind is told by no field."""
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        mention = self._tokens[at].mention
        is_count = isinstance(mention, Quantity) and mention.currency is None
        return is_count and after is not None and stem_of(after.text) in self._grounds.kind_words

    def _is_told_negative(self, token: Token, near: list[str]) -> bool:
        return self._has_minus(token) or not _BELOW.isdisjoint(near)

    def _has_minus(self, token: Token) -> bool:
        return self._segment.sentence[: token.start].endswith(("-", "−", "–"))

    def _is_otherwise(self, token: Token, near: list[str]) -> bool:
        """Whether a field that is called as this value is holds another."""
        stems = {stem_of(word) for word in near if word not in FUNCTION}
        return any(
            not cell.words.isdisjoint(stems) and cell.when is not When.TRIED and token.is_like(cell)
            for cell in self._scope.cells
        )

    @cached_property
    def _number_fields(self) -> frozenset[str]:
        return frozenset(word for cell in self._scope.cells if cell.numbers for word in cell.words)

    @cached_property
    def _day_fields(self) -> frozenset[str]:
        return frozenset(word for cell in self._scope.cells if cell.days for word in cell.words)

    # Numbers that are worked out

    def _is_worked_out(self, token: Token, near: list[str]) -> bool:
        """The difference, or the sum, of what one field holds in two records, in all, or before and after."""
        if not isinstance(token.mention, Quantity):
            return False
        wanted = {abs(value).normalize() for value in token.mention.values}
        is_difference, is_total = not DIFFERENCE.isdisjoint(near), not TOTAL.isdisjoint(near)
        for numbers in self._columns if is_difference or is_total else ():
            pairs = [*combinations(numbers, 2)]
            results = {abs(a - b) for a, b in pairs} if is_difference else set()
            results |= {sum(numbers, Decimal()), *(a + b for a, b in pairs)} if is_total else set()
            if any(one.normalize() in wanted for one in results):
                return True
        return False

    @cached_property
    def _columns(self) -> list[list[Decimal]]:
        found: dict[str, dict[tuple[str, str], Decimal]] = {}
        for cell in self._grounds.cells.scope(frozenset()).cells:
            for number in cell.numbers if cell.when is not When.TRIED else ():
                found.setdefault(cell.field, {})[cell.record, str(number)] = number
        return [[*column.values()][:MOST_ADDED_UP] for column in found.values()]


def _is_negative(cell: Cell) -> bool:
    return isinstance(cell.value, (int, float)) and cell.value < 0


def _is_one_of(called: set[str], own: frozenset[str]) -> bool:
    """Whether a field goes by one of the names of fields that stand there, where any does."""
    return not called or any(not related(word).isdisjoint(own) for word in called)


def _is_about(cell: Cell, token: Token, near: list[str]) -> bool:
    """`a little over ten dozen`: what the cell holds is a tenth away at most, and on that side."""
    if not isinstance(token.mention, Quantity) or APPROXIMATE.isdisjoint(near):
        return False
    pairs = [(held, abs(value)) for held in cell.numbers for value in token.mention.values]
    return any(
        abs(held - said) * 10 <= said
        and (held > said or "over" not in near)
        and (held < said or "under" not in near)
        for held, said in pairs
    )


def _plain(token: Token) -> str:
    return bare(token.text.removesuffix("'s"))
