"""An ordinary program: uses what ordinary programs use, says of each whether it worked, and ends with the code it was told."""

import concurrent.futures
import hashlib
import http.server
import json
import multiprocessing
import os
import secrets
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request


def threads():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return sum(pool.map(lambda number: number * number, range(100))) == 328350


def processes():
    with multiprocessing.Pool(3) as pool:
        return pool.map(abs, [-1, -2, -3]) == [1, 2, 3]


def shared_memory():
    from multiprocessing import shared_memory as module
    block = module.SharedMemory(create=True, size=4096)
    block.buf[0] = 7
    worked = block.buf[0] == 7
    block.close()
    block.unlink()
    return worked


def queue():
    link = multiprocessing.Queue()
    child = multiprocessing.Process(target=link.put, args=("hello",))
    child.start()
    said = link.get(timeout=20)
    child.join()
    return said == "hello" and child.exitcode == 0


def programs():
    shell = subprocess.run(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], capture_output=True, text=True)
    inner = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True)
    return (shell.stdout, shell.stderr, shell.returncode) == ("out\n", "err\n", 3) and inner.stdout == "42\n"


def files():
    with tempfile.TemporaryDirectory() as directory, tempfile.NamedTemporaryFile() as named:
        named.write(b"x" * 4096)
        path = os.path.join(directory, "a", "b")
        os.makedirs(path)
        for number in range(200):
            with open(os.path.join(path, str(number)), "w") as file:
                file.write("text")
        os.symlink(path, os.path.join(directory, "link"))
        shutil.copytree(path, os.path.join(directory, "copy"))
        return len(os.listdir(os.path.join(directory, "copy"))) == 200


def home():
    here = os.getcwd()
    with open(os.path.join(os.path.expanduser("~"), "file"), "w") as file:
        file.write("text")
    return os.path.samefile(here, os.path.expanduser("~")) and os.path.exists("file")


def database():
    with sqlite3.connect("data.db") as base:
        base.execute("create table words (word text)")
        base.executemany("insert into words values (?)", [("a",), ("b",)])
        return base.execute("select count(*) from words").fetchone() == (2,)


def web():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", timeout=10).read() == b"hello"


def unix_socket():
    one, other = socket.socketpair()
    one.send(b"hello")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("sock")
    listener.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect("sock")
    return other.recv(5) == b"hello"


def cryptography():
    context = ssl.create_default_context()
    return len(secrets.token_bytes(32)) == 32 and context.verify_mode == ssl.CERT_REQUIRED and hashlib.sha256(b"").hexdigest()[:4] == "e3b0"


def clocks():
    before = time.monotonic()
    time.sleep(0.01)
    return time.monotonic() > before and bool(time.strftime("%c"))


def environment():
    return os.environ.get("MODE") == "test" and "COVENANT_CANARY" not in os.environ


FEATURES = (threads, processes, shared_memory, queue, programs, files, home, database, web, unix_socket, cryptography, clocks, environment)


def worked(feature):
    try:
        return "ok" if feature() else "wrong"
    except Exception as error:  # whatever it is, it is the answer
        return repr(error)


if __name__ == "__main__":
    said = sys.stdin.read()
    print("on stderr", file=sys.stderr)
    answers = {feature.__name__: worked(feature) for feature in FEATURES}
    print(json.dumps({**answers, "input": "ok" if said == "hello" else said}))
    sys.exit(int(sys.argv[1]))
