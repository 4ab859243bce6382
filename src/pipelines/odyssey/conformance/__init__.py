"""The conformance kit: does a wrapper, in whatever language, keep the wire contract?

`pipelines odyssey conformance --url …` runs it; so can the tests of an agent:

    from pipelines.odyssey.conformance import Wrapper, check_wrapper

    def test_the_wrapper_keeps_the_contract():
        report = check_wrapper(Wrapper(url="http://127.0.0.1:9100/dispatch", auth_value="Bearer secret"))
        assert report.ok, report.failed
"""

from .auth import CannotCheck
from .kit import check_wrapper
from .report import Finding, Outcome, Report
from .rules import RULES, Rule
from .session import Options
from .worlds import ScriptedWorld, World, WorldReply
from .wrapper import Wrapper

__all__ = [
    "RULES",
    "CannotCheck",
    "Finding",
    "Options",
    "Outcome",
    "Report",
    "Rule",
    "ScriptedWorld",
    "World",
    "WorldReply",
    "Wrapper",
    "check_wrapper",
]
