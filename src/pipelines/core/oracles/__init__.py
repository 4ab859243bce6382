"""What an author may expect of a run: a final state, calls, an answer, constraints.

Enter through `expected_state`, `expected_calls`, `expected_answer` and `constraint_check`. Seeds are checked
with these; `core/verdict` decides with them.
"""
