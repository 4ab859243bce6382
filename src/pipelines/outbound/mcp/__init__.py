"""Sessions with MCP servers. Enter through `server`, which calls the tools of one."""
