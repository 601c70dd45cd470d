import json
import os
import sys
import time


def hear():
    """The next message; the program ends with its input."""
    line = sys.stdin.readline()
    if not line:
        raise SystemExit(0)
    return json.loads(line)


def hear_method(method):
    """The next message of that method; what comes before is not answered."""
    while True:
        message = hear()
        if message.get("method") == method:
            return message


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def say(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def answer(request, result):
    say(id=request["id"], result=result)


def refuse(request, code, message, **more):
    say(id=request["id"], error={"code": code, "message": message, **more})


def notify(method, **params):
    say(method=method, params=params)


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def legacy(**capabilities):
    """The handshake of the older era, as a server does it that knows nothing of the newer one."""
    while True:
        request = hear()
        if request["method"] == "initialize":
            break
        refuse(request, -32601, "unknown method")
    info = {"name": "tested", "version": "1"}
    version = request["params"]["protocolVersion"]
    answer(request, {"protocolVersion": version, "capabilities": {"tools": {}, **capabilities}, "serverInfo": info})
    hear_method("notifications/initialized")


def modern(**tools):
    """What the newer era begins with."""
    request = hear_method("server/discover")
    versions = ["2026-07-28", "2025-11-25"]
    answer(request, {"resultType": "complete", "supportedVersions": versions, "capabilities": {"tools": tools}})


def stay():
    """Reads on and answers nothing."""
    while True:
        hear()
