"""What an answer says, as far as a run can be asked about it: values, claimed actions, refusals.

Nothing here understands sentences. `lookup` finds values in the run, `contradictions` names the few
statements that a trace plainly refutes, `declining` and `reasons` read refusals. All else is left to people
and models.
"""
