"""Connects the Python MCP client to a stdio server, lists its tools and calls echo.

    python_client.py [--mode auto|legacy|2026-07-28] COMMAND [ARGUMENT...]

Prints one JSON line {"tools", "echo", "protocol"}; any problem is a message on stderr and a non-zero exit.
"""

import argparse
import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters

PATIENCE_SECONDS = 60


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--mode", default="auto", choices=["auto", "legacy", "2026-07-28"])
    parser.add_argument("command")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    return parser.parse_args()


async def main(options: argparse.Namespace) -> None:
    server = StdioServerParameters(command=options.command, args=options.args, env=dict(os.environ))
    with anyio.fail_after(PATIENCE_SECONDS):
        async with Client(server, mode=options.mode) as client:
            tools = await client.list_tools()
            result = await client.call_tool("echo", {"text": "hi"})
            if result.is_error:
                raise RuntimeError(f"echo failed: {result.content}")
            print(
                json.dumps(
                    {
                        "tools": [tool.name for tool in tools.tools],
                        "echo": result.content[0].text,
                        "protocol": client.protocol_version,
                    }
                )
            )


if __name__ == "__main__":
    try:
        anyio.run(main, arguments())
    except Exception as problem:  # noqa: BLE001 - whatever it is, the test must see it
        print(f"python_client: {problem!r}", file=sys.stderr)
        sys.exit(1)
