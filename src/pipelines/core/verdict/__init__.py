"""Verdicts: what a run proves about the agent, and what it leaves open.

Values in, values out; nothing here asks a model, a clock or a file.

    evidence   what a judge may see of a run
    verdict    what it says: findings, scores, failure mode
    oracles    expected_state and expected_calls, which decide; constraints, the checks of tracked constraints
    speech     sentences and words <- refusals, claims: what the agent's own words prove
    scores     1 to 5, each from evidence it can name
    judge      all of it together; lint says beforehand which oracles prove nothing
"""
