"""Verdicts: what a run proves about the agent, and what it leaves open.

Values in, values out; nothing here asks a model, a clock or a file. Imports point down this list:

    expected_state, expected_calls, expected_answer,    what an author may write; seeds are checked with these
    constraint_check
    trace <- evidence, changes                          what a judge may see of a run
    verdict, wording                                    what it says: findings, scores, failure modes
    state_oracle, call_oracle, answer_oracle,           what the author declared decides
    constraints
    words/ <- answer_findings, enforcement              what the agent says, and rules that nothing enforced
    refusal, completion <- scores <- assembly <- judge  all of it together
    lint                                                judges oracles before any run
    rubric <- judge_data, judge_prompt, model_verdict   what a judge model is asked, and what follows
"""
