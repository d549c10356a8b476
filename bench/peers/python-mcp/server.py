"""An echo server on the official Python SDK.

`stdio`, `http PORT`: as its documentation writes it. A tool that returns text then answers
with it twice, the second time as structured content; over HTTP as an event stream.
`stdio-tuned`, `http-tuned PORT`: with the text alone, and as plain JSON.
"""

import logging
import sys

from mcp.server import MCPServer

# Room for the largest echo, with what JSON adds.
BODY_BYTES = 16 << 20


def echo(message: str) -> str:
    """Echo the message back"""
    return message


def main(mode: str, port: str = "") -> None:
    tuned = mode.endswith("-tuned")
    server = MCPServer("peer-python-mcp", log_level="WARNING")
    server.tool(structured_output=False if tuned else None)(echo)
    if mode.startswith("stdio"):
        return server.run("stdio")
    # One line of log for each request would be measured as well.
    logging.getLogger("uvicorn.access").disabled = True
    server.run(
        "streamable-http",
        host="127.0.0.1",
        port=int(port),
        json_response=tuned,
        max_request_body_size=BODY_BYTES,
        # So that idle sessions can be measured.
        max_sessions=None,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
