"""One module per agent framework, imported only when it is asked for: the SDK itself needs none of them.

All four have the same small surface:

`dump_tools_schema(agent)` is the `tools_schema` to register the agent with, over all of its sub-agents.
`run(agent, envelope)` and `run_async` do one dispatch: every tool call goes to the run's proxy, what the
agent says and thinks is told to the trace, and the reply has `final_response`, `messages` and `metadata`.
`uncovered_tools(agent)` names the tools that cannot be proxied (a provider runs them) and so stay live.
"""
