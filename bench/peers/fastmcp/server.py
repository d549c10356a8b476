"""An echo server on FastMCP.

`stdio`, `http PORT`: as its documentation writes it. A tool that returns text then answers
with it twice, the second time as structured content; over HTTP as an event stream.
`stdio-tuned`, `http-tuned PORT`: with the text alone, and as plain JSON.
"""

import sys

from fastmcp import FastMCP


def echo(message: str) -> str:
    """Echo the message back"""
    return message


def main(mode: str, port: str = "") -> None:
    tuned = mode.endswith("-tuned")
    server = FastMCP("peer-fastmcp")
    options = {"output_schema": None} if tuned else {}
    server.tool(**options)(echo)
    if mode.startswith("stdio"):
        return server.run("stdio", show_banner=False, log_level="warning")
    server.run(
        "http",
        host="127.0.0.1",
        port=int(port),
        show_banner=False,
        log_level="warning",
        json_response=tuned,
        # One line of log for each request would be measured as well.
        uvicorn_config={"access_log": False},
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
