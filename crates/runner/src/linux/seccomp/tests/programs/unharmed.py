# What Python's own library does by itself: threads, processes, servers, files, hashes. Prints "unharmed" at the end.
import asyncio, concurrent.futures, ctypes, hashlib, http.server, mmap, multiprocessing, os, secrets, signal, socket
import sqlite3, ssl, subprocess, sys, tempfile, threading, time, urllib.request

with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert sum(pool.map(lambda n: n * n, range(100))) == 328350

run = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True)
assert run.stdout == "42\n", run
assert subprocess.run("exit 3", shell=True).returncode == 3
assert os.system("true") == 0


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read() == b"hello"
server.shutdown()

assert len(hashlib.scrypt(b"x", salt=b"y", n=1024, r=8, p=1)) == 64
assert len(secrets.token_bytes(32)) == 32
ssl.create_default_context()


def square(n):
    return n * n


fork = multiprocessing.get_context("fork")
with fork.Pool(2) as pool:
    assert pool.map(square, range(10)) == [n * n for n in range(10)]
queue, lock = fork.Queue(), fork.Lock()


def put():
    with lock:
        queue.put(os.getpid())


child = fork.Process(target=put)
child.start()
assert queue.get() == child.pid
child.join()


async def asynchronous():
    process = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out == b"hi\n"
    served = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    reader, _ = await asyncio.open_connection(*served.sockets[0].getsockname())
    assert await reader.read() == b""
    await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0)


asyncio.run(asynchronous())

callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n + 1)
assert callback(41) == 42

with mmap.mmap(-1, 1 << 20) as shared:
    shared[:5] = b"hello"
    if (pid := os.fork()) == 0:
        shared[:5] = b"world"
        os._exit(0)
    os.waitpid(pid, 0)
    assert shared[:5] == b"world"

with tempfile.TemporaryDirectory() as place:
    base = sqlite3.connect(os.path.join(place, "base.db"))
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("CREATE TABLE t (x)")
    base.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(100)])
    base.commit()
    assert base.execute("SELECT count(*) FROM t").fetchone() == (100,)
    base.close()
    os.mkfifo(os.path.join(place, "pipe"))
    os.rename(os.path.join(place, "pipe"), os.path.join(place, "other"))

one, two = socket.socketpair()
one.sendall(b"x")
assert two.recv(1) == b"x"
assert any(name == "lo" for _, name in socket.if_nameindex())
socket.getaddrinfo("localhost", 80)

hit = []
signal.signal(signal.SIGALRM, lambda *_: hit.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01)
while not hit:
    signal.pause()
os.nice(1)
os.sched_setaffinity(0, os.sched_getaffinity(0))
print("unharmed")
