"""Reads by default: what a name and a description must say before a tool changes anything."""

import pytest
from invented_backends import tool

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.domain.clauses import claim_of
from pipelines.core.simulation.domain.tool_names import read_tool_name
from pipelines.core.simulation.guesses import guesses_of
from pipelines.core.simulation.plan_listing import shown_plans
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.task_files.upload_warnings import plan_warnings, upload_warnings
from pipelines.core.tasks.seed import parse_seed
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tools_schema import Tool

SHOP: JsonObject = {
    "customer": {"c1": {"name": "Ann", "balance": 12.5, "status": "active"}},
    "order": {
        "o1": {"customer_id": "c1", "total": 30, "status": "open"},
        "o2": {"customer_id": "c1", "total": 5, "status": "cancelled"},
    },
}
NOW = Moment(seed="s", call_number=1, now="2026-01-15T10:30:00Z")
READS = [
    tool("customer_balance", "Returns the customer's current account balance.", customer_id="text"),
    tool("order_status", "Returns the status of an order.", order_id="text"),
    tool("refund_policy", "Returns the refund policy."),
    tool("refund_policy", ""),
    tool("can_cancel", "Whether the order can be cancelled.", order_id="text"),
    tool("can_cancel", "", order_id="text"),
    tool("order_total", "Total of an order.", order_id="text"),
    tool("order_total", "Computes the total of the order.", order_id="text"),
    tool("open_orders", "", customer_id="text"),
    tool("open_shifts", "Shifts that have no volunteer yet."),
    tool("refund_amount", "Refund amount for the items", order_id="text", items="text"),
    tool("transfer_limit", "Transfer limit of a customer", customer_id="text", currency="text"),
    tool("ship_cost", "Shipping cost by weight", order_id="text", weight="number"),
    tool("rate_exchange", "Spot rate between two currencies.", base="text", quote="text"),
    tool("schedule_orders", "Orders scheduled for a day", day="text"),
    tool("order_on_hold", "Is this order on hold?", order_id="text"),
    tool("log_level", "Level of logging of an order", order_id="text", env="text"),
    tool("open_claims", "Claims without an adjuster."),
    tool("cancellation_fee", "What it would cost to cancel. Does not cancel anything.", order_id="text"),
    tool("process_batch", "Processes the batch.", batch="text"),
    tool("frobnicate_order", "Frobnicates the order.", order_id="text"),
    tool("cancel_order", "Returns whether an order can still be cancelled.", order_id="text"),
    tool("get_order", "Cancels the order.", order_id="text"),
    tool("settle_order", "Settlement.", order_id="text"),
    tool("order_register", "The register of orders, filtered by status where given."),
]
WRITES = [
    tool("cancel_order", "Cancels an order.", order_id="text"),
    tool("cancel_order", "", order_id="text"),
    tool("CancelOrder", "This tool cancels the order and returns it.", order_id="text"),
    tool("order_cancellation", "Cancel an order.", order_id="text"),
    tool("refund_order", "Refund an order.", order_id="text"),
    tool("update_customer", "Returns the updated customer.", customer_id="text", name="text"),
]


def answer(one: Tool, *, is_strict: bool = False) -> SimulatedReply:
    world = World.from_initial_state(SHOP)
    arguments: JsonObject = {"order_id": "o1", "customer_id": "c1", "name": "Bea", "batch": "b"}
    asked = {key: value for key, value in arguments.items() if key in one.input_schema["properties"]}  # type: ignore[operator]
    return build_simulator([one], world=world, is_strict=is_strict).answer(
        one.name, asked, Ledger(world), NOW
    )


@pytest.mark.parametrize("one", READS, ids=lambda one: f"{one.name}: {one.description}")
def test_changes_nothing(one: Tool) -> None:
    assert answer(one).updates == ()


@pytest.mark.parametrize("one", WRITES, ids=lambda one: f"{one.name}: {one.description}")
def test_goes_on_changing(one: Tool) -> None:
    assert answer(one).updates != ()


ABLE: JsonObject = {"type": "object", "properties": {"cancellable": {"type": "boolean"}}}
POSSIBLE = [
    tool("can_cancel", "Whether the order can be cancelled.", order_id="text"),
    tool("can_cancel", "", order_id="text"),
    tool("order_may_be_cancelled", "Is the customer allowed to cancel?", order_id="text"),
    tool("check_order", "Whether the order can be cancelled.", output=ABLE, order_id="text"),
]


@pytest.mark.parametrize("one", POSSIBLE, ids=lambda one: f"{one.name}: {one.description}")
def test_what_can_be_done_is_not_what_has_been_done(one: Tool) -> None:
    """The open order can be cancelled, the cancelled one cannot: by its status it would be the contrary."""
    plan = build_simulator([one], world=World.from_initial_state(SHOP)).plan_of(one.name)
    assert plan.plan is not None
    assert "== 'cancelled'" not in str(plan.plan.body)


def test_a_question_that_is_not_worked_out_says_so() -> None:
    one = POSSIBLE[0]
    assert any("not worked out" in note for note in answer(one).notes)
    assert build_simulator([one], world=World.from_initial_state(SHOP)).plan_of(one.name).is_guess


def test_a_verb_nobody_listed_is_known_by_the_state_it_leads_to() -> None:
    world = World.from_initial_state(
        {"crate": {"1": {"status": "free"}, "2": {"status": "embargoed"}, "3": {"status": "free"}}}
    )
    one = tool("embargo_crate", "Embargo a crate.", crate_id="text")
    reply = build_simulator([one], world=world).answer(one.name, {"crate_id": "1"}, Ledger(world), NOW)
    assert [update.set for update in reply.updates] == [{"status": "embargoed"}]  # type: ignore[union-attr]


def test_a_message_to_a_customer_is_no_customer() -> None:
    one = tool("send_customer_message", "Sends a message to the customer.", customer_id="text", text="text")
    world = World.from_initial_state(SHOP)
    reply = build_simulator([one], world=world).answer(
        one.name, {"customer_id": "c1", "text": "hi"}, Ledger(world), NOW
    )
    assert all(update.entity_type not in SHOP for update in reply.updates)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        ("Returns the balance.", "reads"),
        ("Whether it is open.", "reads"),
        ("How many seats are left.", "reads"),
        ("Looks a book up by ISBN.", "reads"),
        ("Checks if the code is valid and returns the discount.", "reads"),
        ("Cancels the order.", "writes"),
        ("This tool will move a booking to other dates.", "writes"),
        ("Validates the code and applies the discount.", "vague"),
        ("Checks the guest in.", "writes"),
        ("Take a book back", "writes"),
        ("Brings the car back.", "writes"),
        ("Have they paid?", "reads"),
        ("Gives back the balance.", "reads"),
        ("Orders of a customer.", "names"),
        ("Order status and history.", "names"),
        ("Loans and holds the member has.", "names"),
        ("The parcel becomes delivered.", "turns_out"),
        ("Handles the request.", "vague"),
        ("Frobnicates the widget.", "acts"),
        ("", "nothing"),
        ("Args:\n  id: the order to cancel", "nothing"),
    ],
)
def test_what_a_description_says(description: str, kind: str) -> None:
    assert claim_of(description).kind in (kind, "reads" if kind == "vague" else kind)


@pytest.mark.parametrize(
    ("name", "description", "verb"),
    [
        ("appointment_cancellation", "Cancel an appointment.", "cancel"),
        ("booking", "Cancel a booking.", "cancel"),
        ("group_booking", "Cancel a group booking.", "cancel"),
    ],
)
def test_a_name_that_ends_in_a_deed(name: str, description: str, verb: str) -> None:
    assert read_tool_name(name, description).verb == verb


def test_a_thing_that_an_id_picks_is_no_deed() -> None:
    name = read_tool_name("grade_submission", "Sets the points of a submission.", picks=("submission",))
    assert name.verb == "set"


def test_a_prefix_that_all_tools_share_is_no_part_of_their_names() -> None:
    tools = [tool(f"crm_{name}", "") for name in ("lead", "contact_owner", "archive_lead", "new_lead")]
    world = World.from_initial_state({"lead": {"1": {"status": "new"}}})
    simulator = build_simulator(tools, world=world)
    assert simulator.plans["crm_lead"].plan is not None
    assert read_tool_name("crm_archive_lead").verb == "archive"


UNCLEAR = tool("run_close", "Runs it.", order_id="text")


def test_a_guess_is_shown_with_what_would_settle_it() -> None:
    simulator = build_simulator([UNCLEAR, WRITES[0]], world=World.from_initial_state(SHOP))
    first, second = shown_plans(simulator)["items"]  # type: ignore[misc]
    assert first["is_guess"] is True  # type: ignore[index,call-overload]
    assert "a recording" in first["settled_by"]  # type: ignore[index,call-overload,operator]
    assert (second["is_guess"], second["settled_by"]) == (False, None)  # type: ignore[index,call-overload]
    assert [one.tool for one in guesses_of(simulator, {"run_close", "cancel_order"})] == ["run_close"]
    assert guesses_of(simulator, {"cancel_order"}) == []


def test_an_upload_names_the_tools_that_are_guesses() -> None:
    seed = parse_seed({"user_instruction": "hi", "initial_state": SHOP})
    found = upload_warnings([seed, seed], tools=[UNCLEAR, WRITES[0]], ledger_schema=None).warnings
    (warning,) = [each for each in found if str(each["path"]).startswith("/tools/")]
    assert warning["path"] == "/tools/run_close"
    assert "to confirm it" in str(warning["hint"])


def test_a_tool_that_one_world_settles_is_no_guess() -> None:
    empty = parse_seed({"user_instruction": "hi"})
    full = parse_seed({"user_instruction": "hi", "initial_state": SHOP})
    assert plan_warnings([empty, full], tools=[WRITES[0]], ledger_schema=None) == ([], [], [])


def test_a_strict_simulation_does_not_guess() -> None:
    with pytest.raises(SimulationFailed, match="run_close") as failed:
        answer(UNCLEAR, is_strict=True)
    assert failed.value.code == "not_certain"
    assert answer(WRITES[0], is_strict=True).status == 200


@pytest.mark.parametrize(("given", "read"), [(True, True), ("TRUE", True), ("false", False), (None, False)])
def test_a_task_can_demand_certainty(given: object, read: bool) -> None:
    seed = parse_seed({"user_instruction": "hi", "strict_simulation": given})  # type: ignore[dict-item]
    assert seed.strict_simulation is read
    assert seed.as_json().get("strict_simulation", False) is read


AMOUNTS = [
    (
        "Renew a loan by 14 days. Its status becomes 'renewed'.",
        ["“by 14 days” in its description is not in any step"],
    ),
    ("Renew a loan. The loan status will be changed to 'renewed'.", []),
    ("Renew a loan by its id.", []),
]


@pytest.mark.parametrize(("description", "notes"), AMOUNTS)
def test_an_amount_that_a_change_is_made_without_is_named(description: str, notes: list[str]) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"loan_id": {"type": "string"}},
        "required": ["loan_id"],
    }
    tool = Tool(name="renew_loan", description=description, input_schema=schema)
    world = World.from_initial_state({"loan": {"l-5": {"status": "open", "due": "2026-05-10"}}})
    plan = build_simulator([tool], world=world).plan_of("renew_loan")
    assert [note for note in plan.notes if "not in any step" in note] == notes


FAR_FETCHED = [
    # What is dispatched is a message, and the order that it is about need not be named.
    tool("edi_dispatch", "Dispatches an EDI message.", message_type="text", order_id_="text"),
    # No order has a step, and nothing says that it gets one.
    tool("order_workflow", "Advances the workflow.", order_id="text", step="text"),
]


@pytest.mark.parametrize("one", FAR_FETCHED, ids=lambda one: one.name)
def test_a_change_that_is_far_fetched_is_not_made(one: Tool) -> None:
    simulator = build_simulator([one], world=World.from_initial_state(SHOP))
    assert simulator.plan_of(one.name).is_guess
    ledger = Ledger(World.from_initial_state(SHOP))
    given = dict.fromkeys(one.input_schema["properties"], "o1")
    assert simulator.answer(one.name, given, ledger, NOW).updates == ()
