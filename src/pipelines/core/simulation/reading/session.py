"""Sessions: signing in and out of a service that keeps who is signed in, and asking whether somebody is."""

from pipelines.core.english.words import joined, tokens, word_set
from pipelines.core.simulation.domain.shapes import Singleton
from pipelines.core.simulation.expr.make import NULL, Draft, arg, constant, is_given
from pipelines.core.simulation.expr.nodes import Expr
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import Drafted, Step, dot, find_one, name_for, refusal, require
from pipelines.core.simulation.reading.tool_reading import Reading

_SIGNED_IN = word_set(
    "authenticated loggedin isloggedin isauthenticated login signedin issignedin sessionactive loginstatus"
)
_WHO = word_set("currentuser username user userid currentuserid loggedinuser activeuser currentusername")


def read_session(reading: Reading) -> Drafted | None:
    """login, logout and login status of a service that keeps a session."""
    service = reading.service
    is_status = reading.name.reads() and "login" in reading.name.nouns
    if service is None or not (reading.name.op in ("login", "logout") or is_status):
        return None
    signed, who = _field(service, _SIGNED_IN), _field(service, _WHO)
    if signed is None and who is None:
        return None
    holder = name_for(service.entity_type)
    state = dot(holder, signed) if signed else is_given(dot(holder, who or ""))
    steps: list[Step] = [find_one(holder, service.entity_type, constant(service.id))]
    if is_status:
        answer = _answered(reading, {"status": state})
        return Drafted(steps=(*steps, {"return": answer}), confidence=0.6)
    is_in = reading.name.op == "login"
    given = next((one for one in reading.arguments if not one.is_credential and one.is_scalar), None)
    changes: dict[Expr, Draft] = {dot(holder, signed): is_in} if signed else {}
    if who is not None and (given is not None or not is_in):
        changes[dot(holder, who)] = arg(given.name) if is_in and given is not None else None
    if not is_in:
        steps.append(require(state, refusal("not_logged_in", "Nobody is logged in", 409)))
    slots: dict[str, Draft] = {"success": True} if is_in else {"status": constant("Logged out successfully")}
    steps += [{"set": changes}, {"return": _answered(reading, slots)}]
    return Drafted(steps=tuple(steps), confidence=0.8)


def current_user(reading: Reading) -> Expr | None:
    """Who is signed in, if the service keeps it: in a plan that has found the service."""
    name = _field(reading.service, _WHO) if reading.service is not None else None
    return dot(name_for(reading.service.entity_type), name) if reading.service and name else None


def _answered(reading: Reading, value: dict[str, Draft]) -> Draft:
    if not reading.output:
        return value
    extra = {key: part if isinstance(part, Expr) else constant(part) for key, part in value.items()}
    source = Source(value=NULL, noun="session", fields={}, extra=extra)
    return reply(source, reading.output, reading.arguments)


def _field(service: Singleton, names: frozenset[str]) -> str | None:
    plain = (name for name, one in service.fields.items() if one.keeps is None and not one.parts)
    return next((name for name in plain if joined(tokens(name)) in names), None)
