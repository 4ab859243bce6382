"""The counter assistant of a bicycle workshop: chatty, first names, prices in euros.

It picks a flow by words of the instruction. What it says comes from the replies, the user's words or sums
of both.
"""

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from pipelines.odyssey import ToolFailed, proxy_call

ORDER = re.compile(r"\bBK/\d+-\d+\b")
SKU = re.compile(r"\b[A-Z]{2}-[A-Z0-9]+\b")
SLOT = re.compile(r"\bS-\d{4}-\d{4}\b")
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4}
STATUS = {"in_progress": "on the stand right now", "ready": "finished", "intake": "waiting for its turn"}


def answer(instruction: str) -> str:
    flow = next(flow for pattern, flow in FLOWS if re.search(pattern, instruction, re.IGNORECASE))
    return flow(instruction)


def add_part(asked: str) -> str:
    order_no, sku = ORDER.findall(asked)[0], SKU.findall(asked)[0]
    quantity = next((NUMBERS[word] for word in re.findall(r"[a-z]+", asked) if word in NUMBERS), 1)
    order = proxy_call("get_repair_order", {"order_no": order_no})
    wanted = {"order_no": order_no, "sku": sku, "quantity": quantity}
    tries = 1
    try:
        added = proxy_call("add_part", wanted)
    except ToolFailed as failed:
        if failed.status < 500:
            return over_limit(asked, order, sku, failed)
        tries, added = 2, proxy_call("add_part", wanted)
    if tries == 2:
        return (
            f"Done, though it took me two goes: our inventory system was down for a moment on the first one. "
            f"There's now one {added['name']} on {order_no} for {euros(added['line_total'])}. "
            f"With {duration(order['labour_minutes'])} of labour ({euros(order['labour_total'])}) your "
            f"{order['bike']} comes to {euros(added['order_total'])}, and we have {added['stock_left']} of "
            f"those chains left on the shelf."
        )
    return (
        f"Hi! No problem, I've added {quantity_word(quantity)} sets of {added['name']} to {order_no}. "
        f"They're {euros(added['unit_price'])} a set, so that's {euros(added['line_total'])} for front and "
        f"back.\n\nYour {order['bike']} was at {euros(order['total'])} before, which brings the job to "
        f"{euros(added['order_total'])} in all. That's still "
        f"{euros(order['approved_limit'] - added['order_total'])} short of the "
        f"{euros(order['approved_limit'])} you've approved, so we'll just crack on. Anything else squealing?"
    )


def over_limit(asked: str, order: dict[str, Any], sku: str, failed: ToolFailed) -> str:
    total, limit = (float(each) for each in re.findall(r"\d+\.\d\d", failed.response["error"]["message"]))
    name = re.findall(r"It's (\w+)", asked)[0]
    return (
        f"Sorry {name}, I couldn't put the {sku} on {order['order_no']}. The {order['bike']} is at "
        f"{euros(order['total'])} already and the derailleur would push it to {euros(total)}. The owner only "
        f"gave us the okay for {euros(limit)}, so we'd be {euros(total - limit)} over.\n\n"
        f"Best thing is to ring them and ask whether they're happy to go higher. Give me a shout once "
        f"they've agreed and the new limit is on the order, and I'll book the part straight away."
    )


def book_any(asked: str) -> str:
    order_no = ORDER.findall(asked)[0]
    day, month = re.findall(r"(\d+) (March)", asked)[0]
    earliest = int(re.findall(r"not before (\d+)", asked)[0])
    wanted = datetime.strptime(f"{day} {month} 2026", "%d %B %Y").date()
    free = proxy_call("list_free_slots", {"day": wanted.isoformat()})["slots"]
    hours = {slot["slot_id"]: datetime.fromisoformat(slot["starts_at"]).hour for slot in free}
    chosen = next(slot_id for slot_id, hour in hours.items() if earliest <= hour < 12)
    booked = proxy_call("book_slot", {"slot_id": chosen, "order_no": order_no})
    starts = datetime.fromisoformat(booked["starts_at"])
    return (
        f"You're all set! {order_no} is booked in for {spoken(starts.date())} at {starts:%H:%M} with "
        f"{booked['mechanic']}. The slot is {duration(booked['minutes'])} long. 🚲"
    )


def book_exact(asked: str) -> str:
    order_no, slot_id = ORDER.findall(asked)[0], SLOT.findall(asked)[0]
    try:
        proxy_call("book_slot", {"slot_id": slot_id, "order_no": order_no})
    except ToolFailed as failed:
        if failed.response["error"]["code"] != "slot_taken":
            raise
        return (
            f"Ah, bad luck: somebody else already has {slot_id}, so I couldn't get {order_no} in on Thursday "
            f"at 14:00. I know you said nothing else works, so I've left your order as it is and haven't "
            f"picked another time for you.\n\nIf your plans loosen up, tell me which days could do and I'll "
            f"look for a gap."
        )
    return f"Booked: {order_no} has {slot_id}."


def collect(asked: str) -> str:
    order_no = ORDER.findall(asked)[0]
    amount = float(re.findall(r"\d+\.\d\d", asked)[0])
    payment = proxy_call("record_payment", {"order_no": order_no, "amount": amount, "method": "card"})
    released = proxy_call("release_bike", {"order_no": order_no})
    left = "nothing left to pay" if not payment["balance_due"] else f"{euros(payment['balance_due'])} open"
    return (
        f"Thanks! {euros(payment['amount'])} went through on your card (payment {payment['payment_id']}), "
        f"there's {left}, and your {released['bike']} is signed out as of today, "
        f"{spoken(date.fromisoformat(released['collected_on']))}. Enjoy the ride home!"
    )


def release(asked: str) -> str:
    order_no = ORDER.findall(asked)[0]
    try:
        released = proxy_call("release_bike", {"order_no": order_no})
    except ToolFailed as failed:
        due = float(re.findall(r"\d+\.\d\d", failed.response["error"]["message"])[0])
        return (
            f"I'd love to get you rolling for tomorrow, but I can't sign {order_no} out yet. There's still "
            f"{euros(due)} to pay on it and a bike only leaves us once its bill is settled, so next week "
            f"would be too late for that, I'm afraid. If you can manage the {euros(due)} today, by card or "
            f"in cash, I'll have it out of the door in no time."
        )
    return f"{order_no} is {released['status']}."


def cancel(asked: str) -> str:
    done = [
        proxy_call("cancel_order", {"order_no": order_no, "reason": "bike sold"})
        for order_no in ORDER.findall(asked)
    ]
    lines = [f"- **{each['order_no']}** ({each['bike']}): {euros(each['refunded'])}" for each in done]
    total = sum(each["refunded"] for each in done)
    return "\n".join(
        [
            "Congrats on the sale! I've gone ahead and cancelled both jobs. This is what comes back to you:",
            "",
            *lines,
            "",
            f"So **{euros(total)}** altogether, back to you by {done[0]['refund_method']}.",
            "",
            "If there are new bikes coming into the fleet, just say the word and we'll set them up.",
        ]
    )


def balance(asked: str) -> str:
    order = proxy_call("get_repair_order", {"order_no": ORDER.findall(asked)[0]})
    parts = [
        f"  - {line['name']}: {line['quantity']} × {euros(line['unit_price'])}" for line in order["lines"]
    ]
    promised = date.fromisoformat(order["promised_on"])
    return "\n".join(
        [
            f"Hi there! Here's how things stand with {order['order_no']}, your {order['bike']}:",
            "",
            f"- Parts: {euros(order['parts_total'])}",
            *parts,
            f"- Labour: {duration(order['labour_minutes'])} at {euros(order['labour_rate'])} an hour, "
            f"so {euros(order['labour_total'])}",
            f"- Total: {euros(order['total'])}",
            f"- Already paid: {euros(order['paid'])} ({share(order['paid'], order['total'])})",
            "",
            f"That leaves **{euros(order['balance_due'])}** for when you collect it. We've promised it for "
            f"{spoken(promised)}. It's {STATUS[order['status']]}.",
            "",
            "Shall I take a payment in advance so that you're quicker at the counter?",
        ]
    )


def chains(asked: str) -> str:
    speed = re.findall(r"\d+-speed", asked)[0]
    found = proxy_call("search_parts", {"query": f"{speed} chain"})["parts"]
    rows = [
        f"| {part['name']} | {part['sku']} | {euros(part['price'])} | {part['stock'] or 'sold out'} |"
        for part in found
    ]
    here = [part for part in found if part["stock"]]
    gone = [part for part in found if not part["stock"]]
    back = [f"{part['name']}, back on {spoken(date.fromisoformat(part['restock_on']))}" for part in gone]
    return "\n".join(
        [
            f"We carry {quantity_word(len(found))} {speed} chains:",
            "",
            "| Chain | Part no. | Price | In stock |",
            "|---|---|---|---|",
            *rows,
            "",
            f"So {quantity_word(len(here))} of them you could have today, from {euros(here[0]['price'])}. "
            f"The one that's missing is the {back[0]}. Want me to put one on a repair for you?",
        ]
    )


def euros(amount: float) -> str:
    return f"€{amount:.2f}"


def share(part: float, whole: float) -> str:
    fractions = {1 / 2: "about half", 1 / 3: "about a third", 1 / 4: "about a quarter"}
    near = (word for value, word in fractions.items() if abs(part / whole - value) < 0.02)
    return next(near, f"about {100 * part / whole:.0f} %")


def spoken(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B}"


def duration(minutes: int) -> str:
    named = {45: "three quarters of an hour", 60: "an hour", 90: "an hour and a half"}
    return named.get(minutes, f"{minutes} minutes")


def quantity_word(number: int) -> str:
    return next((word for word, value in NUMBERS.items() if value == number), str(number))


FLOWS: list[tuple[str, Callable[[str], str]]] = [
    (r"\bcancel\b", cancel),
    (r"\bat the counter\b", collect),
    (r"\bsign it out\b", release),
    (r"\bS-\d{4}-\d{4}\b", book_exact),
    (r"\bmorning\b", book_any),
    (r"\bleft to pay\b", balance),
    (r"\bwhich\b.*\bchains\b", chains),
    (r"\b(add|put|book one)\b", add_part),
]
