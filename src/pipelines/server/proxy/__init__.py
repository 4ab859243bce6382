"""The tool path: the per-run proxy, its fast path, MCP, and the connections of sandboxes."""
