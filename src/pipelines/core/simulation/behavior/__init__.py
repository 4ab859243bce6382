"""Behaviour text: free sentences about how the simulated tools respond, read into rules and woven into plans.

tokens, words, things, lexicon: what the words may stand for.
matching: patterns. phrases, spans, sayings, nouns, conditions, callers, formulas, outcomes, who: pieces.
composed, guards, guarded, duties, effects, computed, listings, grammar: what is said (meaning, clauses).
scope, states, permissions, truth, resolve: what that means for one tool over one world (rules).
read: a text into rules. trial: each tried on the seeded world. loom, reshape, weave: rules into a plan.
No model is asked: a sentence is understood whole or reported as it stands.
"""

from pipelines.core.simulation.behavior.read import read_behavior
from pipelines.core.simulation.behavior.rules import Behavior, Rule, RuleKind, WeaveResult
from pipelines.core.simulation.behavior.weave import weave

__all__ = ["Behavior", "Rule", "RuleKind", "WeaveResult", "read_behavior", "weave"]
