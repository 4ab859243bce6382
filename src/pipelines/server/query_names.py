"""Refuses unknown query parameters, because ignoring an unknown filter would return wrong results.

The check uses the parameters that a route declares. It applies to all lists and to each GET that declares a
parameter. A GET of one item without parameters accepts any query.
"""

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from pipelines.core.text.authored import did_you_mean, quote_names
from pipelines.core.text.problems import Problem, Refused

_LIST = "list_"  # how the names of functions begin that answer a list
_LONGEST_NAME = 80  # characters of an unknown one in the answer


def check_query(request: Request) -> None:
    """Raises Refused with every unknown parameter."""
    route = request.scope.get("route")
    if request.method != "GET" or not request.url.query or not isinstance(route, APIRoute):
        return
    known = declared_names(route)
    if not known and not route.name.startswith(_LIST):
        return
    unknown = dict.fromkeys(name for name, _ in request.query_params.multi_items() if name not in known)
    if unknown:
        raise Refused([_problem(name[:_LONGEST_NAME], known) for name in unknown], "the query")


def declared_names(route: APIRoute) -> tuple[str, ...]:
    """The query parameters of a route and its dependencies, in order."""
    return tuple(dict.fromkeys(_names(route.dependant)))


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for each in dependant.dependencies:
        yield from _names(each)


def _problem(name: str, known: tuple[str, ...]) -> Problem:
    known_text = f"known are {quote_names(known)}" if known else "this endpoint has none"
    return Problem(
        path=name,
        message=f"is not a query parameter of this endpoint: {known_text}",
        hint=did_you_mean(name, known),
    )
