"""One tool call: received, decided and settled without I/O, and the state of the run that it is part of.

Enter through `tool_call` (the decision), `called_run` (the folded run) and `cassette` (recorded live calls).
"""
