"""What a running agent does, stored in its run's log: tool calls, from arrival to reply, calls of models, and
reported events. Enter at `answer_tool_call`.
"""
