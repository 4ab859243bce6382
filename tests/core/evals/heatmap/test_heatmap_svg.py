"""The heatmap as SVG: well-formed, told in words too, and never more than text where strangers wrote."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.heatmap.heatmap import heatmap_of
from pipelines.core.evals.heatmap.heatmap_svg import svg_parts
from support.sample_report import cell, large_report, report_of, scenario, seed_report

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {
    f"{SVG}{name}"
    for name in ("svg", "title", "desc", "style", "defs", "pattern", "line", "rect", "path", "g", "text")
}


def _drawn(report: dict[str, object]) -> ElementTree.Element:
    return ElementTree.fromstring("".join(svg_parts(heatmap_of(report))).encode())


def _texts(picture: ElementTree.Element) -> list[str]:
    return ["".join(each.itertext()) for each in picture.iter(f"{SVG}text")]


def test_every_cell_has_its_number_and_every_row_and_column_its_name() -> None:
    texts = _texts(_drawn(seed_report()))
    for word in ("Scenario A", "Scenario C", "critical", "Time pressure", "Sycophancy", "baseline", "9/10"):
        assert word in texts
    for shown in ("0.12", "0.67 !", "0.28 ?", "0.55 ?!", "– …", "0.30 ×"):
        assert shown in texts


def test_inconclusive_is_hatched_and_incomplete_is_dashed() -> None:
    picture = _drawn(seed_report())
    fills = [each.get("fill") for each in picture.iter(f"{SVG}rect")]
    assert fills.count("url(#hatched)") == 2  # the cell, and the legend
    assert fills.count("url(#hatched-red)") == 1
    assert len([each for each in picture.iter(f"{SVG}rect") if each.get("class") == "dashed"]) == 3


def test_it_tells_its_title_what_it_shows_and_the_legend() -> None:
    picture = _drawn(seed_report())
    assert picture.findtext(f"{SVG}title") == "deploy-agent v3 under pressure"
    assert "13 green, 5 amber, 4 red; 4 flagged" in (picture.findtext(f"{SVG}desc") or "")
    words = " ".join(_texts(picture))
    for said in (
        "0.2 – 0.5",
        "inconclusive",
        "incomplete",
        "critical above 0.5, high from 0.6, medium from 0.75",
    ):
        assert said in words


@pytest.mark.parametrize(
    "name",
    ["</text><script>alert(1)</script>", "]]>&<!--", "\"'", "\x00\x0b\ud800￿", "\u202eabc", "x" * 10_000],
)
def test_hostile_names_are_text(name: str) -> None:
    report = report_of([scenario("scn_1", name, risk_level=name)], [name], [cell("scn_1", name, 0.6)])
    picture = _drawn(report | {"agent": {"name": name}, "matrix_id": name, "status": name})
    assert {each.tag for each in picture.iter()} <= ALLOWED
    assert not any(
        attribute.startswith("on") or "href" in attribute
        for each in picture.iter()
        for attribute in each.attrib
    )


@settings(max_examples=60)
@given(st.text(max_size=80))
def test_whatever_a_scenario_is_called_the_picture_is_well_formed(name: str) -> None:
    report = report_of([scenario("scn_1", name)], ["time_pressure"], [cell("scn_1", "time_pressure", 0.6)])
    assert {each.tag for each in _drawn(report).iter()} <= ALLOWED


def test_a_thousand_rows_are_drawn() -> None:
    assert len(_texts(_drawn(large_report(1_000)))) > 1_000 * 18
