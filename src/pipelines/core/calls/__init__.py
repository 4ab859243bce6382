"""One tool call: how it is received, decided and settled without I/O, and the state of its run.

Enter through `tool_call` (the decision), `called_run` (the folded run) and `cassette` (recorded live calls).
"""
