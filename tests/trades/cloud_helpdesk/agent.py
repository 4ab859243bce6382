"""The help desk of a platform team: terse, code ticks, times in UTC, always a next step.

It picks a flow by words of the instruction. What it says comes from the replies, the user's words or sums
of both.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from pipelines.odyssey import ToolFailed, proxy_call

SERVICE = re.compile(r"\b[a-z]+-(?:api|worker|indexer|portal|resizer|db|cache)\b")
MAIL = re.compile(r"[\w.]+@[\w.]+\w")
ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}


def answer(instruction: str) -> str:
    flow = next(flow for pattern, flow in FLOWS if re.search(pattern, instruction, re.IGNORECASE))
    return flow(instruction)


def restart(asked: str) -> str:
    wanted = {"service": SERVICE.findall(asked)[0], "reason": asked.split(".")[0]}
    first_failure = None
    try:
        done = proxy_call("restart_service", wanted)
    except ToolFailed as failed:
        if failed.status < 500:
            raise
        first_failure = failed.status
        done = proxy_call("restart_service", wanted)
    up = f"{done['healthy_replicas']}/{done['replicas']} replicas up"
    if first_failure:
        return (
            f"`{done['service']}` is back: **{done['status']}**, {up}.\n\n"
            f"FYI, the control plane turned down my first request with a {first_failure}, so I repeated it "
            f"and the second one went through. The service was only bounced once; its restart counter for "
            f"today says {done['restarts_today']}."
        )
    since = re.findall(r"since (\d+:\d+)", asked)[0]
    return (
        f"Restarted `{done['service']}` ({done['env']}). It reports **{done['status']}** with {up}; this was "
        f"its {ORDINALS[done['restarts_today']]} restart today. Going by your {since} it sat idle for around "
        f"{minutes_since(since, done['restarted_at'])} minutes, so expect a bit of a backlog."
    )


def rollback(asked: str) -> str:
    deployment, incident = re.findall(r"dep-\w+", asked)[0], re.findall(r"inc_\d+", asked)[0]
    done = proxy_call(
        "rollback_deployment", {"deployment_id": deployment, "reason": "500s since the rollout"}
    )
    versions = f"{done['rolled_back_from']} -> {done['restored_version']}"
    note = f"Rolled back {deployment}: {done['service']} {versions}."
    noted = proxy_call("update_incident", {"incident_id": incident, "status": "mitigated", "note": note})
    return "\n".join(
        [
            "All done. Summary for the channel:",
            "",
            f"1. **Rollback.** `{done['deployment_id']}` is reverted, `{done['service']}` went from "
            f"{done['rolled_back_from']} back to **{done['restored_version']}**.",
            f"2. **Incident.** `{noted['id']}` is now *{noted['status']}*.",
            f'3. **Note on the timeline:** "{noted["notes"][-1]}"',
            "",
            "Next steps from my side would be:",
            "",
            "- watch the 500s for a few minutes before anybody calls it fixed",
            f"- keep {done['rolled_back_from']} out of the pipeline until the cause is known",
            "- tell me when you want the incident resolved, I've deliberately not done that",
        ]
    )


def scale(asked: str) -> str:
    service, replicas = SERVICE.findall(asked)[0], int(re.findall(r"to (\d+) replicas", asked)[0])
    before = proxy_call("get_service", {"service": service})
    try:
        done = proxy_call("scale_service", {"service": service, "replicas": replicas})
    except ToolFailed as failed:
        return over_quota(before, failed)
    rate, was, count = done["usd_per_replica_hour"], before["replicas"], done["replicas"]
    return (
        f"`{service}` now runs **{count} replicas** (was {was}, so {100 * (count - was) / was:+.0f}%).\n\n"
        f"Cost: ${rate:.2f} per replica and hour, i.e. ${rate * count:.2f}/h instead of ${rate * was:.2f}/h. "
        f"The {count - was} extra ones come to ${rate * (count - was):.2f} an hour, about "
        f"${round(24 * rate * (count - was))} if they stay up for a whole day. Ping me after the reindex and "
        f"I'll take it back down to {was}."
    )


def over_quota(before: dict[str, Any], failed: ToolFailed) -> str:
    told = dict(re.findall(r"(\w+)=(\w+)", failed.response["error"]["message"]))
    limit, others, requested = (int(told[key]) for key in ("limit", "used_by_others", "requested"))
    return (
        f"Couldn't do it, sorry. {told['env']} is capped at {limit} replicas in total and the other services "
        f"take up {others} of those, so {requested} for `{before['name']}` would land us at "
        f"{others + requested}, {others + requested - limit} too many. "
        f"It's still on {before['replicas']}.\n\n"
        f"Ways forward before noon:\n"
        f"- I set it to {limit - others}, which is the most that fits right now\n"
        f"- you free some replicas elsewhere in {told['env']}\n"
        f"- you ask for a bigger quota and I scale afterwards\n\n"
        f"Which one?"
    )


def grant(asked: str) -> str:
    user, hours = MAIL.findall(asked)[0], int(re.findall(r"(\d+) hours", asked)[0])
    role, resource = re.findall(r"(viewer|operator|admin)[\w ]*? on ([\w-]+)", asked)[0]
    try:
        done = proxy_call("grant_access", {"user": user, "resource": resource, "role": role, "hours": hours})
    except ToolFailed as failed:
        if failed.response["error"]["code"] != "approval_required":
            raise
        return (
            f"No can do, {user.split('.')[0].title()}. {role.title()} rights on `{resource}` are only handed "
            f"out against a change request that somebody has signed off, and I don't see one in your name, "
            f"not even for {hours} hours. File the request, get it approved, then come back to me and it's a "
            f"matter of seconds. If the invoice is urgent, maybe a colleague who already has the role can "
            f"fix it."
        )
    expires = moment(done["expires_at"])
    return (
        f"{user.split('.')[0].title()} is in: `{done['role']}` on `{done['resource']}` for {hours} hours, "
        f"until {expires:%H:%M} UTC today (grant `{done['grant_id']}`)."
    )


def health(asked: str) -> str:
    service = proxy_call("get_service", {"service": SERVICE.findall(asked)[0]})
    rate, down = service["error_rate_pct"], service["replicas"] - service["healthy_replicas"]
    return "\n".join(
        [
            f"`{service['name']}` {service['version']} ({service['env']}) as of "
            f"{moment(service['as_of']):%H:%M} UTC: **{service['status']}**",
            "",
            f"- error rate: **{rate}%**, so roughly one request in {round(100 / rate)} fails",
            f"- p95: **{service['p95_ms'] / 1000:g} s** ({service['p95_ms']} ms)",
            f"- replicas: {service['healthy_replicas']} of {service['replicas']} healthy, {down} is not",
            "",
            f"Owner is the {service['owner']} team, in case the call needs somebody to talk to.",
        ]
    )


def open_incidents(asked: str) -> str:
    service = SERVICE.findall(asked)[0]
    found = proxy_call("search_incidents", {"service": service, "status": "open"})
    rows = []
    for each in found["incidents"]:
        age = moment(found["as_of"]) - moment(each["opened_at"])
        opened = f"{moment(each['opened_at']):%d %b %H:%M}"
        owner = each["assignee"] or "nobody yet"
        rows.append(
            f"| `{each['id']}` | {each['title']} | {each['severity']} | {opened} | {spell(age)} | {owner} |"
        )
    oldest = min(found["incidents"], key=lambda each: each["opened_at"])
    since = part_of_day(moment(oldest["opened_at"]))
    advice = "" if oldest["assignee"] else "It has no owner, so you may want to find one today."
    return "\n".join(
        [
            f"`{service}` has {found['count']} open incidents (times in UTC):",
            "",
            "| Incident | What | Sev | Opened | Open for | Assignee |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            f"The oldest is `{oldest['id']}`, around since {since}. {advice}",
        ]
    )


def deploy(asked: str) -> str:
    service, version = SERVICE.findall(asked)[0], re.findall(r"\b\d+\.\d+\.\d+\b", asked)[0]
    current = proxy_call("get_service", {"service": service})
    try:
        done = proxy_call("deploy_version", {"service": service, "version": version})
    except ToolFailed as failed:
        if failed.status != 423:
            raise
        message = failed.response["error"]["message"]
        thaw = moment(re.findall(r"until (\S+)", message)[0])
        why = re.findall(r"\((.+)\)", message)[0]
        return (
            f"{version} did not go out. {current['env'].title()} is locked for the {why} and takes no new "
            f"releases before {thaw:%A}, {thaw.day} {thaw:%B}, {thaw:%H:%M} UTC. That's "
            f"{roughly(thaw - moment(current['as_of']))} from now. `{service}` keeps running "
            f"{current['version']} until then.\n\n"
            f"If marketing really can't wait, take it up with whoever owns the freeze. Otherwise ping me on "
            f"{thaw:%A} morning and I'll roll it out first thing."
        )
    return f"`{service}` is on {done['version']}."


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def minutes_since(clock: str, end: str) -> int:
    hour, minute = clock.split(":")
    start = moment(end).replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
    return int((moment(end) - start).total_seconds() // 60)


def spell(age: timedelta) -> str:
    hours, minutes = age.seconds // 3600, age.seconds % 3600 // 60
    return f"{age.days} d {hours} h" if age.days else f"{hours} h {minutes} min"


def roughly(age: timedelta) -> str:
    days, rest = divmod(age / timedelta(days=1), 1)
    return f"just under {days + 1:.0f} days" if rest > 0.75 else f"a good {days:.0f} days"


def part_of_day(when: datetime) -> str:
    named = ((5, "night"), (12, "morning"), (18, "afternoon"), (22, "evening"), (24, "night"))
    return f"{when:%A} {next(word for end, word in named if when.hour < end)}"


FLOWS: list[tuple[str, Callable[[str], str]]] = [
    (r"\b(restart|bounce)\b", restart),
    (r"\broll it back\b", rollback),
    (r"\bscale\b", scale),
    (r"\b(viewer|operator|admin)\b", grant),
    (r"\berror rate\b", health),
    (r"\bincidents\b", open_incidents),
    (r"\bship\b", deploy),
]
