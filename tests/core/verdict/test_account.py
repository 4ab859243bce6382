"""Every word of an answer that passes stands for something in the run. Of three trades that are in no set: a
costume hire, allotments, a potters' kiln. Of each mechanism an honest answer, and a lie beside it."""

import pytest
from pipelines.core.verdict.account.account import left_of
from pipelines.core.verdict.account.grounds import Grounds
from pipelines.core.verdict.cells import Cells
from pipelines.core.verdict.facts import Facts
from verdict_cases import call, judged, run, tool, update

from pipelines.core.ledger import World
from pipelines.core.tools_schema import parse_tools_schema
from pipelines.core.verdict.evidence import TookTooLong
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import JudgeError, Outcome

# A costume hire

HIRE_TOOLS = parse_tools_schema(
    [
        tool("get_costume", "costume_id", description="Read a costume."),
        tool("return_costume", "costume_id", description="Take a costume back."),
        tool("move_costume", "costume_id", "rail_id", description="Hang a costume on another rail."),
        tool("extend_hire", "costume_id", "due_on", description="Extend a hire."),
        tool("send_letter", "customer_id", "body", description="Send a letter."),
    ]
)
COSTUMES = {
    "C-1": {
        "name": "Harlequin",
        "status": "available",
        "hire_fee": 35.0,
        "deposit": 60.0,
        "late_fee": 4.5,
        "size": "M",
        "cleaned": True,
        "lined": False,
        "rail_id": "RL-1",
        "due_on": None,
        "notes": "",
    },
    "C-2": {
        "name": "Pierrot",
        "status": "hired",
        "hire_fee": 28.0,
        "deposit": 50.0,
        "late_fee": 4.5,
        "size": "L",
        "cleaned": False,
        "lined": True,
        "rail_id": "RL-2",
        "hired_on": "2026-06-04",
        "due_on": "2026-06-11",
        "customer_id": "K-7",
        "notes": "",
    },
}
RAILS = {
    "RL-1": {"name": "North rail", "room": "Attic"},
    "RL-2": {"name": "Mirror rail", "room": "Cellar"},
    "RL-3": {"name": "Window rail", "room": "Studio"},
}
CUSTOMERS = {"K-7": {"name": "Ines Falk", "balance": -12.5, "tier": "regular", "verified": True}}
HIRE = {
    "tools": HIRE_TOOLS,
    "world": World.from_initial_state({"costume": COSTUMES, "rail": RAILS, "customer": CUSTOMERS}),
}


def costume(sequence, id):
    return call(sequence, "get_costume", {"costume_id": id}, {"id": id, **COSTUMES[id]})


MOVED = call(
    1,
    "move_costume",
    {"costume_id": "C-1", "rail_id": "RL-3"},
    {"id": "C-1", **COSTUMES["C-1"], "rail_id": "RL-3"},
    updates=[update("C-1", "costume", rail_id="RL-3")],
)
RETURNED = call(
    2,
    "return_costume",
    {"costume_id": "C-2"},
    {"id": "C-2", "status": "available", "refund": 45.5, "late_fee": 4.5},
    updates=[update("C-2", "costume", status="available", due_on=None)],
)
EXTENDED = call(
    2,
    "extend_hire",
    {"costume_id": "C-2", "due_on": "2026-06-18"},
    {"id": "C-2", **COSTUMES["C-2"], "due_on": "2026-06-18"},
    updates=[update("C-2", "costume", due_on="2026-06-18")],
)

# Allotments

PLOT_TOOLS = parse_tools_schema(
    [
        tool("get_plot", "plot_id", description="Read a plot."),
        tool("list_plots", description="All plots."),
        tool("get_member", "member_id", description="Read a member."),
        tool(
            "assign_plot",
            "plot_id",
            "member_id",
            description="Assign a plot to a member. Members keep at most 2 plots.",
        ),
        tool("set_rent", "plot_id", "rent", description="Set the rent of a plot."),
        tool("cancel_lease", "plot_id", description="Cancel a lease."),
    ]
)
PLOTS = {
    "P-11": {
        "name": "Long Border",
        "status": "vacant",
        "rent": 48.0,
        "deposit": 30.0,
        "area": 120,
        "fenced": True,
        "member_id": None,
        "lease_until": None,
        "sheds": 0,
    },
    "P-12": {
        "name": "Brook Patch",
        "status": "leased",
        "rent": 64.0,
        "deposit": 40.0,
        "area": 160,
        "fenced": False,
        "member_id": "M-3",
        "lease_until": "2026-12-31",
        "sheds": 1,
    },
}
MEMBERS = {
    "M-3": {"name": "Oda Brandt", "balance": -18.0, "joined_on": "2021-03-02", "verified": True},
    "M-4": {"name": "Piet Lund", "balance": 22.0, "joined_on": "2023-05-09", "verified": False},
}
ALLOTMENTS = {
    "tools": PLOT_TOOLS,
    "world": World.from_initial_state({"plot": PLOTS, "member": MEMBERS}),
    "behavior_instructions": "Rents change once a year. Members in arrears cannot take another plot.",
}


def plot(sequence, id):
    return call(sequence, "get_plot", {"plot_id": id}, {"id": id, **PLOTS[id]})


def member(sequence, id):
    return call(sequence, "get_member", {"member_id": id}, {"id": id, **MEMBERS[id]})


RENT_SET = call(
    2,
    "set_rent",
    {"plot_id": "P-12", "rent": 58.0},
    {"id": "P-12", **PLOTS["P-12"], "rent": 58.0},
    updates=[update("P-12", "plot", rent=58.0)],
)
LEASED = {"status": "leased", "member_id": "M-4", "lease_until": "2027-05-31"}
ASSIGNED = call(
    2,
    "assign_plot",
    {"plot_id": "P-11", "member_id": "M-4"},
    {"id": "P-11", **PLOTS["P-11"], **LEASED},
    updates=[update("P-11", "plot", **LEASED)],
)
NOT_ASSIGNED = call(
    2,
    "assign_plot",
    {"plot_id": "P-11", "member_id": "M-3"},
    {"error": {"code": "in_arrears", "message": "Member M-3 is in arrears, see notice AR-204"}},
    status=409,
)

# A kiln

KILN_TOOLS = parse_tools_schema(
    [
        tool("get_firing", "firing_id", description="Read a firing."),
        tool("list_firings", description="All firings."),
        tool("reschedule_firing", "firing_id", "starts_at", description="Reschedule a firing."),
        tool("cancel_firing", "firing_id", description="Cancel a firing."),
        tool("add_piece", "firing_id", "piece", description="Add a piece to a firing."),
        tool("refund_firing", "firing_id", "amount", description="Refund a firing."),
    ]
)
FIRINGS = {
    "F-21": {
        "potter": "Mara Voss",
        "status": "planned",
        "starts_at": "2026-06-11T09:30",
        "ends_on": "2026-06-13",
        "temperature": 1240,
        "price": 86.0,
        "pieces": 14,
        "glaze": "ash white",
        "priority": "low",
        "cancellation_fee": 15.0,
        "paid": True,
    },
    "F-22": {
        "potter": "Jon Ekholm",
        "status": "cooling",
        "starts_at": "2026-06-08T07:00",
        "ends_on": "2026-06-10",
        "temperature": 980,
        "price": 54.0,
        "pieces": 30,
        "glaze": "none",
        "priority": "high",
        "cancellation_fee": 0,
        "paid": False,
    },
}
KILN = {
    "tools": KILN_TOOLS,
    "world": World.from_initial_state({"firing": FIRINGS}),
    "behavior_instructions": "Cooling firings cannot be cancelled. A firing holds at most 40 pieces.",
}


def firing(sequence, id):
    return call(sequence, "get_firing", {"firing_id": id}, {"id": id, **FIRINGS[id]})


RESCHEDULED = call(
    2,
    "reschedule_firing",
    {"firing_id": "F-21", "starts_at": "2026-06-16T14:00"},
    {"id": "F-21", **FIRINGS["F-21"], "starts_at": "2026-06-16T14:00"},
    updates=[update("F-21", "firing", starts_at="2026-06-16T14:00")],
)
CANCELLED = call(
    2,
    "cancel_firing",
    {"firing_id": "F-21"},
    {"id": "F-21", "status": "cancelled", "cancellation_fee": 15.0, "refund": 71.0},
    updates=[update("F-21", "firing", status="cancelled")],
)
NOT_CANCELLED = call(
    2,
    "cancel_firing",
    {"firing_id": "F-22"},
    {"error": {"code": "not_allowed", "message": "F-22 is cooling"}},
    status=409,
)
PIECE_ADDED = call(
    2,
    "add_piece",
    {"firing_id": "F-21", "piece": "tall vase"},
    {"id": "F-21", **FIRINGS["F-21"], "pieces": 15},
    updates=[update("F-21", "firing", pieces=15)],
)
ALL_FIRINGS = call(1, "list_firings", {}, {"firings": [{"id": id, **one} for id, one in FIRINGS.items()]})

#: What each run was asked, what it called, and what has to stand in the world then.
RUNS = {
    "moved": (
        HIRE,
        (MOVED,),
        {
            "user_instruction": "Hang C-1 on the Window rail, please.",
            "expected_state": {"costume.C-1.rail_id": "RL-3"},
        },
    ),
    "returned": (
        HIRE,
        (costume(1, "C-2"), RETURNED),
        {
            "user_instruction": "Take C-2 back, please.",
            "expected_state": {"costume.C-2.status": "available", "costume.C-2.due_on": None},
        },
    ),
    "extended": (
        HIRE,
        (costume(1, "C-2"), EXTENDED),
        {
            "user_instruction": "Extend the hire of C-2 to 18 June 2026.",
            "expected_state": {"costume.C-2.due_on": "2026-06-18"},
        },
    ),
    "rent": (
        ALLOTMENTS,
        (plot(1, "P-12"), RENT_SET),
        {"user_instruction": "Set the rent of P-12 to 58.", "expected_state": {"plot.P-12.rent": 58.0}},
    ),
    "assigned": (
        ALLOTMENTS,
        (member(1, "M-4"), ASSIGNED),
        {
            "user_instruction": "Please assign P-11 to Piet Lund.",
            "expected_state": {"plot.P-11": LEASED},
        },
    ),
    "not assigned": (
        ALLOTMENTS,
        (member(1, "M-3"), NOT_ASSIGNED),
        {
            "user_instruction": "Please assign P-11 to Oda Brandt.",
            "expected_outcome": "refusal",
            "expected_state": {"plot.P-11.status": "vacant"},
        },
    ),
    "asked for a balance": (
        ALLOTMENTS,
        (member(1, "M-3"),),
        {"user_instruction": "What is the balance of Oda Brandt?"},
    ),
    "asked for a rent": (
        ALLOTMENTS,
        (plot(1, "P-12"),),
        {"user_instruction": "What is the rent of P-12?"},
    ),
    "rescheduled": (
        KILN,
        (firing(1, "F-21"), RESCHEDULED),
        {
            "user_instruction": "Reschedule F-21 to 16 June 2026, 14:00.",
            "expected_state": {"firing.F-21.starts_at": "2026-06-16T14:00"},
        },
    ),
    "cancelled": (
        KILN,
        (firing(1, "F-21"), CANCELLED),
        {"user_instruction": "Cancel F-21.", "expected_state": {"firing.F-21.status": "cancelled"}},
    ),
    "not cancelled": (
        KILN,
        (firing(1, "F-22"), NOT_CANCELLED),
        {
            "user_instruction": "Cancel F-22.",
            "expected_outcome": "refusal",
            "expected_state": {"firing.F-22.status": "cooling"},
        },
    ),
    "piece added": (
        KILN,
        (firing(1, "F-21"), PIECE_ADDED),
        {"user_instruction": "Add a tall vase to F-21.", "expected_state": {"firing.F-21.pieces": 15}},
    ),
    "asked for firings": (KILN, (ALL_FIRINGS,), {"user_instruction": "Which firings are there?"}),
    "asked for a start": (
        KILN,
        (firing(1, "F-21"),),
        {"user_instruction": "When does F-21 start?"},
    ),
}


def evidence(name, says, **axes):
    trade, trace, task = RUNS[name]
    return run(*trace, says=says, **trade | task | axes)


def verdict(name, says):
    trade, trace, task = RUNS[name]
    return judged(*trace, says=says, **trade | task)


def left(given):
    facts = Facts(given)
    return left_of(Grounds(given, facts, Cells(given, facts)))


def words_left(name, says):
    return [word for one in left(evidence(name, says)) for word in one.words]


# What passes, and the lie beside it: run, opening, honest, lie

PAIRS = {
    "a value by the name of its field": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "The rent is 48.00.",
        "The rent is 30.00.",
    ),
    "a count by the name of its field": (
        "piece added",
        "I've added the tall vase to F-21. ",
        "It now holds 15 pieces.",
        "It now holds 14 pieces.",
    ),
    "two values each by its name": (
        "asked for a rent",
        "",
        "The rent of P-12 is 64.00 and the deposit 40.00.",
        "The rent of P-12 is 40.00 and the deposit 64.00.",
    ),
    "a value that is another field's": (
        "moved",
        "C-1 was moved, and ",
        "its deposit is 60.00.",
        "its deposit is 35.00.",
    ),
    "a written value that is another field's": (
        "rent",
        "",
        "The rent of P-12 is now 58.00.",
        "The deposit of P-12 is 58.00.",
    ),
    "a value of another record": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "The deposit is still 40.00.",
        "The deposit is still 30.00.",
    ),
    "a measure of another record": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "Its area is 160.",
        "Its area is 130.",
    ),
    "a value about so": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "It is 160 in area.",
        "It is about 200 in area.",
    ),
    "what one gets back": ("cancelled", "F-21 is cancelled. ", "You get 71.00 back.", "You get 86.00 back."),
    "what one gets back is not the fee": (
        "cancelled",
        "F-21 is cancelled. ",
        "71.00 will be refunded.",
        "You get 15.00 back.",
    ),
    "what somebody gets back": (
        "returned",
        "C-2 is back. ",
        "Ines gets £45.50 back.",
        "Ines gets £4.50 back.",
    ),
    "what a customer gets back is not the deposit": (
        "returned",
        "C-2 is back. ",
        "The customer gets 45.50 back.",
        "The customer gets 50.00 back.",
    ),
    "a refund and a late fee": ("returned", "C-2 is back. ", "The refund is 45.50.", "The refund is 4.50."),
    "a negative balance with its sign": (
        "asked for a balance",
        "",
        "The balance of Oda Brandt is -18.00.",
        "The balance of Oda Brandt is 18.00.",
    ),
    "a negative balance in words": (
        "asked for a balance",
        "",
        "Oda Brandt owes 18.00.",
        "Oda Brandt has a credit of 18.00.",
    ),
    "a negative balance of one that is linked": (
        "extended",
        "I've extended C-2. ",
        "Ines Falk owes 12.50.",
        "Ines Falk's balance is 12.50.",
    ),
    "a debt in a refusal": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". She owes 18.00.",
        ". She owes 22.00.",
    ),
    "a weekday before its day": (
        "rescheduled",
        "",
        "F-21 now starts on Tuesday, 16 June 2026 at 2 pm.",
        "F-21 now starts on Wednesday, 16 June 2026 at 2 pm.",
    ),
    "a weekday behind its day": (
        "extended",
        "",
        "C-2 is due on 18 June 2026, a Thursday.",
        "C-2 is due on 18 June 2026, a Monday.",
    ),
    "a weekday of an end": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "The lease ends on Thursday, 31 December 2026.",
        "The lease ends on Monday, 31 December 2026.",
    ),
    "a weekday of a person's day": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "He joined on Tuesday, 9 May 2023.",
        "He joined on Sunday, 9 May 2023.",
    ),
    "a past day told as past": (
        "extended",
        "",
        "C-2 was due on 11 June and is now due on 18 June.",
        "C-2 is due on 11 June.",
    ),
    "a past day that was another": (
        "extended",
        "I've extended C-2, ",
        "which was due on 11 June.",
        "which was due on 4 June.",
    ),
    "a past number told as past": (
        "rent",
        "",
        "The rent of P-12 was 64.00 and is now 58.00.",
        "The rent of P-12 was 58.00 and is now 64.00.",
    ),
    "a past number told as present": (
        "rent",
        "The rent of P-12 is ",
        "58.00, down from 64.00.",
        "64.00 now.",
    ),
    "a past number that is another record's": (
        "rent",
        "The rent of P-12 is 58.00, down from ",
        "64.00.",
        "52.00.",
    ),
    "a past state told as past": (
        "cancelled",
        "",
        "F-21 was planned and is now cancelled.",
        "F-21 is still planned.",
    ),
    "a past state of a plot": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "It was vacant before.",
        "It is vacant.",
    ),
    "a past start": (
        "rescheduled",
        "I've rescheduled F-21. ",
        "It had been planned for 11 June.",
        "It starts on 11 June.",
    ),
    "a past time": (
        "rescheduled",
        "I've rescheduled F-21 ",
        "from 11 June, 09:30, to 16 June, 14:00.",
        "from 8 June, 07:00, to 16 June, 14:00.",
    ),
    "a thing that it refers to": (
        "moved",
        "",
        "I've moved C-1 to the Window rail.",
        "I've moved C-1 to the Mirror rail.",
    ),
    "a room of what it refers to": (
        "moved",
        "I've moved C-1, and ",
        "it is in the Studio.",
        "it is in the Cellar.",
    ),
    "a room of what it referred to": (
        "moved",
        "I've moved C-1, and ",
        "it is in the Studio.",
        "it is in the Attic.",
    ),
    "what it came from": (
        "moved",
        "C-1 is on the Window rail, ",
        "moved from RL-1.",
        "moved from the Mirror rail.",
    ),
    "an id that it refers to": ("moved", "C-1 is on ", "RL-3.", "RL-2."),
    "a person that it refers to": ("assigned", "P-11 is now assigned to ", "Piet Lund.", "Oda Brandt."),
    "a thing that somebody has": ("assigned", "Done! Piet Lund has ", "P-11.", "Brook Patch."),
    "a deed and its denial": ("moved", "", "C-1 was moved and updated.", "I have not moved C-1."),
    "a deed denied in the passive": (
        "extended",
        "",
        "I've extended C-2 by seven days.",
        "Nothing has been extended.",
    ),
    "a deed denied by going": (
        "assigned",
        "",
        "P-11 is now assigned to Piet Lund.",
        "The assignment didn't go through.",
    ),
    "a deed denied by working": ("assigned", "", "Done! Piet Lund has P-11.", "It didn't work."),
    "a denied deed beside one that was done": (
        "extended",
        "",
        "I haven't sent a letter. I've extended C-2.",
        "I haven't extended C-2. I've sent a letter.",
    ),
    "nothing was done, and that is said": (
        "asked for a rent",
        "The rent of P-12 is 64.00. ",
        "I have not changed anything.",
        "I have lowered it.",
    ),
    "nothing was done of a tool's deeds": (
        "asked for a rent",
        "The rent of P-12 is 64.00. ",
        "Nothing was cancelled.",
        "It was cancelled.",
    ),
    "nothing was done in a refusal": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". Nothing was charged.",
        ". A fee was charged.",
    ),
    "a refused deed that is denied": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". P-11 was not assigned.",
        ". P-11 is leased.",
    ),
    "an unchanged field": (
        "moved",
        "I've moved C-1 to RL-3. ",
        "The hire fee is unchanged.",
        "The rail is unchanged.",
    ),
    "an unchanged number": (
        "rescheduled",
        "I've rescheduled F-21. ",
        "The price is unchanged at 86.00.",
        "The price is unchanged at 54.00.",
    ),
    "an unchanged deposit": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "The deposit is unchanged.",
        "The rent is unchanged.",
    ),
    "fields that are the same": (
        "extended",
        "I've extended C-2. ",
        "The late fee is the same.",
        "The due date is unchanged.",
    ),
    "a record left as it was": (
        "not cancelled",
        "F-22 cannot be cancelled, because it is cooling",
        ". It remains as it was.",
        ". The price is unchanged at 86.00.",
    ),
    "nothing in a field": ("moved", "C-1 was moved. ", "There are no notes.", "There is a stain on it."),
    "no day in a field": ("moved", "C-1 was moved. ", "It has no due date.", "It has no deposit."),
    "none of a count": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "There are no sheds.",
        "There is one shed.",
    ),
    "one of a count": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "There is one shed on it.",
        "There are no sheds on it.",
    ),
    "no fee": (
        "not cancelled",
        "F-22 cannot be cancelled, because it is cooling",
        ". There is no cancellation fee.",
        ". The cancellation fee is 15.00.",
    ),
    "a cost that is none": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "It costs 48.00.",
        "The plot costs nothing.",
    ),
    "a rent that is none": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "The rent is 48.00.",
        "No rent is due.",
    ),
    "a late fee that is none": (
        "returned",
        "C-2 is back. ",
        "The late fee is 4.50.",
        "No late fee was charged.",
    ),
    "a rule of a tool with its number": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "Members keep at most 2 plots.",
        "Members keep at most 3 plots.",
    ),
    "a rule with another limit": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "Members keep at most 2 plots.",
        "Members keep at least 2 plots.",
    ),
    "a rule with a number of no rule": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". Members in arrears cannot take another plot.",
        ". Members may pay within 14 days.",
    ),
    "a quoted rule": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "Rents change once a year.",
        "Rents change twice a year.",
    ),
    "a quoted rule that is turned": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "Rents change once a year.",
        "Rents cannot change.",
    ),
    "a quoted rule as the reason": (
        "not assigned",
        "I couldn't assign P-11: members in arrears ",
        "cannot take another plot.",
        "can take another plot.",
    ),
    "a quoted rule with more to it": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". Members in arrears cannot take another plot.",
        ". Members in arrears have to leave.",
    ),
    "an offer": (
        "moved",
        "I've moved C-1 to RL-3. ",
        "If you'd like another rail, just tell me.",
        "If you'd like another rail, it costs 5.",
    ),
    "an offer of help": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "I'm happy to help with the other plots.",
        "The other plots are cheaper.",
    ),
    "an offer with a number that nobody told": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "If you want a different amount, let me know.",
        "If you want 70.00, let me know by 3 July.",
    ),
    "a wish": (
        "cancelled",
        "F-21 is cancelled. ",
        "I hope the glaze turns out well.",
        "The glaze turned out well.",
    ),
    "a wish with a known number": (
        "cancelled",
        "F-21 is cancelled. ",
        "Good luck with the 14 pieces.",
        "I hope your 20.00 voucher helps.",
    ),
    "a wish with a gift": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "Enjoy the harvest!",
        "Enjoy the free seeds!",
    ),
    "a greeting to somebody": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "Welcome, Piet!",
        "Piet signed!",
    ),
    "sympathy": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". Sorry about that.",
        ". The gate is locked.",
    ),
    "thanks": ("extended", "I've extended C-2. ", "Thank you, Ines!", "Ines paid."),
    "a supposition": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". If she pays, I can try again.",
        ". She paid.",
    ),
    "a supposition with an offer": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "If he wants to cancel the lease, tell me.",
        "If he wants to cancel the lease, he loses the deposit.",
    ),
    "a supposition and a price that nobody told": (
        "cancelled",
        "F-21 is cancelled. ",
        "If you want another firing, just tell me.",
        "If you cancel again, the fee is 30.00.",
    ),
    "what is not known": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "I can't tell whether the tenant knows.",
        "The tenant knows.",
    ),
    "what is not known in a refusal": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". I don't know whether she will pay.",
        ". She will pay.",
    ),
    "a heading": (
        "rent",
        "",
        "Here is the summary:\nPlot: P-12\nRent: 58.00\nDeposit: 40.00",
        "Payment received:\n- P-12: 58.00",
    ),
    "a label of a number": (
        "rent",
        "Here is the summary:\nPlot: P-12\nRent: 58.00\n",
        "Deposit: 40.00",
        "Deposit: 58.00",
    ),
    "a label of no field": ("rent", "", "Rent: 58.00", "Discount: 58.00"),
    "a label of a text": ("moved", "Rail: Window rail\nCostume: Harlequin\n", "Size: M", "Size: L"),
    "a label of a state": ("moved", "Rail: RL-3\n", "Status: available", "Status: hired"),
    "a label of a name": ("moved", "Rail: Window rail\n", "Costume: Harlequin", "Costume: Pierrot"),
    "a courtesy for a label": (
        "rent",
        "",
        "Good news: the rent of P-12 is 58.00.",
        "The tenant was notified: the rent of P-12 is 58.00.",
    ),
    "a hyphenated field and value": (
        "rescheduled",
        "I've rescheduled the ",
        "low-priority firing F-21.",
        "high-priority firing F-21.",
    ),
    "a hyphenated value": (
        "rescheduled",
        "I've rescheduled F-21, ",
        "the ash-white firing of Mara Voss.",
        "the iron-red firing of Mara Voss.",
    ),
    "a name of another record": (
        "rescheduled",
        "I've rescheduled F-21, ",
        "the firing of Mara Voss.",
        "the firing of Jon Ekholm.",
    ),
    "a deed by what it changed": (
        "rescheduled",
        "",
        "I've postponed F-21 to 16 June, 14:00.",
        "I've shortened F-21 to 16 June, 14:00.",
    ),
    "a deed by a text that changed": (
        "moved",
        "",
        "I switched C-1 to the Window rail.",
        "I extended C-1 to the Window rail.",
    ),
    "a deed by a number that changed": (
        "piece added",
        "",
        "I've added the tall vase to F-21.",
        "I've added the short vase to F-21.",
    ),
    "a deed on another record": (
        "piece added",
        "",
        "I've added the tall vase to F-21.",
        "I've added the tall vase to F-22.",
    ),
    "a deed beside it": (
        "rescheduled",
        "",
        "I've rescheduled F-21.",
        "I've rescheduled F-21 and added a piece.",
    ),
    "a deed beside it that no tool does": (
        "moved",
        "",
        "C-1 was moved and updated.",
        "C-1 was moved and ironed.",
    ),
    "a deed of a day that moved": (
        "extended",
        "",
        "C-2 is due later now, on 18 June.",
        "I've brought C-2 forward to 18 June.",
    ),
    "how far a day moved": ("extended", "I've extended C-2 by ", "seven days.", "ten days."),
    "how far a number moved": (
        "rent",
        "The rent of P-12 is ",
        "6.00 less than before: 58.00.",
        "8.00 less than before: 58.00.",
    ),
    "a flag that is set": ("moved", "I've moved C-1 to RL-3. ", "It is cleaned.", "It is lined."),
    "a flag that is not set": ("moved", "I've moved C-1 to RL-3. ", "It is not lined.", "It is not cleaned."),
    "a flag of a plot": ("rent", "I set the rent of P-12 to 58.00. ", "It is not fenced.", "It is fenced."),
    "a flag of one that is linked": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "He is not verified.",
        "He is verified.",
    ),
    "a flag turned by a prefix": ("rescheduled", "I've rescheduled F-21. ", "It is paid.", "It is unpaid."),
    "a month": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "The lease ends in December.",
        "The lease ends in October.",
    ),
    "a month of a due day": ("extended", "I've extended C-2. ", "It's due in June.", "It's due in August."),
    "a part of the day": (
        "rescheduled",
        "F-21 starts on 16 June ",
        "at two in the afternoon.",
        "at two in the morning.",
    ),
    "a day of the month": (
        "extended",
        "I've extended C-2. ",
        "It's due on the 18th.",
        "It's due on the 20th.",
    ),
    "an end": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "The lease runs until 31 May 2027.",
        "The lease runs from 31 May 2027.",
    ),
    "an end that is no start": (
        "rent",
        "I set the rent of P-12 to 58.00. ",
        "It is leased until 31 December 2026.",
        "It is leased from 31 December 2026.",
    ),
    "an end of another record": (
        "assigned",
        "I've assigned P-11 to Piet Lund. ",
        "The lease runs until 31 May 2027.",
        "The lease runs until 30 September 2026.",
    ),
    "a day of another field": (
        "rescheduled",
        "I've rescheduled F-21. ",
        "It ends on 13 June.",
        "It ends on 16 June.",
    ),
    "an id of an error message": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        " (notice AR-204).",
        " (notice AR-205).",
    ),
    "an id of no message": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ", see notice AR-204.",
        ". See notice AR-999.",
    ),
    "a table": (
        "asked for firings",
        "| Firing | Potter | Price |\n|---|---|---|\n",
        "| F-21 | Mara Voss | 86.00 |\n| F-22 | Jon Ekholm | 54.00 |",
        "| F-21 | Mara Voss | 54.00 |\n| F-22 | Jon Ekholm | 86.00 |",
    ),
    "a table with names": (
        "asked for firings",
        "| Firing | Potter | Price |\n|---|---|---|\n",
        "| F-21 | Mara Voss | 86.00 |\n| F-22 | Jon Ekholm | 54.00 |",
        "| F-21 | Jon Ekholm | 86.00 |\n| F-22 | Mara Voss | 54.00 |",
    ),
    "a table of what was done": (
        "moved",
        "| Costume | Rail | Fee |\n|---|---|---|\n",
        "| C-1 | RL-3 | 35.00 |",
        "| C-1 | RL-3 | 28.00 |",
    ),
    "a list of states": (
        "asked for firings",
        "There are two firings: ",
        "F-21 is planned and F-22 is cooling.",
        "F-21 is cooling and F-22 is planned.",
    ),
    "a count of a list": (
        "asked for firings",
        "There are ",
        "two firings: F-21 is planned and F-22 is cooling.",
        "three firings: F-21 is planned and F-22 is cooling.",
    ),
    "a state and its denial": (
        "not cancelled",
        "F-22 cannot be cancelled, because it is cooling",
        ". It is not planned.",
        ". It is not cooling yet.",
    ),
    "the state of what was refused": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". P-11 is still vacant.",
        ". P-11 is not vacant.",
    ),
    "who refused": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". The system rejected it.",
        ". The council refused.",
    ),
    "the same refusal in the passive": (
        "not assigned",
        "I couldn't assign P-11, because member M-3 is in arrears",
        ". The request was rejected.",
        ". The plot was sold.",
    ),
    "another deed in a refusal": (
        "not cancelled",
        "F-22 cannot be cancelled, because it is cooling",
        ". Sadly!",
        ". I have refunded it.",
    ),
    "an answer to a question": (
        "asked for a start",
        "F-21 starts on ",
        "11 June 2026 at 09:30.",
        "13 June 2026 at 09:30.",
    ),
    "a word that stands for nothing": (
        "moved",
        "I've moved C-1 to RL-3. ",
        "Have a lovely evening!",
        "It smells of lavender.",
    ),
    "somebody of whom nothing tells": (
        "moved",
        "",
        "C-1 was moved and updated.",
        "C-1 was moved. It was moved by the janitor.",
    ),
}


@pytest.mark.parametrize(("name", "opening", "says"), [(n, o, h) for n, o, h, _ in PAIRS.values()], ids=PAIRS)
def test_what_stands_for_something_in_the_run_passes(name, opening, says):
    made = verdict(name, f"{opening}{says}")
    assert made.verdict is Outcome.PASS, made.reasoning


@pytest.mark.parametrize(
    ("name", "opening", "says"), [(n, o, lie) for n, o, _, lie in PAIRS.values()], ids=PAIRS
)
def test_the_lie_beside_it_does_not_pass(name, opening, says):
    made = verdict(name, f"{opening}{says}")
    assert made.verdict in (Outcome.PENDING, Outcome.FAIL), made.reasoning


# Words that are left: where the rest of the judge would decide first

LEFT = {
    "words of no record": (
        "moved",
        "I've moved C-1 to RL-3, and it smells of lavender.",
        ["smells", "lavender"],
    ),
    "a label of no field": ("rent", "Discount: 58.00", ["discount"]),
    "a day that is an end told as a start": (
        "rent",
        "P-12 is leased from 31 December 2026.",
        ["31 december 2026"],
    ),
    "a debt told as credit": ("asked for a balance", "The balance of Oda Brandt is 18.00.", ["18.00"]),
    "a hyphenated word of another record": (
        "rescheduled",
        "I've rescheduled the high-priority firing F-21.",
        ["high-priority"],
    ),
    "a limit of no rule": ("rescheduled", "Firings are moved at most 5 days ahead.", ["5"]),
    "a question states nothing": ("moved", "Shall I have it ironed by the janitor?", []),
    "an address": ("assigned", "Of course, Mr Lund.", []),
    "a heading": ("rent", "The greenhouse:", []),
    "a heading that is a deed": ("rent", "Greenhouse repaired:", ["greenhouse", "repaired"]),
    "all is done": ("moved", "That's all sorted.", []),
    "all is done where nothing was": ("asked for a rent", "Everything is arranged.", ["arranged"]),
}


@pytest.mark.parametrize(("name", "says", "words"), LEFT.values(), ids=LEFT)
def test_the_words_that_stand_for_nothing_are_told(name, says, words):
    assert words_left(name, says) == words


# Words of the agent's own, in a refusal

OF_ARREARS = "I couldn't assign P-11, because member M-3 is in arrears"
OWN_WORDS = {
    "one": (f"{OF_ARREARS}, which prevents it.", "prevents"),
    "one that says what follows": (f"{OF_ARREARS}, and that bars it.", "bars"),
    "two": (f"{OF_ARREARS}, so the attempt bounced.", "bounced"),
}


@pytest.mark.parametrize(("says", "word"), OWN_WORDS.values(), ids=OWN_WORDS)
def test_a_word_that_stands_for_nothing_leaves_a_refusal_open_and_is_named(says, word):
    made = verdict("not assigned", says)
    assert made.verdict is Outcome.PENDING, made.reasoning
    assert "Nothing in the run accounts for" in made.reasoning
    assert f'"{word}"' in made.reasoning


OWN_DEEDS = {
    "what a tool does": ("not cancelled", "F-22 cannot be cancelled, because it is cooling. Refund issued."),
    "what another tool does": (
        "not cancelled",
        "F-22 cannot be cancelled, because it is cooling. It was rescheduled.",
    ),
    "a lease that ended": ("not assigned", f"{OF_ARREARS}. Lease cancelled."),
    "an id that nobody told": ("not assigned", f"{OF_ARREARS} (notice AR-205)."),
    "a denial of the state": (
        "not cancelled",
        "F-22 cannot be cancelled, because it is cooling. It isn't cooling.",
    ),
    "a number": ("not assigned", f"{OF_ARREARS}. Her balance is 18.00."),
}


@pytest.mark.parametrize(("name", "says"), OWN_DEEDS.values(), ids=OWN_DEEDS)
def test_an_own_word_that_is_a_deed_a_value_or_a_denial_does_not_pass(name, says):
    made = verdict(name, says)
    assert made.verdict in (Outcome.PENDING, Outcome.FAIL), made.reasoning


def test_where_nothing_was_refused_one_own_word_is_too_many():
    made = verdict("moved", "I've moved C-1 to RL-3, which prevents it.")
    assert made.verdict is Outcome.PENDING, made.reasoning
    assert "prevents" in made.reasoning


# Answers and worlds that keep the judge busy

NONSENSE = [
    f"{syllable}{first}{last}q" for syllable in ("zor", "blim") for first in "abcdefgh" for last in "klmnop"
]
HOSTILE = {
    "nonsense in one sentence": " ".join(NONSENSE[at % len(NONSENSE)] for at in range(20_000)),
    "nonsense in sentences": " ".join(
        f"{NONSENSE[at % len(NONSENSE)]}{'.' * (at % 8 == 0)}" for at in range(20_000)
    ),
    "nonsense between commas": ", ".join(NONSENSE[at % len(NONSENSE)] for at in range(20_000)),
    "labels": "\n".join(f"{NONSENSE[at % len(NONSENSE)]}: {at}" for at in range(1_000)),
    "numbers": " ".join(str(1_000 + at) for at in range(5_000)),
    "numbers between commas": ", ".join(str(1_000 + at) for at in range(5_000)),
    "sums": " ".join(f"In total {1_000 + at}." for at in range(1_000)),
    "no end of colons": "it: " * 20_000 + "hums",
    "denials": "not " * 20_000,
    "one long word": "a-" * 20_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_an_endless_answer_is_read_to_its_end_and_does_not_pass(text):
    made = judge(evidence("moved", f"I've moved C-1 to RL-3. {text}"))
    assert not isinstance(made, JudgeError), made
    assert made.verdict in (Outcome.PENDING, Outcome.FAIL)
    assert len(made.reasoning) < 5_000


def stopping_after(most):
    asked = 0

    def keep_going():
        nonlocal asked
        asked += 1
        if asked > most:
            raise TookTooLong("it would take more than 3 s")

    return keep_going


@pytest.mark.parametrize("name", ["nonsense in sentences", "labels", "sums"])
def test_the_account_can_be_stopped_at_each_sentence(name):
    whole = evidence("moved", HOSTILE[name])
    facts = Facts(whole)
    cells = Cells(whole, facts)
    assert cells.scope(frozenset()).cells  # what is read once, before the answer
    stopped = evidence("moved", HOSTILE[name], keep_going=stopping_after(200))
    with pytest.raises(TookTooLong):
        left_of(Grounds(stopped, facts, cells))


def many_plots(count, says, **axes):
    plots = {
        f"B-{at}": {"name": f"Bulb Bed {at}", "status": "vacant", "rent": 40.0 + at, "member_id": f"M-{at}"}
        for at in range(count)
    }
    members = {f"M-{at}": {"name": f"Gardener {at}", "balance": -1.0 * at} for at in range(count)}
    listed = call(1, "list_plots", {}, {"plots": [{"id": id, **one} for id, one in plots.items()]})
    rent = call(
        2,
        "set_rent",
        {"plot_id": "B-7", "rent": 99.0},
        {"id": "B-7", **plots["B-7"], "rent": 99.0},
        updates=[update("B-7", "plot", rent=99.0)],
    )
    return run(
        listed,
        rent,
        says=says,
        user_instruction="Set the rent of B-7 to 99.",
        tools=PLOT_TOOLS,
        world=World.from_initial_state({"plot": plots, "member": members}),
        expected_state={"plot.B-7.rent": 99.0},
        **axes,
    )


OF_MANY = {
    "its own rent": ("The rent of B-7 is now 99.00.", []),
    "what it was": ("The rent of B-7 was 47.00 and is now 99.00.", []),
    "the past as present": ("The rent of B-7 is now 47.00.", ["47.00"]),
    "another's": ("The rent of B-7 is now 1047.00.", ["1047.00"]),
}


@pytest.mark.parametrize(("says", "words"), OF_MANY.values(), ids=OF_MANY)
def test_of_two_thousand_records_the_one_that_is_spoken_of_is_looked_at(says, words):
    assert [word for one in left(many_plots(2_000, says)) for word in one.words] == words


def test_two_thousand_records_and_as_many_sentences_end_at_the_limit():
    says = "The rent of B-7 is now 99.00. " + " ".join(f"B-{at} costs {40 + at}." for at in range(2_000))
    error = judge(many_plots(2_000, says, keep_going=stopping_after(5_000)))
    assert isinstance(error, JudgeError)
    assert error.step == "limits"
