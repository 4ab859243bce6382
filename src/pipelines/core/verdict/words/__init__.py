"""Checks the words of an answer against the run: values, claimed actions, refusals.

Nothing here understands sentences. `lookup` finds values in the run, `contradictions` finds the few
statements that a trace plainly refutes, `declining` and `reasons` read refusals. Everything else is left to
people and models.
"""
