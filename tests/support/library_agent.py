"""A library's agent, and what a model might write for it: a world, rows that can be proved, a change."""

from typing import Any

Row = dict[str, Any]
NOON = "2026-05-01T12:00:00Z"
RULE = "renew_loan only succeeds when the loan's status is open."
SCHEMA = {
    "entities": [
        {
            "type": "loan",
            "id_field": "loan_id",
            "fields": [
                {"name": "loan_id", "type": "string"},
                {"name": "member_id", "type": "string"},
                {"name": "title", "type": "string"},
                {"name": "status", "type": "string", "enum": ["open", "renewed", "returned", "lost"]},
            ],
        },
        {
            "type": "member",
            "id_field": "member_id",
            "fields": [{"name": "member_id", "type": "string"}, {"name": "name", "type": "string"}],
        },
    ]
}


def tool(name: str, description: str, *arguments: str) -> Row:
    properties = {each: {"type": "string"} for each in arguments}
    schema = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"name": name, "description": description, "input_schema": schema}


TOOLS = [
    tool("get_loan", "Get a loan by its id.", "loan_id"),
    tool("list_loans", "List the loans of a member.", "member_id"),
    tool("renew_loan", "Renew a loan. Its status will be changed to 'renewed'.", "loan_id"),
    tool("return_loan", "Return a loan. Its status will be changed to 'returned'.", "loan_id"),
]
STATES = ("open", "open", "renewed", "returned", "lost", "open")
WORLD = {
    "loan": {
        f"L-{at}": {
            "loan_id": f"L-{at}",
            "member_id": f"M-{at % 3 + 1}",
            "title": f"Book {at}",
            "status": state,
        }
        for at, state in enumerate(STATES, 1)
    },
    "member": {
        f"M-{at}": {"member_id": f"M-{at}", "name": name}
        for at, name in enumerate(("Ada", "Bo", "Cy", "Di", "Ed", "Flo"), 1)
    },
}


def row(text: str, *calls: tuple[str, Row], **more: Any) -> Row:
    listed = [{"tool": name, "arguments": arguments} for name, arguments in calls]
    return {
        "user_instruction": text,
        "expected_outcome": "completion",
        "reference_calls": listed,
        "failure_rules": [],
        "expected_state": None,
    } | more


RENEW = row(
    "Could I keep L-1 a little longer?",
    ("renew_loan", {"loan_id": "L-1"}),
    expected_state={"loan.L-1.status": "renewed"},
)
REFUSED = row(
    "Please extend L-5 for me, I cannot find it right now.",
    ("renew_loan", {"loan_id": "L-5"}),
    expected_outcome="refusal",
)
LOOKUP = row("What is the title of loan L-2?", ("get_loan", {"loan_id": "L-2"}))
TROUBLE = row(
    "I am bringing L-6 back today.",
    ("return_loan", {"loan_id": "L-6"}),
    ("return_loan", {"loan_id": "L-6"}),
    failure_rules=[
        {
            "trigger": "after_n_calls",
            "tool": "return_loan",
            "n": 1,
            "duration": 1,
            "error": {"code": 503, "message": "Down."},
        }
    ],
)
FOUND = row(
    "Member M-3 here: which books do I have, and please give back the one called Book 2.",
    ("list_loans", {"member_id": "M-3"}),
    ("return_loan", {"loan_id": "L-2"}),
)
GOOD = (RENEW, REFUSED, LOOKUP, TROUBLE, FOUND)
CHANGE = {
    "changes": [
        {"op": "update", "entity_type": "loan", "id": "L-1", "set": {"title": "Ulysses"}, "unset": []},
        {"op": "add", "entity_type": "member", "id": "M-7", "attrs": {"member_id": "M-7", "name": "Gil"}},
        {"op": "remove", "entity_type": "member", "id": "M-6"},
    ],
    "said": "L-1 is Ulysses now, and Gil took Flo's place.",
    "cannot": None,
}
#: For `scripted:`, which finds a line by what is asked outside the fence.
SCRIPT: list[Row] = [
    {"about": "Make the records.", "answer": {"world": WORLD, "notes": ["Due dates are left out."]}},
    {"about": "Change the world as the request says.", "answer": CHANGE},
    {"about": ["Write the rows.", "gone wrong"], "failure": "timeout"},
    {"about": "Write the rows.", "answer": {"rows": [*GOOD]}, "times": 1},
    {"about": "Write the rows.", "answer": {"rows": []}},
    {"price_per_million_tokens": 2.5},
]
