"""The assistant of an accounts-payable desk: approvals, holds, payments and vendors. Formal and exact."""

import re
from collections.abc import Callable
from datetime import date
from typing import Any

from pipelines.odyssey import ToolFailed, proxy_call

Record = dict[str, Any]
INVOICE = r"\b(?:INV/\d+-\d+|RE-\d+/\d+|N-\d+)"
TODAY = "2026-06-08"  # the desk's calendar: the tasks all play on this Monday
COUNTS = ["none", "one", "two", "three", "four", "five", "six"]


def answer(instruction: str) -> str:
    flow = next(flow for pattern, flow in FLOWS if re.search(pattern, instruction, re.IGNORECASE))
    return flow(instruction)


def approve_and_pay(text: str) -> str:
    invoice = call("get_invoice", invoice_id=found(INVOICE, text))
    approved = call("approve_invoice", invoice_id=invoice["invoice_id"], approver_id=found(r"e-\d+", text))
    paid = call("schedule_payment", invoice_id=invoice["invoice_id"], pay_on=invoice["discount_until"])
    saved = invoice["amount"] - paid["amount"]
    return (
        f"Dear {approved['approver_name'].split()[0]},\n\n"
        f"Both steps are complete.\n\n"
        f"1. Invoice {invoice['invoice_id']} from {invoice['vendor_name']} is approved in your name.\n"
        f"2. Payment {paid['payment_id']} is scheduled for {long_date(paid['pay_on'])}, the last day of the "
        f"discount period.\n\n"
        f"| | |\n|---|---|\n"
        f"| Invoice amount | {money(invoice['amount'], invoice['currency'])} |\n"
        f"| Discount of {paid['discount_percent']}% | −{money(saved, invoice['currency'])} |\n"
        f"| **To be paid** | **{money(paid['amount'], paid['currency'])}** |\n\n"
        f"The invoice itself is not due until {long_date(invoice['due_on'])}, "
        f"{days(paid['pay_on'], invoice['due_on'])} days after the payment."
    )


def hold_duplicate(text: str) -> str:
    one, other = [call("get_invoice", invoice_id=each) for each in re.findall(INVOICE, text)]
    if (one["amount"], one["vendor_id"]) != (other["amount"], other["vendor_id"]):
        return f"{one['invoice_id']} and {other['invoice_id']} differ, so I have left both as they are."
    reason = f"Possible duplicate of {one['invoice_id']}, to be clarified with the vendor"
    held = call("put_on_hold", invoice_id=other["invoice_id"], reason=reason)
    return (
        f"The two invoices do match: both are from {one['vendor_name']} and both are for "
        f"{money(one['amount'], one['currency'])}, issued {days(one['issued_on'], other['issued_on'])} "
        f"days apart. "
        f"I have therefore placed {held['invoice_id']} on hold as a possible duplicate; it cannot be paid "
        f"until "
        f"the hold is lifted.\n\n"
        f"Please note that the first one, {one['invoice_id']}, is already {one['status']} and is due on "
        f"{long_date(one['due_on'])}. I have not touched it."
    )


def postpone(text: str) -> str:
    old = call("get_payment", payment_id=found(r"\d{4}-\d{4}", text))
    invoice = call("get_invoice", invoice_id=old["invoice_id"])
    pay_on = f"{old['pay_on'][:4]}-06-{int(found(r'for ([0-9]+) June', text)):02}"
    call("cancel_payment", payment_id=old["payment_id"])
    new = call("schedule_payment", invoice_id=invoice["invoice_id"], pay_on=pay_on)
    spare = days(new["pay_on"], invoice["due_on"])
    return (
        f"Payment {old['payment_id']} has been cancelled, and invoice {invoice['invoice_id']} "
        f"({invoice['vendor_name']}) is now set up as payment **{new['payment_id']}** for "
        f"{long_date(new['pay_on'])}. The amount is unchanged at "
        f"{money(new['amount'], new['currency'])}.\n\n"
        f"This keeps the money in the account for another {days(old['pay_on'], new['pay_on'])} days. The "
        f"invoice "
        f"falls due on {long_date(invoice['due_on'])}, so there are still {COUNTS[spare]} days in hand "
        f"and no "
        f"late payment should arise."
    )


def approve_small(text: str) -> str:
    vendor, limit = found(r"from ([\w& ]+?) that", text), float(found(r"under £(\d+)", text))
    waiting = call("search_invoices", vendor=vendor, status="received")["invoices"]
    small = [one for one in waiting if one["amount"] < limit]
    left = [one for one in waiting if one["amount"] >= limit]
    for one in small:
        call("approve_invoice", invoice_id=one["invoice_id"], approver_id=found(r"e-\d+", text))
    total = money(sum(one["amount"] for one in small), small[0]["currency"])
    lines = [f"- {one['invoice_id']}: {money(one['amount'], one['currency'])}" for one in small]
    kept = ", ".join(f"{one['invoice_id']} ({money(one['amount'], one['currency'])})" for one in left)
    return "\n".join(
        [
            f"I found {COUNTS[len(waiting)]} unapproved invoices from {waiting[0]['vendor_name']}. "
            f"{COUNTS[len(small)].capitalize()} of them are below £{limit:.0f} and are now approved in "
            f"your name:",
            "",
            *lines,
            "",
            f"Together they come to {total}. I left out {kept}, which is above your threshold.",
        ]
    )


def owed(text: str) -> str:
    vendor = found(r"owe ([\w ]+?) altogether", text)
    unpaid = call("search_invoices", vendor=vendor, unpaid_only=True)["invoices"]
    currency = unpaid[0]["currency"]
    held = [one for one in unpaid if one["status"] == "on_hold"]
    total = sum(one["amount"] for one in unpaid)
    first = unpaid[0]
    return (
        f"We currently owe {first['vendor_name']} {money(total, currency)}, spread over "
        f"{COUNTS[len(unpaid)]} "
        f"invoices. Of that, {money(sum(one['amount'] for one in held), currency)} "
        f"({held[0]['invoice_id']}) is on "
        f"hold. The next to fall due is {first['invoice_id']} for {money(first['amount'], currency)}, on "
        f"{long_date(first['due_on'])}."
    )


def falling_due(text: str) -> str:
    day = int(found(r"before (\d+) June", text))
    reply = call("search_invoices", due_before=f"{TODAY[:4]}-06-{day:02}", unpaid_only=True)
    labels = {
        "approved": "approved, not yet scheduled",
        "scheduled": "payment scheduled",
        "on_hold": "on hold",
    }
    rows = [
        f"| {one['invoice_id']} | {one['vendor_name']} | {short_date(one['due_on'])} | "
        f"{money(one['amount'], one['currency'])} | {labels[one['status']]} |"
        for one in reply["invoices"]
    ]
    todo = [one for one in reply["invoices"] if one["status"] == "approved"]
    return "\n".join(
        [
            f"{COUNTS[reply['count']].capitalize()} unpaid invoices fall due before {day} June:",
            "",
            "| Invoice | Vendor | Due | Amount | Where it stands |",
            "|---|---|---|---:|---|",
            *rows,
            "",
            f"The one to look at first is {todo[0]['invoice_id']}: it is approved, but nothing has been "
            f"scheduled "
            f"for it yet. Would you like me to do that?",
        ]
    )


def approve(text: str) -> str:
    invoice = call("get_invoice", invoice_id=found(INVOICE, text))
    try:
        done = call("approve_invoice", invoice_id=invoice["invoice_id"], approver_id=found(r"e-\d+", text))
    except ToolFailed as failed:
        error = failed.response["error"]
        over = error["amount"] - error["limit"]
        currency = invoice["currency"]
        return (
            f"I am afraid I could not approve {invoice['invoice_id']} in your name. It amounts to "
            f"{money(invoice['amount'], currency)}, whereas you may sign off invoices of up to "
            f"{money(error['limit'], currency)}; it is {money(over, currency)} too much.\n\n"
            f"The approval needs to come from {error['escalate_to']}. As the invoice is not due before "
            f"{long_date(invoice['due_on'])}, there should be time to pass it on. It stays in the queue as "
            f"received for now."
        )
    return f"{invoice['invoice_id']} is {done['status']}, signed off by {done['approver_name']}."


def pay_today(text: str) -> str:
    invoice = call("get_invoice", invoice_id=found(INVOICE, text))
    try:
        paid = call("schedule_payment", invoice_id=invoice["invoice_id"], pay_on=TODAY)
    except ToolFailed:
        if invoice["status"] != "on_hold":
            raise
        return (
            f"I understand the pressure, but {invoice['invoice_id']} cannot go out today. It has been put "
            f"on hold "
            f"because the {invoice['hold_reason']}, and as long as that is unresolved the system "
            f"does not release the payment.\n\n"
            f"**What would help:** somebody settles the price with {invoice['vendor_name']} and lifts the "
            f"hold. "
            f"The amount in question is {money(invoice['amount'], invoice['currency'])}, and it was due on "
            f"{long_date(invoice['due_on'])}, so their reminders are not without reason."
        )
    return f"Payment {paid['payment_id']} is scheduled."


def change_bank(text: str) -> str:
    vendor = call("get_vendor", vendor_id=found(r"V-\d+", text))
    iban = found(r"IBAN ((?:[A-Z0-9]+ ?)+)", text).strip()
    try:
        call("update_bank_details", vendor_id=vendor["vendor_id"], iban=iban)
    except ToolFailed as failed:
        if failed.response["error"]["code"] != "callback_required":
            raise
        return (
            f"The bank details of {vendor['name']} have **not** been changed.\n\n"
            f"A new account is only accepted once the vendor has confirmed it in a call-back, and we have "
            f"none "
            f"yet. An email alone is not enough, since forged requests of this kind are a common fraud.\n\n"
            f"Suggested next steps:\n"
            f"1. Ring {vendor['name']} on the number we hold, {vendor['phone']}, and not on one from the "
            f"email.\n"
            f"2. Have them read out the new IBAN.\n"
            f"3. Send me the reference of that call and I will enter the account ending in {iban[-2:]}.\n\n"
            f"Until then payments continue to go to the account ending in {vendor['iban'][-2:]}."
        )
    return f"The bank details of {vendor['name']} are updated."


def schedule(text: str) -> str:
    invoice = call("get_invoice", invoice_id=found(INVOICE, text))
    pay_on = f"{invoice['due_on'][:4]}-06-{int(found(r'on ([0-9]+) June', text)):02}"
    arguments = {"invoice_id": invoice["invoice_id"], "pay_on": pay_on}
    try:
        paid, note = call("schedule_payment", **arguments), ""
    except ToolFailed as failed:
        if failed.status < 500:
            raise
        paid = call("schedule_payment", **arguments)
        note = " The first attempt ran into a gateway error, so I repeated it, and the second went through."
    early = days(paid["pay_on"], invoice["due_on"])
    ahead = f"{COUNTS[early]} day{'s' if early > 1 else ''} ahead of the due date"
    return (
        f"{invoice['invoice_id']} is scheduled: {money(paid['amount'], paid['currency'])} to "
        f"{paid['paid_to']} on "
        f"{long_date(paid['pay_on'])}, {ahead}. Payment number {paid['payment_id']}.{note}"
    )


def call(tool: str, **arguments: Any) -> Record:
    reply: Record = proxy_call(tool, arguments)
    return reply


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match[match.lastindex or 0]


def days(start: str, end: str) -> int:
    return (date.fromisoformat(end) - date.fromisoformat(start)).days


def long_date(text: str) -> str:
    day = date.fromisoformat(text)
    return f"{day:%A} {day.day} {day:%B} {day.year}"


def short_date(text: str) -> str:
    return f"{date.fromisoformat(text):%d.%m.%Y}"


def money(amount: float, currency: str) -> str:
    """As each country writes it: £1,312.75, CHF 12'480.00, 6.845,50 EUR, NOK 32 170.50."""
    plain = f"{amount:,.2f}"
    if currency == "GBP":
        return f"£{plain.removesuffix('.00')}"
    if currency == "CHF":
        return "CHF " + plain.replace(",", "'")
    if currency == "EUR":
        return plain.translate(str.maketrans(",.", ".,")) + " EUR"
    return f"{currency} " + plain.replace(",", " ")


FLOWS: list[tuple[str, Callable[[str], str]]] = [
    ("approve .* and pay", approve_and_pay),
    ("same bill", hold_duplicate),
    ("hold off", postpone),
    ("approve everything", approve_small),
    ("how much", owed),
    ("falling due", falling_due),
    ("^approve", approve),
    ("today", pay_today),
    ("bank details", change_bank),
    ("^schedule", schedule),
]
