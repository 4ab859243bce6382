"""The path of tool calls: the per-run proxy, its fast path, MCP, and the connections from sandboxes."""
