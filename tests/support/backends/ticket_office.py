"""A ticket office: events with sections of seats, customers with points, bookings, vouchers and refunds."""

import random
from typing import ClassVar

from support.backends.backend import Backend, Refusal, Row, tool

POINTS_PER_EURO = 2
REFUND_SHARE = {"standard": 0.5, "flex": 1.0, "saver": 0.0}


class TicketOffice(Backend):
    tools: ClassVar = [
        tool("search_events", "Events in a city.", city="string", genre="string?"),
        tool("event_details", "Details of an event.", event_id="string"),
        tool(
            "buy_tickets",
            "Buy tickets.",
            customer_id="integer",
            event_id="string",
            section="string",
            count="integer",
            fare="string",
        ),
        tool("refund_booking", "Give a booking back.", booking_ref="string"),
        tool("my_bookings", "Bookings of a customer.", customer_id="integer"),
        tool("redeem_voucher", "Use a voucher.", customer_id="integer", code="string"),
        tool("get_customer", "A customer by email.", email="string"),
        tool("reschedule_event", "Move an event.", event_id="string", date="string"),
        tool("close_section", "Close a section.", event_id="string", section="string"),
        tool("join_waitlist", "Wait for tickets.", customer_id="integer", event_id="string"),
    ]

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        shows = [
            ("Aida", "Vienna", "opera"),
            ("Jazz Night", "Vienna", "jazz"),
            ("Hamlet", "Graz", "theatre"),
            ("Tosca", "Graz", "opera"),
            ("Big Band", "Linz", "jazz"),
        ]
        self.state["event"] = {
            f"ev_{n}": {
                "title": title,
                "city": city,
                "genre": genre,
                "date": f"2026-0{n + 3}-1{n}",
                "sections": {
                    "stalls": {"price": 60.0 + n, "left": chance.randrange(1, 9), "open": True},
                    "balcony": {"price": 35.5, "left": chance.randrange(5), "open": chance.random() < 0.8},
                },
                "waitlist": [],
            }
            for n, (title, city, genre) in enumerate(shows)
        }
        people = ["ida", "jon", "kim", "lea"]
        self.state["customer"] = {
            str(20 + n): {
                "id": 20 + n,
                "email": f"{name}@post.test",
                "tier": chance.choice(["basic", "gold"]),
                "points": chance.randrange(0, 300),
                "credit": float(chance.choice([0, 10, 500])),
            }
            for n, name in enumerate(people)
        }
        self.state["booking"] = {
            f"BK{n}X": {
                "ref": f"BK{n}X",
                "customer_id": chance.choice([20, 21, 22, 23]),
                "event_id": f"ev_{n}",
                "section": chance.choice(["stalls", "balcony"]),
                "count": 1 + n,
                "paid": 60.0 * (1 + n),
                "fare": chance.choice(list(REFUND_SHARE)),
                "state": chance.choice(["valid", "valid", "refunded"]),
            }
            for n in range(4)
        }
        self.state["voucher"] = {
            "SPRING": {"value": 15.0, "used": False},
            "GIFT50": {"value": 50.0, "used": chance.random() < 0.5},
        }

    def likely_call(self) -> tuple[str, Row]:
        pick, event = self.chance.choice, self.some("event")
        customer = int(self.some("customer")[-2:])
        email = self.state["customer"].get(str(customer), {"email": "who@post.test"})["email"]
        calls: list[tuple[str, Row]] = [
            (
                "search_events",
                {"city": pick(["Vienna", "Graz", "Linz", "Rome"])}
                | pick([{}, {"genre": pick(["opera", "jazz"])}]),
            ),
            ("event_details", {"event_id": event}),
            *2
            * [
                (
                    "buy_tickets",
                    {
                        "customer_id": customer,
                        "event_id": event,
                        "section": pick(["stalls", "balcony", "box"]),
                        "count": pick([1, 2, 7]),
                        "fare": pick(list(REFUND_SHARE)),
                    },
                )
            ],
            ("refund_booking", {"booking_ref": self.some("booking")}),
            ("my_bookings", {"customer_id": customer}),
            ("redeem_voucher", {"customer_id": customer, "code": pick(["SPRING", "GIFT50", "NOPE"])}),
            ("get_customer", {"email": email}),
            ("reschedule_event", {"event_id": event, "date": f"2026-0{self.chance.randrange(1, 9)}-20"}),
            ("close_section", {"event_id": event, "section": pick(["stalls", "balcony"])}),
            ("join_waitlist", {"customer_id": customer, "event_id": event}),
        ]
        return pick(calls)

    def _event(self, id: str) -> Row:
        return self.found("event", id, f"no event {id}")

    def _customer(self, id: int) -> Row:
        return self.found("customer", str(id), "no such customer")

    def search_events(self, city: str, genre: str | None = None) -> Row:
        hits = [
            {"event_id": id, "title": one["title"], "date": one["date"]}
            for id, one in self.state["event"].items()
            if one["city"] == city and (genre is None or one["genre"] == genre)
        ]
        return {"results": hits, "total": len(hits)}

    def event_details(self, event_id: str) -> Row:
        one = self._event(event_id)
        return {
            "id": event_id,
            "title": one["title"],
            "when": one["date"],
            "open_sections": [name for name, part in one["sections"].items() if part["open"]],
            "waiting": len(one["waitlist"]),
        }

    def buy_tickets(self, customer_id: int, event_id: str, section: str, count: int, fare: str) -> Row:
        customer, event = self._customer(customer_id), self._event(event_id)
        part = event["sections"].get(section)
        if part is None or not part["open"]:
            raise Refusal({"error": "section_unavailable", "section": section})
        if part["left"] < count:
            raise Refusal({"error": f"only {part['left']} left"})
        total = round(part["price"] * count * (0.9 if customer["tier"] == "gold" else 1.0), 2)
        if total > customer["credit"]:
            raise Refusal({"error": "not enough credit", "needed": total})
        part["left"] -= count
        customer["credit"] = round(customer["credit"] - total, 2)
        customer["points"] += int(total) * POINTS_PER_EURO
        ref = "BK" + "".join(self.chance.choice("0123456789ABCDEFGH") for _ in range(4))
        self.state["booking"][ref] = {
            "ref": ref,
            "customer_id": customer_id,
            "event_id": event_id,
            "section": section,
            "count": count,
            "paid": total,
            "fare": fare,
            "state": "valid",
        }
        return {"booking_ref": ref, "total": total, "credit_left": customer["credit"]}

    def refund_booking(self, booking_ref: str) -> Row:
        booking = self.found("booking", booking_ref, "booking not found")
        if booking["state"] == "refunded":
            raise Refusal({"error": "already refunded"})
        back = round(booking["paid"] * REFUND_SHARE[booking["fare"]], 2)
        booking["state"] = "refunded"
        self._customer(booking["customer_id"])["credit"] += back
        part = self.state["event"][booking["event_id"]]["sections"][booking["section"]]
        part["left"] += booking["count"]
        return {
            "refunded": back,
            "seats_back": booking["count"],
            "message": f"Booking {booking_ref} refunded: {back:.2f} EUR",
        }

    def my_bookings(self, customer_id: int) -> Row:
        self._customer(customer_id)
        mine = [one for one in self.state["booking"].values() if one["customer_id"] == customer_id]
        return {
            "bookings": [one["ref"] for one in mine if one["state"] == "valid"],
            "spent": round(sum(one["paid"] for one in mine), 2),
        }

    def redeem_voucher(self, customer_id: int, code: str) -> str:
        customer = self._customer(customer_id)
        voucher = self.state["voucher"].get(code)
        if voucher is None:
            return f"Error: voucher {code} is not known"
        if voucher["used"]:
            return "Error: voucher was used before"
        voucher["used"] = True
        customer["credit"] += voucher["value"]
        return f"{voucher['value']:.2f} added, credit is now {customer['credit']:.2f}"

    def get_customer(self, email: str) -> Row:
        for one in self.state["customer"].values():
            if one["email"] == email:
                return {**one, "level": "VIP" if one["points"] >= 150 else "regular"}
        raise Refusal({"error": f"nobody has {email}"})

    def reschedule_event(self, event_id: str, date: str) -> Row:
        event = self._event(event_id)
        if date <= "2026-02-01":
            raise Refusal({"error": "date is in the past"})
        old, event["date"] = event["date"], date
        return {"event_id": event_id, "from": old, "to": date}

    def close_section(self, event_id: str, section: str) -> Row:
        part = self._event(event_id)["sections"][section]
        if not part["open"]:
            raise Refusal({"error": f"{section} is closed"})
        part["open"] = False
        return {"closed": section, "seats_lost": part["left"]}

    def join_waitlist(self, customer_id: int, event_id: str) -> Row:
        self._customer(customer_id)
        event = self._event(event_id)
        if customer_id in event["waitlist"]:
            return {"position": event["waitlist"].index(customer_id) + 1, "new": False}
        event["waitlist"].append(customer_id)
        return {"position": len(event["waitlist"]), "new": True}
