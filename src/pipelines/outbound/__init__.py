"""Calls to agents and tool endpoints: where they may go, and what came of them, failures as values.

Enter through `agent_client` (a dispatch, a ping), `http_openapi` and `mcp/` (live endpoints). `address_guard`
says where a connection may go.
"""
