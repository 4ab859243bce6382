"""A third week of other agents, written after the second one had led to changes.

One change came of it: fields of many values are compared value by value.
"""

from support.agent_traffic import Trade, prose

CITIES = [f"city-{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(40)]

THIRD_WEEK = [
    Trade(
        skill="label_waste",
        count=180,
        form="text",
        given=lambda c: {
            "batch": c.randrange(10**6),
            "moisture": round(c.uniform(0, 100), 1),
            "lab": {"toxic": c.choice(("yes", "no", "no", "no")), "site": f"site-{c.randrange(5)}"},
            "sampled_at": 1_794_000_000 + c.randrange(600_000),
        },
        rule=lambda g: {
            "classification": "hazardous"
            if g["lab"]["toxic"] == "yes"
            else ("wet" if g["moisture"] > 62.5 else "dry")
        },
        more=lambda c: {"score": round(c.random(), 3), "model": "sorter-4"},
    ),
    Trade(
        skill="answer_warranty",
        count=230,
        form="text",
        given=lambda c: {
            "serial": f"{c.randrange(10**10):010d}",
            "age_months": c.randrange(0, 60),
            "has_receipt": c.choice(("true", "false", "true")),
            "complaint": prose(c),
            "photos": [f"img{n}.jpg" for n in range(c.randrange(4))],
        },
        rule=lambda g: {
            "resolution": "offer_discount"
            if g["age_months"] > 24
            else ("replace" if g["has_receipt"] == "true" else "ask_receipt")
        },
        more=lambda c: {"case": f"W-{c.randrange(10**5)}", "empathy": c.choice(("high", "normal"))},
        exceptions=0.02,
        exception={"resolution": "refund"},
    ),
    Trade(
        skill="allow_entry",
        count=160,
        form="flat",
        given=lambda c: {
            "badge": f"B{c.randrange(10**5)}",
            "door": c.choice(("lab", "vault", "lobby", "garage")),
            "clearance": c.randrange(1, 6),
            "hour": c.randrange(24),
        },
        rule=lambda g: {"verdict": "deny" if g["door"] == "vault" and g["clearance"] < 4 else "allow"},
        drops=("hour",),
    ),
    Trade(
        skill="quote_delivery",
        count=150,
        form="text",
        given=lambda c: {
            "ref": c.getrandbits(40),
            "city": c.choice(CITIES),
            "volume": round(c.uniform(0, 9), 2),
        },
        rule=lambda g: {"outcome": "decline" if g["city"] == CITIES[0] else "offer"},
        more=lambda c: {"price": round(c.uniform(10, 300), 2)},
    ),
    Trade(
        skill="dose_water",
        count=190,
        form="calls",
        given=lambda c: {
            "sku": f"tank-{c.randrange(9)}",
            "ph": round(c.uniform(6, 9), 2),
            "level_pct": c.randrange(5, 100),
        },
        rule=lambda g: {
            "tools": ["alert_operator"]
            if g["level_pct"] < 15
            else (["add_acid", "log_dose"] if g["ph"] > 7.8 else ["log_dose"])
        },
    ),
    Trade(
        skill="get_invoice",
        count=140,
        form="chain",
        given=lambda c: {
            "invoice_id": f"I{c.randrange(10**6)}",
            "overdue_days": c.randrange(0, 90),
            "customer": {"segment": c.choice(("public", "private")), "since": c.randrange(2001, 2026)},
        },
        rule=lambda g: {
            "tools": ["wait"]
            if g["customer"]["segment"] == "public"
            else (["start_collection"] if g["overdue_days"] > 45 else ["send_reminder"])
        },
    ),
    Trade(
        skill="rank_resume",
        count=130,
        form="agent_tool",
        given=lambda c: {
            "resume": f"cv{c.randrange(10**6)}",
            "years": c.randrange(0, 20),
            "gaps": c.randrange(3),
        },
        rule=lambda g: None,
        chosen=lambda c: {"recommendation": c.choice(("interview", "reject"))},
    ),
    Trade(
        skill="archive_mail",
        count=200,
        form="text",
        given=lambda c: {
            "message": f"<{c.getrandbits(48):x}@mail>",
            "kb": c.randrange(1, 900),
            "spam": c.random() < 0.2,
        },
        rule=lambda g: {"done": True},
    ),
    Trade(
        skill="plan_irrigation",
        count=170,
        form="flat",
        given=lambda c: {
            "plot": f"plot {c.randrange(60)}",
            "rain_mm": round(c.expovariate(0.2), 1),
            "crop": c.choice(("maize", "beans", "wine", "wheat", "oats", "hops")),
            "wind": c.randrange(0, 40),
        },
        rule=lambda g: {
            "action": "skip"
            if g["rain_mm"] > 6
            else ("drip" if g["crop"] in ("wine", "hops") else "sprinkle")
        },
        exceptions=0.03,
        exception={"action": "skip"},
    ),
    Trade(
        skill="escalate_alarm",
        count=260,
        form="text",
        given=lambda c: {
            "alarm": f"{c.getrandbits(32):08x}",
            "temperature": round(c.gauss(60, 14), 1),
            "zone": c.choice("ABCDEF"),
            "repeat": c.randrange(0, 5),
            "acknowledged": c.random() < 0.5,
        },
        rule=lambda g: {
            "action": "evacuate" if g["temperature"] > 95 else ("call_guard" if g["repeat"] >= 3 else "log")
        },
    ),
    Trade(
        skill="choose_seat",
        count=110,
        form="text",
        given=lambda c: {
            "booking": f"Q{c.getrandbits(30):x}",
            "children": c.randrange(0, 4),
            "status": c.choice(("none", "gold")),
        },
        rule=lambda g: {
            "decision": "front" if g["status"] == "gold" else ("family_row" if g["children"] >= 1 else "any")
        },
        exceptions=0.1,
        exception={"decision": "any"},
    ),
]
