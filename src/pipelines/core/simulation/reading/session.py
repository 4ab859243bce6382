"""Signing in and out, and who is signed in."""

from pipelines.core.english.words import joined, tokens, word_set
from pipelines.core.simulation.domain.shapes import Singleton
from pipelines.core.simulation.expr.make import NULL, Draft, arg, constant, is_given
from pipelines.core.simulation.expr.nodes import Expr
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    dot,
    find_one,
    name_for,
    refusal,
    require,
)
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
    into = find_one(holder, service.entity_type, constant(service.id))
    if is_status:
        state = dot(holder, signed) if signed else is_given(dot(holder, who or ""))
        return Drafted(steps=(into, {"return": _answered(reading, {"status": state})}), confidence=0.6)
    if reading.name.op == "logout":
        return Drafted(steps=(into, *_out(reading, holder, signed, who)), confidence=0.8)
    return Drafted(steps=(into, *_in(reading, holder, signed, who)), confidence=0.8)


def _in(reading: Reading, holder: str, signed: str | None, who: str | None) -> list[Step]:
    changes: dict[Expr, Draft] = {}
    name = next((one for one in reading.arguments if not one.is_credential and one.is_scalar), None)
    if signed is not None:
        changes[dot(holder, signed)] = True
    if who is not None and name is not None:
        changes[dot(holder, who)] = arg(name.name)
    return [{"set": changes}, {"return": _answered(reading, {"success": True})}]


def _out(reading: Reading, holder: str, signed: str | None, who: str | None) -> list[Step]:
    state = dot(holder, signed) if signed else is_given(dot(holder, who or ""))
    changes: dict[Expr, Draft] = {dot(holder, signed): False} if signed else {}
    changes |= {dot(holder, who): None} if who else {}
    return [
        require(state, refusal("not_logged_in", "Nobody is logged in", 409)),
        {"set": changes},
        {"return": _answered(reading, {"status": constant("Logged out successfully")})},
    ]


def _answered(reading: Reading, value: dict[str, Draft]) -> Draft:
    if not reading.output:
        return value
    extra = {key: part if isinstance(part, Expr) else constant(part) for key, part in value.items()}
    return reply(
        Source(value=NULL, noun="session", fields={}, extra=extra), reading.output, reading.arguments
    )


def _field(service: Singleton, names: frozenset[str]) -> str | None:
    return next(
        (
            name
            for name, field in service.fields.items()
            if joined(tokens(name)) in names and field.keeps is None and not field.parts
        ),
        None,
    )
