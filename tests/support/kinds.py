"""The four kinds of tests: which one a test is follows from what it starts."""

import pytest

KINDS = ("unit", "acceptance", "browser", "fault")
#: Fixtures and names that start `pipelines` in a process of its own.
SERVER_FIXTURES = {"api", "own_house"}
SERVER_NAMES = {"house_in", "fresh_house_in", "Node"}


def kind_of(item: pytest.Item) -> str:
    fixtures = set(getattr(item, "fixturenames", ()))
    if item.get_closest_marker("fault"):  # its file says so
        return "fault"
    if "browser" in fixtures:
        return "browser"
    names = vars(getattr(item, "module", None) or object)
    if "acceptance" in item.path.parts or fixtures & SERVER_FIXTURES or SERVER_NAMES & names.keys():
        return "acceptance"
    return "unit"
