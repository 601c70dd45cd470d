"""A small MCP server over stdio. Its tools are its arguments; what each of them does follows from its name."""
import json
import os
import sys

def tool(name):
    hints = {"readOnlyHint": name != "die"}
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, "annotations": hints}

def call(name, arguments):
    if name == "die":
        print("dying now, with", os.environ.get("TOKEN"), file=sys.stderr, flush=True)
        os._exit(7)
    said = {"say": arguments.get("text"), "pid": os.getpid(), "where": os.getcwd(), "token": os.environ.get("TOKEN")}
    return {"content": [{"type": "text", "text": str(said.get(name))}]}

def answer(method, params):
    if method == "initialize":
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if method == "tools/list":
        return {"tools": [tool(name) for name in sys.argv[1:]]}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    return {} if method == "ping" else None

print("ready", file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"]} | reply), flush=True)
