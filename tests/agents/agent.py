"""An agent that does what its intent says: keeps the contract, or breaks it in one way.

The first word of the intent is what to do, the rest is what to do it with.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request


def ask(method, params):
    """What the daemon answers to a request of the protocol."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {
        "Authorization": "Bearer " + os.environ["COVENANT_TOKEN"],
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(os.environ["COVENANT_URL"] + "/mcp", data=body, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=50) as response:
            return json.loads(response.read())
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


def call(tool, arguments):
    return ask("tools/call", {"name": tool, "arguments": arguments})


def answer(text="", **others):
    said = {"intent_id": INTENT["id"], "status": "ok", "text": text, "sources": [], **others}
    print(json.dumps({key: value for key, value in said.items() if value is not None}), flush=True)


def for_ever():
    while True:
        time.sleep(1000)


def until(file):
    """Comes back when somebody has put that file into the workspace."""
    while call("workspace_read", {"path": file}).get("result", {}).get("isError") is not False:
        time.sleep(0.02)


def told():
    """All that a run is told."""
    rest = sys.stdin.read()
    return {"line": LINE, "rest": rest, "words": sys.argv, "program": sys.executable,
            "directory": os.getcwd(), "environment": dict(os.environ)}


def nest(tool):
    """Sends itself the same again, as deep as it may."""
    got = call(tool, {"text": "nest " + tool})
    me = {"id": INTENT["id"], "parent": INTENT["parent"], "issuer": INTENT["issuer"]["display"]}
    if "error" in got:
        return [me, got["error"]["message"]]
    return [me] + json.loads(got["result"]["content"][0]["text"])


def hand_out(file, go):
    """Puts its token where a test finds it, written backwards, and stays until it is told to go."""
    backwards = base64.b64encode(os.environ["COVENANT_TOKEN"].encode()).decode()[::-1]
    call("workspace_write", {"path": file, "content": backwards + "\n"})
    until(go)


LINE = sys.stdin.readline()
INTENT = json.loads(LINE)
WORD, _, REST = INTENT["text"].partition(" ")

if WORD == "say":
    answer(REST, sources=["https://example.com/one", "two"])
elif WORD == "tell":
    answer(json.dumps(told()))
elif WORD == "calls":
    answer(json.dumps([ask(method, params) for method, params in json.loads(REST)]))
elif WORD == "nest":
    answer(json.dumps(nest(REST)))
elif WORD == "fail":
    answer(REST, status="error")
elif WORD == "with":
    answer(**{"text": "x", **json.loads(REST)})
elif WORD == "raw":
    print(REST, flush=True)
elif WORD == "twice":
    answer("one")
    answer("two")
elif WORD == "silent":
    pass
elif WORD == "long":
    answer("x" * int(REST))
elif WORD == "exit":
    answer("never mind the code")
    print("this is why", file=sys.stderr, flush=True)
    sys.exit(int(REST))
elif WORD == "mutter":
    print(REST, file=sys.stderr, flush=True)
    answer("muttered")
elif WORD == "noise":
    block = b"n" * 1023 + b"\n"
    for _ in range(int(REST) * 1024):
        os.write(2, block)
    answer("that was loud")
elif WORD == "stay":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("stays", file=sys.stderr, flush=True)
    for_ever()
elif WORD == "close":
    answer("I am still here")
    os.close(1)
    for_ever()
elif WORD == "leave":
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)", REST],
        start_new_session=True, stdin=subprocess.DEVNULL,
    )
    answer("left")
elif WORD == "litter":
    with open("litter", "w", encoding="utf-8") as file:
        file.write("x" * 100000)
    answer(os.getcwd())
elif WORD == "memory":
    held = bytearray(b"m" * (int(REST) << 20))
    answer(str(len(held)))
elif WORD == "until":
    until(REST)
    answer("there it is")
elif WORD == "hand-out":
    hand_out(*REST.split())
    answer("told")
elif WORD == "read":
    with open(REST, encoding="utf-8") as file:
        answer(file.read())
else:
    answer("what is " + WORD + "?", status="error")
