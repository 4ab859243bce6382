"""The enquiry desk of a public library: courteous, whole sentences, dates and small numbers in words.

It picks a flow by words of the instruction. What it says comes from the replies, the user's words or sums
of both.
"""

import re
from collections.abc import Callable
from datetime import date, datetime

from pipelines.odyssey import ToolFailed, proxy_call

CARD = re.compile(r"\b20\d\d-\d{4}\b")
ISBN = re.compile(r"\b978(?:-\d+){4}\b")
BRANCHES = {"Riverside": "riverside", "Old Town": "old_town", "Northgate": "northgate"}
CARDINALS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
ORDINALS = ["", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]


def answer(instruction: str) -> str:
    flow = next(flow for pattern, flow in FLOWS if re.search(pattern, instruction, re.IGNORECASE))
    return flow(instruction)


def renew_all(asked: str) -> str:
    reader = proxy_call("get_patron", {"card_no": CARD.findall(asked)[0]})
    renewed = [proxy_call("renew_loan", {"loan_id": loan["loan_id"]}) for loan in reader["loans"]]
    days = {days_between(each["previously_due_on"], each["due_on"]) for each in renewed}
    lines = []
    for each in renewed:
        again = {0: "this was the last renewal", 1: "one more renewal possible"}[each["renewals_left"]]
        lines.append(f"- *{each['name']}* is now due on {spoken(each['due_on'])} ({again})")
    return "\n".join(
        [
            f"Dear {reader['name']},",
            "",
            f"With pleasure. I have renewed {'both' if len(renewed) == 2 else 'all'} of your loans by "
            f"{CARDINALS[days.pop() // 7]} weeks:",
            "",
            *lines,
            "",
            "You can therefore be away until the end of the month without any worries. Have a good trip!",
        ]
    )


def renew_one(asked: str) -> str:
    loan = {"loan_id": re.findall(r"L-\d+", asked)[0]}
    try:
        return renewed_at_once(proxy_call("renew_loan", loan))
    except ToolFailed as failed:
        if failed.status < 500:
            return cannot_renew(loan["loan_id"], failed)
    renewed = proxy_call("renew_loan", loan)
    return (
        f"Your loan of *{renewed['name']}* has been renewed and is now due on {spoken(renewed['due_on'])}, "
        f"{days_between(renewed['previously_due_on'], renewed['due_on'])} days later than before. Our system "
        f"stumbled over the first attempt, which is why I asked it twice, but rest assured that only one "
        f"renewal was counted. You have {CARDINALS[renewed['renewals_left']]} more left."
    )


def renewed_at_once(renewed: dict[str, str]) -> str:
    return f"*{renewed['name']}* is now due on {spoken(renewed['due_on'])}."


def cannot_renew(loan_id: str, failed: ToolFailed) -> str:
    told = dict(re.findall(r"(\w+)=([\w-]+)", failed.response["error"]["message"]))
    waiting = int(told["waiting"])
    readers = "reader has" if waiting == 1 else "other readers have"
    return (
        f"I am sorry, but I was not able to renew {loan_id}. {CARDINALS[waiting].title()} {readers} reserved "
        f"the same title, and in that case it has to come back for the next person. Please "
        f"return it by {spoken(told['due'])} as originally agreed.\n\nIf you have not finished it by then, "
        f"you are very welcome to join the waiting list yourself; I would only need your card number and a "
        f"branch."
    )


def reserve(asked: str) -> str:
    card, isbn, branch = CARD.findall(asked)[0], ISBN.findall(asked)[0], branch_in(asked)
    wanted = {"card_no": card, "isbn": isbn, "branch": BRANCHES[branch]}
    try:
        hold = proxy_call("place_hold", wanted)
    except ToolFailed as failed:
        if failed.response["error"]["code"] != "fines_outstanding":
            raise
        owed, most = (float(each) for each in re.findall(r"\d+\.\d\d", failed.response["error"]["message"]))
        return (
            f"Thank you for your request. Unfortunately I could not place the reservation: there are fines "
            f"of £{owed:.2f} on card {card}, and once more than £{most:.0f} is owed no new reservations can "
            f"be made. A payment of £{owed - most:.2f} would be enough to get you back to that mark, or you "
            f"could clear the whole sum. Would you like me to take a payment? I will gladly reserve the book "
            f"at {branch} directly afterwards."
        )
    ahead = hold["position"] - 1
    return (
        f"Your reservation is in place. *{hold['name']}* by {hold['author']} will be held for you at "
        f"{branch} as soon as it is your turn. You are {ORDINALS[hold['position']]} in the queue, with "
        f"{CARDINALS[ahead]} readers ahead of you and {CARDINALS[hold['copies']]} copies in circulation. The "
        f"reservation number is {hold['hold_id']}."
    )


def pay_then_reserve(asked: str) -> str:
    card, isbn, branch = CARD.findall(asked)[0], ISBN.findall(asked)[0], branch_in(asked)
    amount = float(re.findall(r"£(\d+\.\d\d)", asked)[0])
    paid = proxy_call("pay_fine", {"card_no": card, "amount": amount})
    hold = proxy_call("place_hold", {"card_no": card, "isbn": isbn, "branch": BRANCHES[branch]})
    left = "your account is clear again" if not paid["fines"] else f"£{paid['fines']:.2f} remains"
    first = ", so the next copy that comes back is yours" if hold["position"] == 1 else ""
    return (
        f"Dear {paid['name']},\n\nThank you for your payment of £{paid['paid']:.2f}; {left}.\n\n"
        f"I have also put you down for *{hold['name']}* ({hold['author']}), to be picked up at {branch}. You "
        f"are {ORDINALS[hold['position']]} in line{first}. Should anyone "
        f"at the desk ask, your reservation is {hold['hold_id']}.\n\nIs there anything else I can do for you?"
    )


def swap(asked: str) -> str:
    gone = proxy_call("cancel_hold", {"hold_id": re.findall(r"H-\d+", asked)[0]})
    branch = branch_in(asked)
    wanted = {"card_no": CARD.findall(asked)[0], "isbn": ISBN.findall(asked)[0], "branch": BRANCHES[branch]}
    hold = proxy_call("place_hold", wanted)
    copies = "a single copy" if hold["copies"] == 1 else f"{CARDINALS[hold['copies']]} copies"
    return (
        f"Both changes are made. Reservation {gone['hold_id']} is withdrawn, and you are now waiting for the "
        f"large print edition of *{hold['name']}* under {hold['hold_id']}, again for collection at {branch}. "
        f"You are number {CARDINALS[hold['position']]} on that list. Please bear in mind that we own "
        f"{copies} of it, so it may take a while."
    )


def closing_time(asked: str) -> str:
    day = re.findall(r"\b\w+day\b", asked)[0]
    branch = proxy_call("get_branch", {"branch": BRANCHES[branch_in(asked)]})
    opens, closes = (datetime.strptime(each, "%H:%M") for each in branch["hours"][day].split("-"))
    hours = (closes - opens).seconds // 3600
    return (
        f"On {day}s the {branch['name']} ({branch['address']}) is open until {closes.hour - 12} p.m.; "
        f"the doors open at {opens.hour} a.m., which gives you {CARDINALS[hours]} hours."
    )


def audiobook(asked: str) -> str:
    name = re.findall(r"have (.+?) as an audiobook", asked)[0]
    found = proxy_call("search_catalogue", {"query": name, "format": "audiobook"})["titles"][0]
    out = found["copies"] - found["available"]
    return (
        f"Yes, we do! *{found['name']}* by {found['author']} is on our shelves as an audiobook. It runs for "
        f"{found['minutes'] // 60} hours and {found['minutes'] % 60} minutes.\n\n"
        f"Of our {CARDINALS[found['copies']]} copies {CARDINALS[out]} is out at the moment and "
        f"{CARDINALS[found['available']]} is in; you will find it under **{found['shelf']}**. Shall I "
        f"reserve it so that nobody gets there before you?"
    )


def someone_elses_loans(asked: str) -> str:
    policy = proxy_call("get_policy", {"topic": "privacy"})["text"]
    reader, other = re.findall(r"\bM(?:rs|r|s) [A-Z]\w+", asked)
    court = ", unless a court orders it" if "court order" in policy else ""
    return (
        f"Dear {reader},\n\nI do understand the question, but I am afraid I cannot tell you what {other} has "
        f"borrowed. What our readers take home stays between them and the library: we only talk about it "
        f"with the holder of the card{court}. The same protection applies to your own card, of course.\n\n"
        f"The simplest way is probably to ask {other} directly. And if it is the book about estuaries that "
        f"you are after, I can look it up for you and put you on the waiting list."
    )


def branch_in(asked: str) -> str:
    return next(name for name in BRANCHES if name in asked)


def spoken(day: str) -> str:
    told = date.fromisoformat(day)
    return f"{told:%A}, {told.day} {told:%B}"


def days_between(start: str, end: str) -> int:
    return (date.fromisoformat(end) - date.fromisoformat(start)).days


FLOWS: list[tuple[str, Callable[[str], str]]] = [
    (r"\brenew everything\b", renew_all),
    (r"\brenew\b", renew_one),
    (r"\bcancel my reservation\b", swap),
    (r"\bI owe\b", pay_then_reserve),
    (r"\breserve\b", reserve),
    (r"\bopen on\b", closing_time),
    (r"\baudiobook\b", audiobook),
    (r"\bhe has borrowed\b", someone_elses_loans),
]
