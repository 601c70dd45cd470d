"""AGENT_NAME: an agent to begin with. It needs nothing but Python itself.

The daemon starts this script once for each intent, in a sandbox of its own:

- It gets one line of JSON on standard input:
  {"id", "text", "issuer": {"display", "pubkey"}, "issued_at", "priority", "parent"}
- It writes one line of JSON on standard output, and nothing else:
  {"intent_id", "status": "ok" or "error", "text", "sources": [...]}
- Standard error goes to the daemon's log.
- It ends by itself, with exit code 0, before `cpu_ms_per_task` is over.

Tools are called over HTTP: COVENANT_URL is where the daemon is, and
COVENANT_TOKEN is good until this run ends. What may be called is what the
manifest names, of that what whoever sent the intent may call.
"""

import datetime
import json
import os
import sys
import urllib.error
import urllib.request


class ToolFailed(Exception):
    """A tool was refused, or failed; the text says why."""


def call_tool(name, arguments):
    """Calls a tool through the daemon, and gives back the text it answers."""
    request = urllib.request.Request(
        os.environ["COVENANT_URL"] + "/mcp",
        data=json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments},
            }
        ).encode(),
        headers={
            "Authorization": "Bearer " + os.environ["COVENANT_TOKEN"],
            "Content-Type": "application/json",
        },
    )
    # The daemon is reached directly, also where the way to the Internet is a proxy.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=20) as response:
            body = response.read()
    except urllib.error.HTTPError as error:
        body = error.read()
    except OSError as error:
        raise ToolFailed(f"the daemon was not reached: {error}") from error
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise ToolFailed("the daemon did not answer in JSON") from error
    if "error" in answer:
        raise ToolFailed(answer["error"].get("message", "the call was refused"))
    result = answer["result"]
    text = "\n".join(part["text"] for part in result.get("content", []) if part.get("type") == "text")
    if result.get("isError"):
        raise ToolFailed(text)
    return text


def work(intent):
    """Does what is wanted: a text, and where it comes from."""
    told = f"You said: {intent['text']}"
    try:
        milliseconds = json.loads(call_tool("clock", {}))["epoch_ms"]
    except ToolFailed as failure:
        # A tool that is refused is no reason to give up: say what is known without it.
        print(f"clock: {failure}", file=sys.stderr)
        return f"{told}. I may not look at the clock: {failure}", []
    now = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
    return f"{told}. It is {now:%Y-%m-%d %H:%M:%S} UTC.", ["tool:clock"]


def main():
    intent = json.loads(sys.stdin.readline())
    try:
        text, sources = work(intent)
        status = "ok"
    except Exception as error:
        text, sources, status = f"{type(error).__name__}: {error}", [], "error"
    answer = {"intent_id": intent["id"], "status": status, "text": text, "sources": sources}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
