"""An agent: its definition and settings, what it answers, and the transcript of what was said.

Enter through `agent_definition` and `agent_reply`.
"""
