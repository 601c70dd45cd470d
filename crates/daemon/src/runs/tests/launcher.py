"""A launcher that confines nothing: it opens the doors on this machine's own network, and plays the program itself.

The program's output is one line, which says where the doors are and what was ordered. It ends with its input.
"""
import json
import os
import select
import socket

host = socket.socket(fileno=0)
line, streams, _, _ = socket.recv_fds(host, 1 << 20, 3)
while not line.endswith(b"\n"):
    line += host.recv(1 << 20)
order = json.loads(line)["order"]
sandbox = order["sandbox"]

if sandbox and "refuse" in order["arguments"]:
    host.sendall(b'{"refused":{"setup":"no luck"}}\n')
    raise SystemExit(0)

doors = {}
if sandbox:
    wanted = ["door"] + (["proxy"] if sandbox["network"] == "outbound-https-only" else [])
    doors = {name: socket.create_server(("127.0.0.1", 0)) for name in wanted}
    for door in doors.values():
        door.setblocking(False)
ready = {"pid": os.getpid(), "report": {"measures": []}, "door": "door" in doors, "proxy": "proxy" in doors}
answer = json.dumps({"ready": ready}).encode() + b"\n"
if doors:
    socket.send_fds(host, [answer], [door.fileno() for door in doors.values()])
else:
    host.sendall(answer)
said = {name: door.getsockname()[1] for name, door in doors.items()} | {"order": order}
for door in doors.values():
    door.close()
os.write(streams[1], json.dumps(said).encode() + b"\n")

readable, _, _ = select.select([host, streams[0]], [], [])
for stream in streams:
    os.close(stream)
usage = {"user_ms": 0, "system_ms": 0, "peak_memory_kb": 0}
ended = {"status": {"exited": 7}, "over": None, "usage": usage}
host.sendall(json.dumps({"ended": ended}).encode() + b"\n")
