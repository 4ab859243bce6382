"""An agent: its definition and settings, what it answers, and the transcript of what was said.

Enter through `agent_definition` and `agent_reply`. All limits of a reply are in `reply_limits`.
"""
