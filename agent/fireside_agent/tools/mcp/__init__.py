"""MCP servers that the person has configured, as tools of the agent.

The servers are in `mcp.json` in FIRESIDE_HOME. The `mcp` package is imported when the first enabled one
is started, and never before.
"""
