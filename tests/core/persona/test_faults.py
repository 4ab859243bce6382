"""Single faults of a simulated user, and what is none. Whole conversations: test_recorded_conversations."""

import dataclasses

import pytest

from pipelines.core.persona.facts import facts_in
from pipelines.core.persona.faults import faults_in, is_stop_ignored
from pipelines.core.persona.talk import SERVICE, USER, Line, Talk, UserWords

PERSONA = "Known: the order number is 4521 and it cost $79.50\nOnly when asked: my e-mail is ada@example.com"
ASKS = "Please tell me the number of your order, thank you."
RULES = "cancel_order only succeeds when the order is pending; otherwise it returns already_shipped."


def talk(service: str, opening: str = "I want my money back for my blender.") -> Talk:
    lines = (Line(USER, opening), Line(SERVICE, service))
    return Talk(
        opening=opening,
        persona=PERSONA,
        facts=facts_in(PERSONA),
        lines=lines,
        today="2026-05-03T10:00:00Z",
        turns_left=5,
        behavior=RULES,
    )


def words(message: str, *, stop: bool = False, facts: tuple[str, ...] = ()) -> UserWords:
    return UserWords(message=message, stop=stop, reason="", facts_used=facts)


@pytest.mark.parametrize(
    ("service", "message", "kind"),
    [
        ("What is the order number?", "It is 4512.", "made_up"),
        ("What is the order number?", "It's ORD-9981, I think.", "made_up"),
        ("How much did you pay?", "About $97.50.", "made_up"),
        ("When did you buy it?", "On March 3rd.", "made_up"),
        ("Which e-mail?", "bob@example.com", "made_up"),
        ("What is the order number?", "4521, and my e-mail is ada@example.com.", "revealed_early"),
        ("What is the order number?", "How can I help you today?", "role_flipped"),
        ("What is the order number?", "I have refunded your order.", "role_flipped"),
        ("What is the order number?", "Agent: please hold.", "role_flipped"),
        (ASKS, ASKS, "role_flipped"),
        ("What is the order number?", "<thinking>They ask for it.</thinking> It is 4521.", "scratchpad"),
        ("What is the order number?", "Reasoning: I was asked.\n4521", "scratchpad"),
        ("What is the order number?", "My persona does not say.", "scratchpad"),
        ("It cannot be done.", "Because it returns already_shipped?", "behavior_leaked"),
        ("It cannot be done.", "It only succeeds when the order is pending, right?", "behavior_leaked"),
        ("What is the order number?", "", "empty"),
        ("What is the order number?", "…", "empty"),
        ("What is the order number?", "- ...\u200b", "empty"),
        ("What is the order number?", "I’ve refunded your order.", "role_flipped"),
        ("What is the order number?", "I can reserve a table for you at eight.", "role_flipped"),
        ("What is the order number?", "Thanks for your order!", "role_flipped"),
        ("What is the order number?", "We can have your blender ready by Friday.", "role_flipped"),
        ("What is the order number?", "The agent is asking for the number. 4521.", "scratchpad"),
        ("What is the order number?", "The customer would now say 4521.", "scratchpad"),
        ("We close on the 9th.", "On 10 May then?", "made_up"),
    ],
)
def test_a_fault_is_found(service: str, message: str, kind: str) -> None:
    assert [fault.kind.value for fault in faults_in(words(message), talk(service))] == [kind]


@pytest.mark.parametrize(
    ("service", "message"),
    [
        ("What is the order number?", "It's order #4521."),
        ("What is the order number?", "4521. I've waited 3 weeks and called twice!"),
        ("How much did you pay?", "79.50 dollars"),
        ("I see order 88121 for $12.", "No, not 88121; the one for $79.50."),
        ("What is your e-mail?", "ada@example.com"),
        ("Please provide the e-mail address on the account.", "Sure: ada@example.com"),
        ("Could you share a photo?", "I don't have one, sorry. Can you help me without it?"),
        ("It was delivered.", "I looked for it yesterday, May 2, and it wasn't there."),
        ("Please confirm.", "Yes, go ahead and cancel my order, thank you for your help."),
        ("Which day?", "👍"),
        ("Which day?", "?"),
        ("I can do Thursday.", "Thursday the 7th, so 7 May?"),
        ("We close on the 9th.", "On 9 May then?"),
        ("Where is it?", "I can send you a photo of my blender, and I will check the cable for you."),
        ("We sent you a letter.", "I have your letter here, and I can bring your parcel back."),
        ("It was delivered.", "The agent told me last week that it was lost."),
        ("I can offer a voucher.", "I'd rather have my money back. Let me know how long it takes."),
    ],
)
def test_what_a_person_would_say_is_no_fault(service: str, message: str) -> None:
    assert faults_in(words(message), talk(service)) == []


@pytest.mark.parametrize(
    ("service", "is_ignored"),
    [
        ("Shall I refund order 4521?", True),
        ("I can refund it. Please confirm.", True),
        ("What is your order number?", True),
        ("One moment, I'll process it now.", True),
        ("I have refunded order 4521. Is there anything else I can help you with?", False),
        ("Sorry, we cannot refund shipped orders.", False),
        ("Done! Feel free to write again.", False),
        ("There are two. Tell me which one to refund.", True),
        ("I need one more thing. Please provide the number of the order.", True),
        ("All done. Let me know if something changes.", False),
        ("It is booked. Please bring your passport.", False),
    ],
)
def test_a_stop_counts_only_when_nobody_waits(service: str, is_ignored: bool) -> None:
    assert is_stop_ignored(words("Yes, thanks.", stop=True), talk(service)) is is_ignored


def test_silence_ends_a_conversation_unless_something_is_asked() -> None:
    assert faults_in(words("", stop=True), talk("I have refunded it.")) == []
    (fault,) = faults_in(words("", stop=True), talk("Shall I refund it?"))
    assert fault.kind.value == "stopped_early"


def test_the_label_of_a_fact_is_no_word_of_a_person_unless_it_was_said() -> None:
    kinds = {fault.kind.value for fault in faults_in(words("It is 4521 (F1)."), talk("Which number?"))}
    assert "scratchpad" in kinds
    assert faults_in(words("Yes, it shows F1."), talk("Does it show error F1?")) == []


def test_an_address_is_asked_for_by_where() -> None:
    persona = "Only when asked: the address is 31 Harbour View, Ostend"
    asked = dataclasses.replace(talk("And where to?"), persona=persona, facts=facts_in(persona))
    assert faults_in(words("To 31 Harbour View, Ostend."), asked) == []
    early = dataclasses.replace(talk("What colour?"), persona=persona, facts=facts_in(persona))
    assert [each.kind.value for each in faults_in(words("To Harbour View, Ostend."), early)] == [
        "revealed_early"
    ]


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("Her account number is 7719 0042.", "7719-0042"),
        ("His card number is 4402 118 76.", "It's #4402-11876."),
        ("Her passport number is C 4F7 81920.", "c4f781920"),
        ("The plate is HB KO 882.", "HB-KO882"),
    ],
)
def test_an_id_in_groups_is_the_same_id_however_it_is_written(fact: str, said: str) -> None:
    known = dataclasses.replace(talk("Which number?"), persona=fact, facts=facts_in(f"Known: {fact}"))
    assert faults_in(words(said), known) == []
    kinds = [each.kind.value for each in faults_in(words("It is 7718-0042-9."), known)]
    assert kinds == ["made_up"]


def test_a_phone_number_is_asked_for_by_who_wants_to_call() -> None:
    persona = "Only when asked: her phone number is 555-0148"
    asked = dataclasses.replace(
        talk("What number can the crew call?"), persona=persona, facts=facts_in(persona)
    )
    assert faults_in(words("555 0148."), asked) == []
    other = dataclasses.replace(talk("What is the order number?"), persona=persona, facts=facts_in(persona))
    assert "revealed_early" in {each.kind.value for each in faults_in(words("Call me: 555-0148."), other)}


def test_the_end_of_a_month_is_said_of_its_last_days_alone() -> None:
    persona = "Known: the move is on 28 August"
    said = dataclasses.replace(talk("When?"), persona=persona, facts=facts_in(persona))
    assert faults_in(words("End of August."), said) == []
    kinds = [each.kind.value for each in faults_in(words("At the beginning of August."), said)]
    assert kinds == ["made_up"]


def test_facts_that_were_not_given_are_named() -> None:
    (fault,) = faults_in(words("Hm.", facts=("F1", "F9")), talk("Yes?"))
    assert (fault.kind.value, "F9" in fault.message) == ("unknown_fact", True)
