"""Verdicts: what a run proves about the agent, and what it leaves open.

Values in, values out; nothing here asks a model, a clock or a file. Imports point down this list:

    core/oracles                                        what an author may write; seeds are checked with these
    evidence, changes                                   what a judge may see of a run
    verdict                                             what it says: findings, scores, failure modes
    state_oracle, call_oracle, answer_oracle,           what the author declared decides
    constraints
    words/ <- answer_findings, enforcement              what the agent says, and rules that nothing enforced
    refusal, completion <- scores <- assembly <- judge  all of it together
    lint/                                               judges oracles before any run
    model_judge/                                        what a judge model is asked, and what follows
"""
