"""Drives one MCP server with the official Python client and prints what it saw.

    python_client.py --era legacy|modern|auto --plan JSON stdio -- COMMAND [ARGUMENT…]
    python_client.py --era legacy|modern|auto --plan JSON http URL

The era decides how the connection starts: `legacy` with the initialize handshake,
`modern` stateless at the newest revision with no way back, `auto` as a client does
that does not know the server: a probe, then the newest revision both know. The plan
is a JSON array of steps:

    {"list": "tools"}                          names
    {"list": "resources"}                      URIs
    {"call": NAME, "arguments": {…}}           isError, the text blocks, structured content
    {"read": URI}                              the text contents

One JSON object goes to stdout: {"client", "protocolVersion", "steps": [RESULT, …]}.
A step that the server refuses gives {"error": {"code", "message"}}; anything else
that goes wrong ends the program with status 1 and a message on stderr.
"""

import argparse
import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp_types.version import LATEST_MODERN_VERSION

SECONDS_FOR_A_READ = 30


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["legacy", "modern", "auto"], required=True)
    parser.add_argument("--plan", type=json.loads, required=True)
    parser.add_argument("transport", choices=["stdio", "http"])
    parser.add_argument("target", nargs="+")
    return parser.parse_args()


def open_client(arguments):
    """A client that is not connected yet."""
    if arguments.transport == "http":
        server = arguments.target[0]
    else:
        command, *rest = arguments.target
        server = StdioServerParameters(command=command, args=rest)
    mode = LATEST_MODERN_VERSION if arguments.era == "modern" else arguments.era
    return Client(server, mode=mode, read_timeout_seconds=SECONDS_FOR_A_READ)


async def list_all(fetch, member):
    """Every page of a listing."""
    items, cursor = [], None
    while True:
        page = await fetch(cursor=cursor)
        items.extend(getattr(page, member))
        cursor = page.next_cursor
        if cursor is None:
            return items


async def run_step(client, step):
    match step:
        case {"list": "tools"}:
            return [tool.name for tool in await list_all(client.list_tools, "tools")]
        case {"list": "resources"}:
            return [str(resource.uri) for resource in await list_all(client.list_resources, "resources")]
        case {"call": name}:
            result = await client.call_tool(name, step.get("arguments", {}))
            return {
                "isError": bool(result.is_error),
                "text": [block.text for block in result.content if block.type == "text"],
                "structured": result.structured_content,
            }
        case {"read": uri}:
            result = await client.read_resource(uri)
            return [getattr(content, "text", None) for content in result.contents]
    raise ValueError(f"unknown step {step}")


async def try_step(client, step):
    try:
        return await run_step(client, step)
    except MCPError as refusal:
        return {"error": {"code": refusal.error.code, "message": refusal.error.message}}


async def main():
    arguments = parse_arguments()
    async with open_client(arguments) as client:
        report = {
            "client": "python",
            "protocolVersion": client.protocol_version,
            "steps": [await try_step(client, step) for step in arguments.plan],
        }
    print(json.dumps(report))


def causes(failure):
    """What went wrong, without the exception groups around it."""
    if isinstance(failure, BaseExceptionGroup):
        return [cause for inner in failure.exceptions for cause in causes(inner)]
    return [f"{type(failure).__name__}: {failure}"]


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except Exception as failure:
        sys.exit("; ".join(causes(failure)))
