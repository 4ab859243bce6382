"""/compare/matrices: two matrices as one heatmap, with the paired test above it."""

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from pipelines.core.evals.heatmap.comparison_page import ROW_FILTERS
from pipelines.core.text.problems import Problem
from pipelines.engine.find import find_matrix
from pipelines.server.api.common import platform_of
from pipelines.server.pages.evals.evals import TRAIL, Word, number_of, views_of
from pipelines.server.pages.page import page
from pipelines.server.pages.visitor import Reader
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals import evals
from pipelines.storage.evals.evals import Matrix
from pipelines.storage.lists.run_lists import agent_names
from pipelines.web.heatmap import trusted_table
from pipelines.wire.errors import NotFound

router = APIRouter()
PATH = "/compare/matrices"
MOST_OFFERED = 100
UNLIKELY = 0.05


@router.get(PATH)
async def compare_matrices(
    request: Request, visitor: Reader, to: Word = "", show: Word = "all", first: Word = ""
) -> Response:
    """Without `from`: the matrix before `to` of the same agent that has a scenario of it."""
    platform, org_id = platform_of(request), visitor.org_id
    show, at = show if show in ROW_FILTERS else "all", number_of(first) or 0
    given = {"from": request.query_params.get("from", "").strip()[:200], "to": to.strip()}
    problems: list[Problem] = []
    sides: list[Matrix] = []
    compared = None
    try:
        if given["to"]:
            later = await find_matrix(platform, org_id, given["to"])
            if not given["from"]:
                earlier = await platform.database.read(lambda read: evals.earlier_matrix(read, later))
                given["from"] = earlier or ""
            if given["from"]:
                ids = (given["from"], given["to"])
                found = await views_of(request).comparison(org_id, ids, first=at, show=show)
                sides, compared = [found.before, found.after], found.body
    except NotFound as missing:
        problems.append(Problem(path="", message=missing.message))
    offered, names = await platform.database.read(lambda connection: _offered(connection, org_id, sides))
    here = f"{PATH}?{urlencode(given)}"
    following = compared["next"] if compared is not None else None
    return await page(
        request,
        visitor,
        "compare_matrices.html",
        title="Compare matrices",
        here="evals",
        trail=TRAIL,
        status=422 if problems else 200,
        given=given,
        offered=offered,
        problems=problems,
        sides=[(matrix, names.get(matrix.agent_id, "")) for matrix in sides],
        compared=compared,
        table=trusted_table(compared["table"]) if compared is not None else "",
        legend=trusted_table(compared["legend"]) if compared is not None else "",
        meaning=meaning_of(compared["test"]) if compared is not None else "",
        show=show,
        here_url=here,
        more=f"{here}&show={show}&first={following}" if following is not None else None,
        back=f"{here}&show={show}" if at else None,
    )


def _offered(
    connection: Connection, org_id: int, chosen: list[Matrix]
) -> tuple[list[tuple[str, str]], dict[int, str]]:
    """The newest matrices to choose from, with the chosen ones; and the names of their agents."""
    filters = [Filter("org_id", org_id), Filter("kind", "matrix")]
    newest = evals.matrices_of_org(connection, filters=filters, limit=MOST_OFFERED, before_id=None).items
    listed = {matrix.matrix_id: matrix for matrix in (*newest, *chosen)}
    names = agent_names(connection, (matrix.agent_id for matrix in listed.values()), org_id=org_id)
    return [(id, _title(matrix, names)) for id, matrix in listed.items()], names


def _title(matrix: Matrix, names: dict[int, str]) -> str:
    build = matrix.label or matrix.reported_build
    named = f"{names.get(matrix.agent_id, 'agent')} v{matrix.agent_version}" + (
        f" ({build})" if build else ""
    )
    size: Any = matrix.settings.get("scenarios")
    return f"{named}, {matrix.created_at[:16].replace('T', ' ')}, {size} scenarios, {matrix.matrix_id[:12]}"


def meaning_of(test: Any) -> str:
    """Explains the result of the paired test to a reader who does not know the test."""
    pairs, worse, better, p = (test[name] for name in ("pairs", "regressed", "improved", "p"))
    if not pairs:
        return (
            "The matrices cannot be tested: they share no cell with the same scenario and variation version."
        )
    cells = f"{pairs:,} cell{'s' if pairs != 1 else ''} with the same scenario and variation"
    if not worse and not better:
        return f"{cells}. The match rate of none of them changed."
    chance = (
        f"Of {cells}, {worse:,} match less often and {better:,} more often. If the agent had not changed, a"
        f" difference this large would occur by chance {_often(p)}."
    )
    if p is not None and p < UNLIKELY and test["mean_difference"]:
        side = "worse" if test["mean_difference"] < 0 else "better"
        return f"{chance} This is evidence that the agent got {side}."
    return f"{chance} This is not enough evidence of a change."


def _often(p: float | None) -> str:
    if p is None:
        return "an unknown part of the time"
    return "less than 0.1 % of the time" if p < 0.001 else f"{p * 100:.1f} % of the time"
