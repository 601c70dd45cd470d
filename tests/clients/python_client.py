"""The Python MCP client, which knows both eras.

    python_client.py [--mode auto|legacy|2026-07-28] [--calls FILE] --url URL | COMMAND [ARGUMENT...]

Connects, lists the tools and prints {"tools"}; waits until it is told that they changed, lists them again, calls echo
and prints {"tools", "echo", "protocol"}. With a file of calls, [{"name", "arguments"}], it lists the tools, makes the
calls and prints {"tools", "answers": [{"result", "progress"}], "protocol"}. Any problem is a message on stderr and a
non-zero exit.
"""

import argparse
import json
import os
import sys
from contextlib import AsyncExitStack

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ToolListChangedNotification

PATIENCE_SECONDS = 60


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--calls")
    return add_way(parser).parse_args()


def add_way(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The words for the mode, and for how the server is reached."""
    parser.add_argument("--mode", default="auto", choices=["auto", "legacy", "2026-07-28"])
    parser.add_argument("--url")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser


async def server(options: argparse.Namespace, hears: anyio.Event, stack: AsyncExitStack):
    """A way to the server; `hears` is set when it can tell us of changes by itself in the older revisions."""
    if not options.url:
        hears.set()
        command, *args = options.command
        return StdioServerParameters(command=command, args=args, env=dict(os.environ))

    async def noticing(response: httpx2.Response) -> None:
        if response.request.method == "GET" and response.is_success:
            hears.set()

    http = httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {os.environ['COVENANT_TOKEN']}"},
        event_hooks={"response": [noticing]},
        timeout=PATIENCE_SECONDS,
    )
    return streamable_http_client(options.url, http_client=await stack.enter_async_context(http))


async def main(options: argparse.Namespace) -> None:
    changed, hears = anyio.Event(), anyio.Event()

    async def told(message) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed.set()

    with anyio.fail_after(PATIENCE_SECONDS):
        async with AsyncExitStack() as stack:
            way = await server(options, hears, stack)
            client = await stack.enter_async_context(Client(way, mode=options.mode, message_handler=told))
            if options.calls:
                print(json.dumps(await visit(client, options.calls)))
                return
            modern = client.protocol_version >= "2026"
            if modern:
                events = await stack.enter_async_context(client.listen(tools_list_changed=True))
            else:
                await hears.wait()
            print(json.dumps({"tools": await names(client)}), flush=True)
            await (anext(aiter(events)) if modern else changed.wait())
            tools = await names(client)
            result = await client.call_tool("echo", {"text": "hi"})
            if result.is_error:
                raise RuntimeError(f"echo failed: {result.content}")
            said = {"tools": tools, "echo": result.content[0].text, "protocol": client.protocol_version}
            print(json.dumps(said))


async def visit(client: Client, calls: str) -> dict:
    """Lists the tools, and makes the calls of that file."""
    with open(calls, encoding="utf-8") as file:
        wanted = json.load(file)
    tools = [plain(tool) for tool in (await client.list_tools()).tools]
    answers = []
    for call in wanted:
        progress: list[list[float | None]] = []

        async def step(done: float, total: float | None, message: str | None, heard=progress) -> None:
            heard.append([done, total])

        result = await client.call_tool(call["name"], call["arguments"], progress_callback=step)
        answers.append({"result": plain(result), "progress": progress})
    return {"tools": tools, "answers": answers, "protocol": client.protocol_version}


def plain(value) -> dict:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


if __name__ == "__main__":
    try:
        anyio.run(main, arguments())
    except Exception as problem:  # noqa: BLE001 - whatever it is, the test must see it
        print(f"python_client: {problem!r}", file=sys.stderr)
        sys.exit(1)
