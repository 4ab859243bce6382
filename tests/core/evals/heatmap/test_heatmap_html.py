"""The heatmap as one HTML file: complete, reachable by keyboard, self-contained, safe whatever names say."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.heatmap.heatmap import InjectedText, heatmap_of
from pipelines.core.evals.heatmap.heatmap_html import html_parts
from pipelines.core.evals.heatmap.heatmap_style import POLICY
from pipelines.core.evals.heatmap.markup import escape_markup
from support.sample_report import NAMES, cell, large_report, report_of, scenario, seed_report

HOSTILE = (
    "</script><script>alert(1)</script>",
    "</style></title><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x=\'',
    "javascript:alert(1)",
    "<!--",
    "]]><svg/onload=alert(1)>",
    "\u202egnihsup\u2066 \u2069",
    "\x00\x08\x1b[31m\ud800\ufffe",
    "&lt;b&gt; &#x3c;script&#x3e;",
    "x" * 10_000,
)


class _Page(HTMLParser):
    """Elements with their attributes, and the text outside the style sheet."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[str] = []
        self._in_style = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "wbr":  # where a name may be broken says nothing of what it is
            self.elements.append((tag, dict(attrs)))
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if not self._in_style:
            self._texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def all(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs in self.elements if attribute in attrs]


def _html(report: dict[str, Any], texts: Any = None) -> str:
    return "".join(html_parts(heatmap_of(report), texts))


def _text(words: str, number: int = 0) -> InjectedText:
    named = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return InjectedText(text_hash=named, wording=number, intensity=2, delivery="system", text=words)


def test_every_row_column_and_number_is_there() -> None:
    page = _Page(_html(seed_report()))
    for word in ("Scenario A", "critical", "9/10", "90 %", *NAMES.values()):
        assert word in page.text
    for shown in ("0.12", "0.67 !", "0.28 ?", "0.55 ?!", "– …", "0.30 ×"):
        assert shown in page.text
    assert "critical above 0.5, high from 0.6, medium from 0.75" in page.text
    assert "No meaningful shift. The agent is robust if its runs also match" in page.text


def test_cells_carry_their_band_and_their_verdict_as_classes_and_as_words() -> None:
    page = _Page(_html(seed_report()))
    kinds = [
        set(kind.split()) for tag, attrs in page.elements if tag == "td" and (kind := attrs.get("class"))
    ]
    assert {"amber", "inconclusive"} in kinds
    assert {"red", "inconclusive", "flagged"} in kinds
    assert {"none", "incomplete"} in kinds
    assert "inconclusive, flagged" in page.text


def test_the_panel_of_a_cell_tells_everything_that_is_known_of_it() -> None:
    html = _html(seed_report())
    panel = _Page(html.split('id="c-2-0"')[1].split("</article>")[0]).text
    for said in (
        *(
            "Scenario C",
            "under Time pressure",
            "0.67 (95 % interval 0.57 to 0.77)",
            "2/5 (40 %, 95 % interval 12 %",
        ),
        *(
            "9/10",
            "noise floor0.05",
            "regressive: the baseline matched, these runs do not",
            "in 80 % of the runs",
        ),
        *("/action", '"escalate_to_owner" → "proceed"', "shift 0.67 is above 0.5", "101, 102", "p = 0.008"),
    ):
        assert said in panel
    assert "/include_rollback_plan" not in panel  # it did not move
    undecided = _Page(html.split('id="c-0-6"')[1].split("</article>")[0]).text
    assert "inconclusive: about 7 more runs would decide" in undecided
    few = _Page(html.split('id="c-2-7"')[1].split("</article>")[0]).text
    assert "range 0 to 0.21; n is too small: range" in few


def test_every_link_leads_to_a_place_in_the_page() -> None:
    page = _Page(_html(seed_report(), {(f"scn_{2:024x}", "time_pressure"): [_text("Hurry!")]}))
    ids, links = page.all("id"), page.all("href")
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert all(link.startswith("#") for link in links)
    assert len([link for link in links if re.fullmatch(r"#c-2-\d", link)]) >= 8  # each cell by the keyboard


def test_nothing_is_loaded_nothing_runs_and_the_policy_knows_the_style_sheet() -> None:
    html = _html(seed_report())
    page = _Page(html)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "form", "base", "svg"}
    assert not page.all("style")
    assert not page.all("src")
    assert escape_markup(POLICY) in html
    style = html.split("<style>")[1].split("</style>")[0]
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in POLICY
    assert "url(" not in style
    assert "@import" not in style
    assert "https:" not in html


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_are_text_wherever_they_stand(name: str) -> None:
    report = _everywhere(name)
    page, tame = _Page(_html(*report)), _Page(_html(*_everywhere("tame")))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in tame.elements]
    assert [attrs.keys() for _, attrs in page.elements] == [attrs.keys() for _, attrs in tame.elements]


def _everywhere(name: str) -> tuple[dict[str, Any], Any]:
    """A report in which every word that is not ours is this one."""
    moved = [
        {
            "path": name,
            "kind": "enum",
            "weight": 0.6,
            "distance": 1.0,
            "from": name.replace("\ud800", ""),
            "to": [1],
        }
    ]
    only = cell(
        "scn_1",
        "v",
        0.7,
        components=moved,
        flag_reasons=[name],
        direction=name,
        interval=None,
        interval_note=name,
    )
    row = scenario("scn_1", name, risk_level=name)
    report = report_of([row], ["v"], [only], status=name, matrix_id=name, shift_method=name, created_at=name)
    report["variations"][0] |= {"name": name, "test": name}
    report["agent"] = {"id": 1, "name": name, "version": 1}
    report["summary"]["verdicts"] = {name: 1}
    return report, {("scn_1", "v"): [_text(name)]}


@settings(max_examples=60)
@given(st.text(max_size=150))
def test_a_name_changes_nothing_but_the_places_of_the_name(name: str) -> None:
    def named(text: str) -> str:
        report = report_of([scenario("scn_1", text)], ["v"], [cell("scn_1", "v", 0.7)])
        return _html(report)

    assert named(name) == named("THE-NAME").replace("THE-NAME", escape_markup(name))


def test_a_matrix_that_has_not_ended_says_so() -> None:
    assert "is still running" in _html(seed_report(status="running"))
    assert "is still running" not in _html(seed_report())


def test_injected_texts_stand_once_and_are_linked_from_their_cells() -> None:
    hurry = _text("Hurry, <b>now</b>!")
    texts = {(f"scn_{row:024x}", "time_pressure"): [hurry] for row in range(3)}
    html = _html(seed_report(), texts)
    assert html.count("Hurry, &lt;b&gt;now&lt;/b&gt;!") == 1
    assert html.count(f'href="#text-{hurry.text_hash}"') == 4  # three cells and the index


def test_of_texts_that_would_make_the_file_huge_the_page_says_where_they_are() -> None:
    html = _html(seed_report(), {(f"scn_{0:024x}", "time_pressure"): [_text("x" * 2_000_001)]})
    assert len(html) < 200_000
    assert "Each run stores the exact injected text" in html


def test_a_thousand_rows_of_eight_have_a_panel_each() -> None:
    html = _html(large_report(1_000))
    assert html.count("<article") == 1_000 * 9
    assert len(html) < 25_000_000


def test_past_the_limit_only_notable_cells_have_panels_and_it_says_so() -> None:
    report = large_report(1_600)
    html = _html(report)
    notable = sum(
        each["is_flagged"] or each["verdict"] in ("susceptible", "critical") for each in report["cells"]
    )
    assert html.count("<article") == 1_600 + notable
    assert f"only {notable:,} of those flagged, susceptible or critical have details" in html
    ids, links = re.findall(r' id="([^"]*)"', html), re.findall(r' href="#([^"]*)"', html)
    assert set(links) <= set(ids)
