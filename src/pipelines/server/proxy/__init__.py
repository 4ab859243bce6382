"""The path of tool calls: the per-run proxy (`proxy`), its fast path (`fast_proxy`), MCP (`mcp`), and the
connections from sandboxes (`sandbox_connection`).
"""
