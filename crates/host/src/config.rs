//! Server configuration: `.mcp.json` and the like.
