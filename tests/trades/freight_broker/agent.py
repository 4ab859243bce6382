"""The dispatcher of a freight broker: books trucks, moves appointments and answers questions about loads."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from pipelines.odyssey import ToolFailed, proxy_call

Record = dict[str, Any]
KG_PER_LB = 0.45359237
NUMBER_WORDS = {"nine": 9, "eight": 8, "seven": 7, "fifty": 50, "sixty": 60, "twenty": 20}


def answer(instruction: str) -> str:
    flow = next(flow for pattern, flow in FLOWS if re.search(pattern, instruction, re.IGNORECASE))
    return flow(instruction)


def move_delivery_with_detention(text: str) -> str:
    load_id = load_ids(text)[0]
    before = call("get_load", load_id=load_id)
    hour = re.search(r"March (\d+) at (\d+:\d+)", text)
    assert hour is not None
    year = before["deliver_at"][:4]
    at = f"{year}-03-{int(hour[1]):02}T{hour[2]}"
    moved = call("reschedule_stop", load_id=load_id, stop="delivery", at=at)
    hours = float(found(r"sat ([\d.]+) hours", text))
    charge = call("add_detention", load_id=load_id, stop="pickup", hours=hours)
    free = hours - charge["billable_hours"]
    return (
        f"Both done on {load_id}:\n\n"
        f"- **Delivery** in {before['destination']} moved from {when(before['deliver_at'])} to "
        f"{when(moved['deliver_at'])}.\n"
        f"- **Detention** at the shipper: {hours:g} hours on site, {free:g} of them free, so "
        f"{charge['billable_hours']:g} billable at ${charge['rate_per_hour']} an hour. "
        f"That puts {usd(charge['amount'])} on the load.\n\n"
        f"Worth giving {before['customer']} a heads-up about the new day."
    )


def cover_with_best(text: str) -> str:
    load = call("get_load", load_id=load_ids(text)[0])
    options = call("search_carriers", equipment=load["equipment"])["carriers"]
    ranked = sorted(options, key=lambda each: -each["on_time_percent"])
    best, second = ranked[:2]
    rate = dollars(found(r"pay ([\d,]+)", text))
    booked = call("book_carrier", load_id=load["load_id"], carrier_id=best["carrier_id"], rate_usd=rate)
    left = load["customer_rate"] - rate
    return (
        f"{load['load_id']} is covered. I looked at {len(options)} active {load['equipment']} carriers and "
        f"went with **{best['name']}** ({best['carrier_id']}): {best['on_time_percent']}% on time, ahead of "
        f"{second['name']} at {second['on_time_percent']}%.\n\n"
        f"They're running it for {usd(booked['carrier_rate'])} flat, confirmation {booked['confirmation']}. "
        f"The customer pays {usd(load['customer_rate'])}, so we keep {usd(left)}, or "
        f"{left / load['customer_rate'] * 100:.1f}%.\n\n"
        f"Truck needs to be in {load['origin']} on {when(load['pickup_at'])}. Shout if "
        f"anything changes."
    )


def cancel(text: str) -> str:
    done, refused = [], []
    for load_id in load_ids(text):
        load = call("get_load", load_id=load_id)
        try:
            done.append(load | call("cancel_load", load_id=load_id, reason="customer cancelled"))
        except ToolFailed:
            if load["status"] != "in_transit":
                raise
            refused.append(load)
    return still_rolling(refused[0]) if refused else cancelled(done)


def still_rolling(load: Record) -> str:
    return (
        f"No luck on {load['load_id']}: the freight is already on the road. It picked up in "
        f"{load['origin']} "
        f"and is due in {load['destination']} on {when(load['deliver_at'])}, and once a load is in "
        f"transit the "
        f"system won't let me cancel it. Nothing has changed on the file.\n\n"
        f"If {load['customer']} really don't want it, the realistic options are having them refuse it at "
        f"the "
        f"dock or arranging a return. Want me to talk that through with you?"
    )


def cancelled(done: list[Record]) -> str:
    lines = [f"{len(done)} loads pulled, {len(done)} loads cancelled:", ""]
    for number, load in enumerate(done, start=1):
        fee = load["tonu_fee"]
        cost = f"**{usd(fee)} truck-ordered-not-used fee**" if fee else "no fee"
        pickup = f"{when(load['pickup_at'])} pickup"
        lines.append(f"{number}. {load['load_id']} to {load['destination']} ({pickup}): {cost}")
    charged = [load for load in done if load["tonu_fee"]]
    total = sum(load["tonu_fee"] for load in done)
    lines += ["", f"So {usd(total)} in all, from {charged[0]['load_id']}, which already had a truck on it."]
    return "\n".join(lines)


def weight_and_rate(text: str) -> str:
    load = call("get_load", load_id=load_ids(text)[0])
    kilos = load["weight_lb"] * KG_PER_LB
    return (
        f"{load['load_id']} weighs {load['weight_lb']:,} lb, which is about {kilos:,.0f} kg (just over "
        f"{int(kilos / 1000)} metric tons). We're at {usd(load['customer_rate'])} for {load['miles']} "
        f"miles, "
        f"so roughly ${load['customer_rate'] / load['miles']:.2f} a mile."
    )


def open_loads(text: str) -> str:
    city = found(r"out of (\w+)", text)
    equipment = found(r"(van|reefer|flatbed)", text)
    reply = call("search_loads", origin=city, equipment=equipment, status="open")
    rows = [
        f"| {one['load_id']} | {one['destination']} | {when(one['pickup_at'])} | {one['miles']} mi | "
        f"{one['weight_lb']:,} lb | {usd(one['customer_rate'])} | "
        f"${one['customer_rate'] / one['miles']:.2f} |"
        for one in reply["loads"]
    ]
    best = max(reply["loads"], key=lambda one: one["customer_rate"] / one["miles"])
    head = ["| Load | To | Pickup | Distance | Weight | Rate | Per mile |", "|---|---|---|---|---|---|---|"]
    return "\n".join(
        [
            f"Yep, {counted(reply['count'])} {equipment} loads out of {city} still need a truck:",
            "",
            *head,
            *rows,
            "",
            f"Best money per mile is the {best['destination']} run, {best['load_id']}. The heaviest is "
            f"{max(one['weight_lb'] for one in reply['loads']):,} lb, so check your deck.",
        ]
    )


def book(text: str) -> str:
    load = call("get_load", load_id=load_ids(text)[0])
    carrier = call("get_carrier", carrier_id=found(r"MC-\d+", text))
    rate = dollars(found(r"(?:at|for) (\$?[\d,]+)", text)) if re.search(r"\d,\d{3}", text) else spoken(text)
    tries = 0
    while True:
        tries += 1
        try:
            booked = call(
                "book_carrier", load_id=load["load_id"], carrier_id=carrier["carrier_id"], rate_usd=rate
            )
        except ToolFailed as failed:
            if failed.status >= 500 and tries < 3:
                continue
            return not_booked(load, carrier, rate, failed.response)
        return retried(load, booked) if tries > 1 else booked_text(load, carrier, booked)


def not_booked(load: Record, carrier: Record, rate: float, response: Record) -> str:
    if "expired_on" in response:
        return (
            f"Can't put {carrier['name']} on {load['load_id']}. Their cargo insurance ran out on "
            f"{day(response['expired_on'])}, and pickup isn't until {when(load['pickup_at'])}, so we'd be "
            f"loading an uninsured truck. The load is still open.\n\n"
            f"Two ways forward:\n"
            f"- get a renewed certificate from them ({carrier['phone']}) and I'll try again, or\n"
            f"- I look for another {load['equipment']} carrier."
        )
    floor = int(found(r"floor is (\d+)%", response["error"]["message"]))
    most = load["customer_rate"] * (100 - floor) / 100
    percent = (load["customer_rate"] - rate) / load["customer_rate"] * 100
    return (
        f"I tried, but that booking got bounced: at {usd(rate)} we'd only keep "
        f"{usd(load['customer_rate'] - rate)} of the {usd(load['customer_rate'])} the customer pays. That's "
        f"{percent:.1f}%, and we don't go under {floor}%. {load['load_id']} is not assigned to anybody "
        f"yet.\n\n"
        f"The most I can offer {carrier['name']} is {usd(most)}, which is {usd(rate - most)} less than you "
        f"promised. Should I book it at that, or would you rather get a few more dollars out of "
        f"{load['customer']} first?"
    )


def retried(load: Record, booked: Record) -> str:
    return (
        f"All set: {booked['carrier']} is on {booked['load_id']} for {usd(booked['carrier_rate'])} "
        f"({booked['confirmation']}). The TMS didn't answer the first time around; the second attempt went "
        f"through. Pickup {when(load['pickup_at'])}, {load['origin']}."
    )


def booked_text(load: Record, carrier: Record, booked: Record) -> str:
    left = load["customer_rate"] - booked["carrier_rate"]
    return (
        f"Done, **{load['load_id']}** is booked. {booked['carrier']} ({carrier['carrier_id']}) takes it at "
        f"{usd(booked['carrier_rate'])} all-in; the rate con is {booked['confirmation']}.\n\n"
        f"Against the customer's {usd(load['customer_rate'])} that leaves us {usd(left)}, a margin of "
        f"roughly "
        f"{left / load['customer_rate'] * 100:.0f}%. Over {load['miles']} miles the truck makes about "
        f"${booked['carrier_rate'] / load['miles']:.2f} a mile.\n\n"
        f"Pickup: {when(load['pickup_at'])} in {load['origin']}. They run {carrier['on_time_percent']}% on "
        f"time, so I'm not worried about this one."
    )


def call(tool: str, **arguments: Any) -> Record:
    reply: Record = proxy_call(tool, arguments)
    return reply


def load_ids(text: str) -> list[str]:
    return re.findall(r"LD-\d+", text)


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.IGNORECASE)
    assert match is not None, pattern
    return match[match.lastindex or 0]


def dollars(text: str) -> float:
    return float(text.replace("$", "").replace(",", ""))


def spoken(text: str) -> float:
    """An amount in words under a thousand: nine hundred and fifty."""
    hundreds, rest = re.findall(r"(\w+) hundred(?: and (\w+))?", text)[0]
    return NUMBER_WORDS[hundreds] * 100 + (NUMBER_WORDS[rest] if rest else 0)


def counted(number: int) -> str:
    return {1: "one", 2: "two", 3: "three", 4: "four"}.get(number, str(number))


def usd(amount: float) -> str:
    return f"${amount:,.0f}" if amount == int(amount) else f"${amount:,.2f}"


def day(date: str) -> str:
    moment = datetime.fromisoformat(date)
    return f"{moment:%A}, {moment:%B} {moment.day}"


def when(time: str) -> str:
    moment = datetime.fromisoformat(time)
    return f"{day(time)} at {moment.hour}:{moment:%M}"


FLOWS: list[tuple[str, Callable[[str], str]]] = [
    ("detention", move_delivery_with_detention),
    ("covered", cover_with_best),
    ("cancel", cancel),
    ("how heavy", weight_and_rate),
    ("loads still open", open_loads),
    ("book|put|give", book),
]
