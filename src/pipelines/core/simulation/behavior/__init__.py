"""Behaviour text: free sentences about how the simulated tools respond, read into rules and put into plans.

tokens, words, things, lexicon: sentences and words, and what they may stand for in this world.
reader: a sentence into clauses (clauses, meaning), every word of it accounted for; parts: one that it does
not read, by what each word stands for, whatever their order.
scope, states, permissions, truth, resolve: what a clause means for one tool over one world (rules).
read: a text into rules; described: what a tool's own description restricts. trial: each tried on the seeded
world. plan_editor, reshape, weave: into a plan.
No model is asked: a sentence is understood whole or reported as it stands.
"""

from pipelines.core.simulation.behavior.read import read_behavior
from pipelines.core.simulation.behavior.rules import Behavior, Rule, RuleKind, WeaveResult
from pipelines.core.simulation.behavior.weave import weave

__all__ = ["Behavior", "Rule", "RuleKind", "WeaveResult", "read_behavior", "weave"]
