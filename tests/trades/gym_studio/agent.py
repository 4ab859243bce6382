"""The front desk of a gym: classes, freezes and plans. Warm and talkative."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from pipelines.odyssey import ToolFailed, proxy_call

Record = dict[str, Any]
WEEKDAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
COUNTS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight"]


def answer(instruction: str) -> str:
    flow = next(flow for pattern, flow in FLOWS if re.search(pattern, instruction, re.IGNORECASE))
    return flow(instruction)


def swap(text: str) -> str:
    member = call("find_member", email=found(r"[\w.]+@[\w.]+\w", text))
    old_id = found(r"b-\d+", text)
    bookings = call("list_bookings", member_id=member["member_id"])["bookings"]
    old = next(one for one in bookings if one["booking_id"] == old_id)
    options = call("list_classes", title="pilates")["classes"]
    day, hour = found(rf"for the one on ({WEEKDAYS})", text), int(found(r"at (\d+)", text))
    new = next(one for one in options if weekday(one) == day and starts(one).hour == hour)
    call("cancel_booking", booking_id=old_id)
    booked = call("book_class", member_id=member["member_id"], class_id=new["class_id"])
    return (
        f"All swapped, {first_name(member)}! ✨\n\n"
        f"- **Cancelled:** {old['title']} with {old['coach']}, {moment(old)} ({old_id})\n"
        f"- **Booked:** {new['title']} with {new['coach']}, {moment(new)}, {new['room']} "
        f"({booked['booking_id']})\n\n"
        f"The credit from the first one paid for the second, so you still have "
        f"{COUNTS[booked['credits_left']]} left. See you on the reformer!"
    )


def freeze(text: str) -> str:
    member = call("get_member", member_id=member_id(text))
    plan = call("get_plan", name=member["plan"])
    days = days_of(text)
    left = plan["freeze_days_per_year"] - member["freeze_days_used"]
    if days > left:
        return cannot_freeze(member, plan, days, left)
    day = int(found(r"from (\d+) May", text))
    start = f"{member['renews_on'][:4]}-05-{day:02}"
    done = call("freeze_membership", member_id=member["member_id"], start=start, days=days)
    return (
        f"Lovely, have a great trip, {first_name(member)}! Your membership is frozen from "
        f"{date(done['freeze_from'])} for {days} days, and you can come back from "
        f"{date(done['freeze_until'])}. "
        f"Because of the break your next renewal slides from {date(member['renews_on'])} to "
        f"{date(done['renews_on'])}. You've now used {done['freeze_days_used']} of the "
        f"{plan['freeze_days_per_year']} freeze days {plan['name']} gives you each year, which leaves "
        f"{plan['freeze_days_per_year'] - done['freeze_days_used']}."
    )


def cannot_freeze(member: Record, plan: Record, days: int, left: int) -> str:
    return (
        f"I'm sorry to hear about your knee, {first_name(member)}, and I hope the surgery goes well.\n\n"
        f"Unfortunately I can't freeze the membership for the full {days} days. The {plan['name']} plan "
        f"comes "
        f"with {plan['freeze_days_per_year']} freeze days a year and {member['freeze_days_used']} of "
        f"yours are "
        f"already gone, so {left} is the longest break I could give you right now. I haven't changed "
        f"anything on your account.\n\n"
        f"If {left} days would help as a start, just say the word and I'll set it up. For the remaining "
        f"{days - left}, it may be worth asking the studio manager about a medical exception."
    )


def upgrade(text: str) -> str:
    member = call("get_member", member_id=member_id(text))
    old, new = call("get_plan", name=member["plan"]), call("get_plan", name="Unlimited")
    extra = new["monthly_eur"] - old["monthly_eur"]
    most = float(found(r"more than (\d+)", text))
    prices = (
        f"{new['name']} is {euro(new['monthly_eur'])} a month and {old['name']} is {euro(old['monthly_eur'])}"
    )
    if extra > most:
        return (
            f"{prices}, so that's {euro(extra)} more, above your {euro(most)}. I've left your plan as it is."
        )
    done = call("change_plan", member_id=member["member_id"], plan=new["name"])
    return (
        f"Good news, {first_name(member)}: {prices}, so you'd pay {euro(extra)} extra. That's under your "
        f"limit of {euro(most)}, so I've gone ahead and switched you! 💪\n\n"
        f"**{done['next_plan']}** starts with your renewal on {date(done['from'])}, at "
        f"{euro(done['monthly_eur'])} "
        f"per month. Until then you stay on {old['name']}, with {COUNTS[member['credits']]} credit left to "
        f"use. Over a whole year the difference comes to {euro(extra * 12)}, in case you're budgeting."
    )


def credits_and_renewal(text: str) -> str:
    member = call("get_member", member_id=member_id(text))
    bookings = call("list_bookings", member_id=member["member_id"])["bookings"]
    upcoming = " and ".join(f"{one['title']} on {moment(one)}" for one in bookings)
    return (
        f"Hi {first_name(member)}! You've got {COUNTS[member['credits']]} classes left on your "
        f"{member['plan']}, and it "
        f"renews on {date(member['renews_on'])}. On top of that you're already booked for {upcoming}. "
        f"Anything else you'd like to book before then?"
    )


def on_a_day(text: str) -> str:
    word, day = found(r"what (\w+)", text), found(rf"({WEEKDAYS})", text)
    classes = [one for one in call("list_classes", title=word)["classes"] if weekday(one) == day]
    lines = [
        f"Happy to help! There are {COUNTS[len(classes)]} {word} classes on {date(classes[0]['starts_at'])}:",
        "",
    ]
    for one in classes:
        spots = one["spots_left"]
        room = "fully booked" if not spots else "just one spot left" if spots == 1 else f"{spots} spots free"
        lines.append(
            f"* **{clock(starts(one))}–{clock(ends(one))}** {one['title']} with {one['coach']} "
            f"({one['room']}, {length(one['minutes'])}): {room}"
        )
    roomy = max(classes, key=lambda one: one["spots_left"])
    lines += ["", f"If you're not in a rush, {roomy['title']} has the most room. Shall I book you in? 🧘"]
    return "\n".join(lines)


def cancel(text: str) -> str:
    booking_id, member = found(r"b-\d+", text), call("get_member", member_id=member_id(text))
    bookings = call("list_bookings", member_id=member["member_id"])["bookings"]
    booked = next(one for one in bookings if one["booking_id"] == booking_id)
    try:
        done = call("cancel_booking", booking_id=booking_id)
    except ToolFailed as failed:
        hours = failed.response["hours_to_start"]
        cutoff = failed.response["cutoff_hours"]
        return (
            f"Oh no, sorry work got in the way, {first_name(member)}! I wasn't able to cancel "
            f"{booked['title']} for you, though: it starts at {clock(starts(booked))}, only about "
            f"{hours:g} hours "
            f"from now, and we need at least {cutoff} hours' notice. So the booking stands and the credit "
            f"can't "
            f"be returned.\n\nIf you can still squeeze it in, {booked['coach']} will be glad to see you. 🥊"
        )
    return f"Cancelled, {first_name(member)}. You have {done['credits_left']} credits now."


def book(text: str) -> str:
    member = call("get_member", member_id=member_id(text))
    title = found(r"(spin|hiit|barre)", text)
    options = call("list_classes", title=title)["classes"]
    day = found(rf"({WEEKDAYS})", text)
    hour = re.search(r"(\d+)(?::30| am)", text)
    wanted = next(
        one for one in options if weekday(one) == day and (hour is None or starts(one).hour == int(hour[1]))
    )
    for attempt in range(1, 5):
        try:
            booked = call("book_class", member_id=member["member_id"], class_id=wanted["class_id"])
        except ToolFailed as failed:
            if failed.status == 409:
                return full(member, wanted, options)
            if failed.status < 500:
                raise
        else:
            if attempt > 1:
                return in_after_retry(member, wanted, booked, attempt)
            return you_are_in(member, wanted, booked)
    return f"Sorry, {first_name(member)}, our booking system isn't answering. Nothing is booked yet."


def full(member: Record, wanted: Record, options: list[Record]) -> str:
    others = [one for one in options if one["spots_left"] > 0]
    lines = "\n".join(f"- {moment(one)} with {one['coach']}: {one['spots_left']} places" for one in others)
    return (
        f"Ah, bad luck {first_name(member)}, somebody was faster! {wanted['title']} on {moment(wanted)} "
        f"has no "
        f"places left, so I couldn't add you. Your credits are untouched; you still have "
        f"{member['credits']}.\n\nThese still have room:\n{lines}\n\nWant me to grab one of those?"
    )


def in_after_retry(member: Record, wanted: Record, booked: Record, attempts: int) -> str:
    left = booked["credits_left"]
    credit = "your last credit" if left == 0 else f"one credit, with {left} to go,"
    return (
        f"Phew, got you in, {first_name(member)}! Our booking system was restarting, so it took "
        f"{COUNTS[attempts]} attempts, but {wanted['title']} with {wanted['coach']} is yours: "
        f"{moment(wanted)}, "
        f"{wanted['room']}. That was {credit} before the renewal on {date(member['renews_on'])}, and "
        f"only one was used. Booking number: {booked['booking_id']}."
    )


def you_are_in(member: Record, wanted: Record, booked: Record) -> str:
    return (
        f"You're in, {first_name(member)}! 🎉 I've booked you onto **{wanted['title']}** with "
        f"{wanted['coach']} "
        f"on {moment(wanted)} in the {wanted['room']} (booking {booked['booking_id']}).\n\n"
        f"It's {wanted['minutes']} minutes, so you'll be out by {clock(ends(wanted))}. One credit went "
        f"towards "
        f"it and {COUNTS[booked['credits_left']]} remain. Don't forget a towel and a water bottle!"
    )


def call(tool: str, **arguments: Any) -> Record:
    reply: Record = proxy_call(tool, arguments)
    return reply


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.IGNORECASE)
    assert match is not None, pattern
    return match[match.lastindex or 0]


def member_id(text: str) -> str:
    return found(r"\bm-\d+", text)


def days_of(text: str) -> int:
    weeks = re.search(r"(\w+) weeks", text)
    return COUNTS.index(weeks[1]) * 7 if weeks else int(found(r"(\d+) days", text))


def first_name(member: Record) -> str:
    return str(member["name"]).split()[0]


def starts(session: Record) -> datetime:
    return datetime.fromisoformat(session["starts_at"])


def ends(session: Record) -> datetime:
    return starts(session) + timedelta(minutes=session["minutes"])


def weekday(session: Record) -> str:
    return f"{starts(session):%A}"


def clock(time: datetime) -> str:
    return f"{time.hour}:{time:%M}"


def date(text: str) -> str:
    day = datetime.fromisoformat(text)
    return f"{day:%A}, {day.day} {day:%B}"


def moment(session: Record) -> str:
    return f"{date(session['starts_at'])} at {clock(starts(session))}"


def length(minutes: int) -> str:
    hours = {60: "an hour", 75: "an hour and a quarter"}
    return hours.get(minutes, f"{minutes} minutes")


def euro(amount: float) -> str:
    return f"{amount:.2f}".replace(".", ",") + " €"


FLOWS: list[tuple[str, Callable[[str], str]]] = [
    ("swap", swap),
    ("freeze|pause", freeze),
    ("switch me", upgrade),
    ("how many classes", credits_and_renewal),
    ("^what ", on_a_day),
    ("cancel", cancel),
    ("get me|book me", book),
]
