"""Whatever the names of types, fields, arguments and tools are, the same calls are answered the same up to
renaming, and no reply shows what a plan calls its records, or a rule's words.
"""

import keyword
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipelines.core.english.words import plural, singular, singulars, tokens
from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.syntax.functions import FUNCTIONS
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads
from pipelines.core.tools.tools_schema import parse_tools_schema

NOW = Moment(seed="s", call_number=1, now="2026-01-15T10:30:00Z")
GADGET, COLOUR = "gadget", "colour"
#: What plans and the code made of them call things, and what only rules say.
INTERNAL = re.compile(
    r"_record|record_|_list\b|\bthe_|\bother_|\bgone_id\b|\bv\d+\b|\bfails when\b|\bargs\b|_\b"
)


def world(kind: str, field: str) -> JsonObject:
    return {
        kind: {
            "g-1": {field: "red", "status": "open", "member_id": "m-1", "tags": ["a"]},
            "g-2": {field: "blue", "status": "closed", "member_id": "m-2", "tags": []},
        },
        "member": {"m-1": {"level": "gold", "name": "Ada"}, "m-2": {"level": "basic", "name": "Bo"}},
    }


def tool(name: str, says: str, *needed: str, optional: tuple[str, ...] = ()) -> JsonObject:
    properties: JsonObject = {each: {"type": "string"} for each in (*needed, *optional)}
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*needed]}
    return {"name": name, "description": says, "inputSchema": schema}


def tools(noun: str, called: str, field: str) -> list[Json]:
    """`called`: the noun as a tool's name can have it."""
    own, many = f"{noun}_id", plural(called)
    return [
        tool(f"get_{called}", f"Get a {noun} by its id.", own),
        tool(f"list_{many}", f"List {plural(noun)}.", optional=(field,)),
        tool(f"update_{called}", f"Update a {noun}.", own, field),
        tool(f"close_{called}", f"Close a {noun}.", own),
        tool(f"delete_{called}", f"Delete a {noun}.", own),
        tool(f"create_{called}", f"Create a {noun}.", field, "member_id"),
        tool(f"assign_{called}", f"Assign a {noun} to a member.", own, "member_id"),
    ]


def calls(noun: str, called: str, field: str) -> list[tuple[str, JsonObject]]:
    own, many = f"{noun}_id", plural(called)
    return [
        (f"get_{called}", {own: "g-1"}),
        (f"get_{called}", {own: "g-9"}),
        (f"list_{many}", {}),
        (f"list_{many}", {field: "red"}),
        (f"update_{called}", {own: "g-1", field: "green"}),
        (f"update_{called}", {own: "g-9", field: "green"}),
        (f"close_{called}", {own: "g-1"}),
        (f"close_{called}", {own: "g-2"}),
        (f"close_{called}", {own: "g-9"}),
        (f"delete_{called}", {own: "g-1"}),
        (f"delete_{called}", {own: "g-9"}),
        (f"create_{called}", {field: "pink", "member_id": "m-1"}),
        (f"create_{called}", {field: "pink", "member_id": "m-9"}),
        (f"assign_{called}", {own: "g-1", "member_id": "m-2"}),
        (f"assign_{called}", {own: "g-1", "member_id": "m-9"}),
        (f"assign_{called}", {own: "g-9", "member_id": "m-1"}),
    ]


def built(
    noun: str = GADGET,
    called: str = GADGET,
    field: str = COLOUR,
    *,
    kind: str | None = None,
    behavior: str | None = None,
    rules: tuple[JsonObject, ...] = (),
) -> PlannedSimulator:
    """`kind`: the type, where it is not called like the noun of the tools."""
    return build_simulator(
        parse_tools_schema(tools(noun, called, field)),
        world=World.from_initial_state(world(kind or noun, field)),
        behavior=behavior,
        rules=active_rules(rules, ()),
    )


def answers(
    simulator: PlannedSimulator, noun: str = GADGET, called: str = GADGET, field: str = COLOUR
) -> list[JsonObject]:
    found: list[JsonObject] = []
    for name, arguments in calls(noun, called, field):
        reply = simulator.answer(name, arguments, Ledger(simulator.world), NOW)
        changes = [update.as_json() for update in reply.updates]
        for change in changes:
            change["of"] = change.pop("entity_type")  # no word of ours is taken for a name of theirs
        found.append({"status": reply.status, "response": reply.response, "changes": changes})
    return found


def renamed(value: Json, names: dict[str, str]) -> Json:
    """Every name as a key, as a value, and as a word within a text."""
    if isinstance(value, dict):
        return {str(renamed(key, names)): renamed(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    if isinstance(value, str):
        for name in sorted(names, key=len, reverse=True):
            value = re.sub(
                rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", names[name], value, flags=re.IGNORECASE
            )
    return value


def shows_nothing_internal(found: list[JsonObject], names: dict[str, str]) -> bool:
    replies = [dumps(renamed(one["response"], names)).decode() for one in found]
    return not any(INTERNAL.search(reply) for reply in replies)


PLAIN = answers(built())
RULES = """
update_{called} fails when the {noun}'s {field} is red.
close_{called} fails unless the {noun}'s {field} is blue.
create_{called} fails when the member's level is basic. A member can have at most 1 {many}.
assign_{called} sets the {noun}'s {field} to white. list_{called_many} excludes {many} whose {field} is blue.
get_{called} fails with missing_thing when the {noun} does not exist.
delete_{called} fails when the {noun} is closed.
"""


def behavior_for(noun: str = GADGET, called: str = GADGET, field: str = COLOUR) -> str:
    return RULES.format(
        noun=noun, called=called, field=field, many=plural(noun), called_many=plural(called)
    ).replace("\n", " ")


RULED = answers(built(behavior=behavior_for()))


def test_the_calls_meet_every_kind_of_reply() -> None:
    """So that what is compared below is no row of empty lists."""
    assert {one["status"] for one in PLAIN} == {200, 404, 409}
    assert sum(1 for one in PLAIN if one["changes"]) == 5
    assert RULED != PLAIN
    messages = [one["response"]["error"]["message"] for one in RULED if one["status"] == 409]  # type: ignore[index,call-overload]
    assert messages == [
        "the colour of gadget g-1 is red",
        "the colour of gadget g-1 is red",
        "The gadget is already closed",
        "there are already 1 gadgets with member_id m-1",
    ]


#: Words of Python, of plans, of rules and of the code that is made of plans.
WORDS = [
    *(
        "class",
        "import",
        "from",
        "lambda",
        "none",
        "true",
        "while",
        "global",
        "entity",
        "find",
        "each",
        "reply",
    ),
    *("sum", "first", "one", "item", "text", "type", "other", "self", "record", "noun", "value", "open_plan"),
    *("today", "now", "number", "moment", "gone"),
]
NOUNS = [word for word in WORDS if "_" not in word] + ["größe", "заказ", "x" * 100]


@pytest.mark.parametrize("noun", NOUNS)
def test_a_type_of_any_name_is_read_like_any_other(noun: str) -> None:
    called = noun if noun.isascii() else GADGET
    found = answers(built(noun, called), noun, called)
    names = {noun: GADGET, plural(noun): plural(GADGET)}
    assert renamed(found, names) == renamed(PLAIN, {})  # type: ignore[arg-type,comparison-overlap]
    assert shows_nothing_internal(found, names)


#: Of `now` and `today` a rule cannot name the record: they are moments in every rule, and it is said so.
RULED_NOUNS = [noun for noun in NOUNS if noun not in ("now", "today", "number")]


@pytest.mark.parametrize("noun", RULED_NOUNS)
def test_a_rule_on_a_type_of_any_name_holds(noun: str) -> None:
    called = noun if noun.isascii() else GADGET
    simulator = built(noun, called, behavior=behavior_for(noun, called))
    assert simulator.not_understood == ()
    found = answers(simulator, noun, called)
    names = {noun: GADGET, plural(noun): plural(GADGET)}
    assert renamed(found, names) == RULED
    assert shows_nothing_internal(found, names)


@pytest.mark.parametrize("noun", ["now", "today"])
def test_a_rule_that_cannot_name_a_record_says_so_and_fails_no_call(noun: str) -> None:
    said = f"update_{noun} fails when the {noun}'s colour is red."
    simulator = built(noun, noun, behavior=said)
    assert simulator.not_understood == (
        f"{said} (`{noun}` is a reserved word in rules, so they cannot name a record of that type)",
    )
    assert renamed(answers(simulator, noun, noun), {noun: GADGET, plural(noun): plural(GADGET)}) == PLAIN


#: One name of two words in every spelling.
SPELLINGS = ["gift card", "gift-card", "giftCard", "GiftCard", "gift.card", "gift/card", "gift_card"]


@pytest.mark.parametrize("noun", SPELLINGS)
def test_a_type_of_two_words_is_the_same_in_every_spelling(noun: str) -> None:
    plain = answers(built("gift_card", "gift_card"), "gift_card", "gift_card")
    found = answers(built(noun, "gift_card"), noun, "gift_card")
    assert renamed(found, {noun: "gift_card"}) == plain
    assert shows_nothing_internal(found, {})


FIELDS = [
    *WORDS,
    "in",
    "is",
    "3d_print",
    "größe",
    "заказ",
    "商品",
    "gift card",
    "gift-card",
    "it's",
    'a"b',
    "{x}",
]
FIELDS += ["a\\b", "a/b", "$x", "[x]", "x" * 100, "__init__", "gadget.colour"]


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_any_name_is_read_like_any_other(field: str) -> None:
    found = answers(built(field=field), field=field)
    assert renamed_keys(found, field) == PLAIN


def renamed_keys(value: Any, field: str) -> Any:
    if isinstance(value, dict):
        return {COLOUR if key == field else key: renamed_keys(one, field) for key, one in value.items()}
    return [renamed_keys(one, field) for one in value] if isinstance(value, list) else value


# -- whatever the names


def typed_rules(kind: str, field: str) -> tuple[JsonObject, ...]:
    record = f"record({kind!r})" if not kind.isidentifier() or keyword.iskeyword(kind) else kind
    value = f"{record}[{field!r}]"
    return (
        {"form": "require", "tools": ["update_gadget"], "expression": f"{value} != 'red'"},
        {"form": "require", "tools": ["close_gadget"], "expression": f"{value} == 'blue'"},
        {"form": "set", "tools": ["assign_gadget"], "target": value, "expression": "'white'"},
        {"form": "keep", "tools": ["list_gadgets"], "expression": f"each[{field!r}] != 'blue'"},
    )


PLAIN_TYPED = answers(built(rules=typed_rules(GADGET, COLOUR)))
#: Without `same_id`, `token` and the like: a field that is called so is an id, or a credential.
_TAKEN_WORDS = st.sampled_from(
    [word for word in (*FUNCTIONS, *keyword.kwlist) if not {"id", "uuid", "token"} & {*tokens(word)}]
)
#: Letters of which no English word is made, with what may stand between them.
_MADE_UP = st.text(alphabet="qxäßжش商ñQX7 -_.'\"{}[]()/\\$:%#@!,;", min_size=1, max_size=100).map(
    lambda text: f"q{text}"
)
NAMES = _TAKEN_WORDS | _MADE_UP


@settings(max_examples=60, deadline=None)
@example(kind="class", field="from")
@example(kind="sum", field="len")
@example(kind="q.q", field="q'\"q")
@given(kind=NAMES, field=NAMES)
def test_whatever_the_names_the_same_calls_are_answered_the_same(kind: str, field: str) -> None:
    simulator = built(field=field, kind=kind, rules=typed_rules(kind, field))
    found = answers(simulator, field=field)
    assert simulator.not_understood == ()
    assert loads(dumps(as_plain(found, kind, field))) == PLAIN_TYPED


#: A rule calls the record by its type, a plan by what its id is called.
_VALUE_TOLD = re.compile(r"the (.+) of (.+) (g-\d is \w+)", re.DOTALL)


def as_plain(value: Any, kind: str, field: str) -> Any:
    if isinstance(value, dict):
        return {
            COLOUR if key == field else key: GADGET if key == "of" else as_plain(one, kind, field)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [as_plain(one, kind, field) for one in value]
    told = _VALUE_TOLD.fullmatch(value) if isinstance(value, str) else None
    if told is None:
        return value
    assert (told[1], singulars(tokens(told[2]))) == (field, singulars(tokens(kind)))
    return f"the colour of gadget {told[3]}"


def test_the_nouns_have_a_plural_that_is_no_other_word() -> None:
    assert [noun for noun in NOUNS if singular(plural(noun)) != noun] == []
