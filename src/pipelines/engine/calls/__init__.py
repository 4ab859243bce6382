"""One tool call of a run, from arrival to reply. Enter at `answer_tool_call`."""
