"""Behaviour text: free sentences about how the simulated tools respond, read into rules and woven into plans.

tokens, words, lexicon (what words may stand for) <- matching (patterns) <- phrases, conditions, formulas, outcomes,
who, guards, effects, listings, grammar (what a sentence says) <- scope, truth, resolve (what that means for one tool)
<- read, weave. No model is asked: a sentence is understood whole or reported as it stands.
"""

from pipelines.core.simulation.behavior.read import read_behavior
from pipelines.core.simulation.behavior.rules import Behavior, Rule, RuleKind, WeaveResult
from pipelines.core.simulation.behavior.weave import weave

__all__ = ["Behavior", "Rule", "RuleKind", "WeaveResult", "read_behavior", "weave"]
