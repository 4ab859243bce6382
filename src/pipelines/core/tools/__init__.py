"""What an agent may call: declared tools, the failures injected into their calls, and the rows of a trace.

Enter through `tools_schema` (tools as declared), `failure_rules` (what triggers a failure, and what it does)
and `trace_row`.
"""
