"""A second week of other agents, written after drafts of the first one were finished."""

from support.agent_traffic import Trade, prose

SECOND_WEEK = [
    Trade(
        skill="screen_payment",
        count=300,
        form="text",
        given=lambda c: {
            "payment_ref": f"PX{c.randrange(10**9)}",
            "risk": c.randrange(0, 100),
            "country": c.choice(("DE", "FR", "IT", "ES", "PL", "KY", "PA", "SC")),
            "amount": round(c.expovariate(1 / 400), 2),
            "first_time": c.random() < 0.3,
            "memo": prose(c),
        },
        rule=lambda g: {
            "decision": "hold"
            if g["risk"] >= 70
            else ("review" if g["country"] in ("KY", "PA", "SC") else "release")
        },
        exceptions=0.015,
        exception={"decision": "refuse"},
        drops=("memo",),
    ),
    Trade(
        skill="approve_leave",
        count=140,
        form="flat",
        given=lambda c: {
            "employee": f"E-{c.randrange(900)}",
            "days": c.randrange(1, 21),
            "team_absent": c.randrange(0, 6),
            "kind": c.choice(("holiday", "study", "unpaid")),
            "starts": f"2026-12-{c.randrange(1, 29):02d}",
        },
        rule=lambda g: {
            "action": "auto_approve"
            if g["days"] <= 5
            else ("decline" if g["team_absent"] >= 3 else "ask_manager")
        },
        more=lambda c: {"request_id": f"R{c.randrange(10**6)}"},
        drops=("kind",),
    ),
    Trade(
        skill="route_visit",
        count=190,
        form="text",
        given=lambda c: {
            "patient": {"ref": f"P{c.randrange(10**6)}", "age": c.randrange(1, 95)},
            "symptom": c.choice(("rash", "cough", "fracture", "headache")),
            "duration_days": c.randrange(1, 30),
            "words": prose(c),
        },
        rule=lambda g: {
            "department": "pediatrics"
            if g["patient"]["age"] < 16
            else {"rash": "skin", "cough": "lungs", "fracture": "surgery", "headache": "nerves"}[g["symptom"]]
        },
        more=lambda c: {"wait_minutes": c.randrange(5, 240)},
    ),
    Trade(
        skill="pick_carrier",
        count=200,
        form="flat",
        given=lambda c: {
            "parcel": f"{c.getrandbits(64):016x}",
            "weight_kg": f"{c.uniform(0.2, 60):.1f}",
            "express": c.random() < 0.35,
            "zone": c.choice(("1", "2", "3", "4")),
        },
        rule=lambda g: {
            "recommendation": "freight"
            if float(g["weight_kg"]) > 30
            else ("courier" if g["express"] else "post")
        },
        exceptions=0.02,
        exception={"recommendation": "pickup"},
    ),
    Trade(
        skill="review_translation",
        count=120,
        form="text",
        given=lambda c: {
            "segment_id": c.randrange(10**7),
            "source": prose(c),
            "target_language": c.choice(("sv", "fi", "da", "nb")),
            "length": c.randrange(10, 400),
        },
        rule=lambda g: None,
        chosen=lambda c: {"quality": c.choice(("good", "fair", "poor"))},
    ),
    Trade(
        skill="watch_grid",
        count=210,
        form="calls",
        given=lambda c: {
            "sku": f"feeder-{c.randrange(40)}",
            "demand_kw": round(c.gauss(700, 120), 1),
            "weekday": c.choice(("mon", "tue", "wed", "thu", "fri", "sat", "sun")),
        },
        rule=lambda g: {"tools": ["shed_load", "log_event"] if g["demand_kw"] > 800 else []},
    ),
    Trade(
        skill="reset_password",
        count=170,
        form="text",
        given=lambda c: {
            "account": f"u{c.randrange(10**6)}",
            "attempts": c.randrange(1, 4),
            "channel": c.choice(("web", "app")),
        },
        rule=lambda g: {"action": "send_link"},
        exceptions=0.02,
        exception={"action": "lock_account"},
        drops=("channel",),
    ),
    Trade(
        skill="place_bid",
        count=160,
        form="text",
        given=lambda c: {
            "lot": f"L-{c.randrange(10**5)}",
            "estimate": c.randrange(100, 900),
            "price": c.randrange(100, 900),
            "house": c.choice(("north", "south")),
        },
        rule=lambda g: {"action": "bid" if g["estimate"] - g["price"] > 50 else "pass"},
    ),
    Trade(
        skill="get_shift",
        count=150,
        form="chain",
        given=lambda c: {
            "shift_id": f"SH{c.randrange(10**6)}",
            "hours_rested": round(c.uniform(4, 20), 1),
            "role": c.choice(("driver", "nurse", "clerk")),
            "overtime": c.random() < 0.2,
        },
        rule=lambda g: {"tools": ["swap_shift", "notify"] if g["hours_rested"] < 11 else ["confirm_shift"]},
    ),
    Trade(
        skill="grade_essay",
        count=180,
        form="agent_tool",
        given=lambda c: {
            "essay": f"es-{c.randrange(10**6)}",
            "words": c.randrange(80, 900),
            "language": c.choice(("en", "de")),
            "late": c.random() < 0.2,
        },
        rule=lambda g: {"verdict": "fail" if g["words"] < 300 else "pass"},
        more=lambda c: {"comment": prose(c)},
        exceptions=0.05,
        exception={"verdict": "fail"},
    ),
    Trade(
        skill="control_valve",
        count=220,
        form="text",
        given=lambda c: {
            "at": f"2026-11-1{c.randrange(8)}T0{c.randrange(10)}:15:00Z",
            "pressure_bar": round(c.uniform(2, 12), 2),
            "mode": c.choice(("auto", "manual")),
            "sensor": f"PT-{c.randrange(20)}",
        },
        rule=lambda g: {"action": "close" if g["pressure_bar"] > 8.5 and g["mode"] == "auto" else "keep"},
    ),
    Trade(
        skill="assign_bay",
        count=160,
        form="text",
        given=lambda c: (
            {
                "pallet": f"PL{c.randrange(10**7)}",
                "goods": c.choice(("frozen", "dry", "fresh", "dry")),
                "height_cm": c.randrange(40, 220),
            }
            | ({"hazmat_code": f"UN{c.randrange(1000, 3500)}"} if c.random() < 0.2 else {})
        ),
        rule=lambda g: {
            "bay": "hazard"
            if "hazmat_code" in g
            else ("cold" if g["goods"] in ("frozen", "fresh") else "hall")
        },
        more=lambda c: {"cached": c.random() < 0.6},
    ),
    Trade(
        skill="audit_access",
        count=12,
        form="text",
        given=lambda c: {"user": f"u{c.randrange(10**6)}", "role": c.choice(("admin", "guest"))},
        rule=lambda g: {"action": "grant" if g["role"] == "admin" else "deny"},
    ),
]
