"""A hostile program, as testkit/src/bin/escape is one: tries to get out of wherever it was put, one line of JSON per attack."""

import ctypes
import errno
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
import time

MEGABYTE = 1024 * 1024
PATIENCE = 1.5
HELD = 1


class Stopped(Exception):
    """What stopped an attack, where it was no error of the kernel's."""


# Files. The working directory is a place of one's own.

def read_file(path):
    with open(path, "rb") as file:
        text = file.read(80).decode("utf-8", "replace")
    if not text:
        raise Stopped("empty")
    return text


def write_file(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.unlink(path)
    return "written"


def overwrite(path):
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        # What is covered by /dev/null takes everything and keeps nothing.
        if os.fstat(file).st_rdev == os.makedev(1, 3):
            raise Stopped("covered")
        return "opened for writing"
    finally:
        os.close(file)


def list_directory(path):
    names = os.listdir(path)
    if not names:
        raise Stopped("empty")
    return " ".join(names)


def symlinked(path, name):
    if os.path.lexists(name):
        os.unlink(name)
    os.symlink(path, name)
    return name


def hard_link(path):
    os.link(path, "hard")
    try:
        return read_file("hard")
    finally:
        os.unlink("hard")


def rename_out(directory):
    with open("to-be-moved", "w") as file:
        file.write("escaped")
    there = os.path.join(directory, f"moved-out-{os.getpid()}")
    os.rename("to-be-moved", there)
    os.unlink(there)
    return "moved out"


def rename_in(path):
    os.rename(path, "moved-in")
    os.rename("moved-in", path)
    return "moved in, and back"


# Network.

def address(text):
    host, port = text.rsplit(":", 1)
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    return family, (host.strip("[]"), int(port))


def tcp(text):
    family, to = address(text)
    with socket.socket(family, socket.SOCK_STREAM) as stream:
        stream.settimeout(PATIENCE)
        stream.connect(to)
    return "connected"


def udp(text):
    family, to = address(text)
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(PATIENCE)
        datagrams.connect(to)
        datagrams.send(b"hello")
        try:
            return f"{len(datagrams.recv(16))} bytes came back"
        except TimeoutError:
            raise Stopped("no answer") from None


def udp_send(text):
    family, to = address(text)
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        return f"{datagrams.sendto(b'hello', to)} bytes sent"


def resolve(name):
    try:
        return str(socket.getaddrinfo(name, 443)[0][4])
    except socket.gaierror:
        raise Stopped("no such name") from None


def unix(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        stream.settimeout(PATIENCE)
        stream.connect(name)
    return "connected"


def unix_datagram(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        return f"{datagrams.sendto(b'hello', name)} bytes sent"


KINDS = {
    "raw": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "packet": (socket.AF_PACKET, socket.SOCK_RAW, 0),
    "vsock": (socket.AF_VSOCK, socket.SOCK_STREAM, 0),
    "alg": (socket.AF_ALG, socket.SOCK_SEQPACKET, 0),
    "netlink-audit": (socket.AF_NETLINK, socket.SOCK_RAW, 9),
    "netlink-netfilter": (socket.AF_NETLINK, socket.SOCK_RAW, 12),
}


def odd_socket(kind):
    socket.socket(*KINDS[kind]).close()
    return "opened"


# Processes.

def process(text):
    return os.getppid() if text == "parent" else int(text)


def read_environments(canary):
    seen, last = 0, Stopped("no other process in sight")
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if canary.encode() in file.read():
                    return f"found in process {name}"
                seen += 1
        except OSError as error:
            last = error
    raise Stopped(f"in none of {seen} environments") if seen else last


def read_memory(pid):
    open(f"/proc/{process(pid)}/mem", "rb").close()
    return "opened its memory"


def send(pid, number):
    os.kill(process(pid), number)
    return "signalled"


def signal_parent(_):
    # Only in a namespace whose first process is our parent may it be shot at.
    if os.getppid() == 1 and os.getpid() < 64:
        os.kill(1, signal.SIGSTOP)
        os.kill(1, signal.SIGKILL)
        time.sleep(0.02)
        raise Stopped("only our own init, and it lives")
    return send("parent", signal.SIGCONT)


def fork_bomb(most):
    started = []
    try:
        while len(started) < int(most):
            try:
                child = os.fork()
            except OSError as error:
                raise Stopped(f"{errno.errorcode[error.errno]} after {len(started)}") from None
            if child == 0:
                signal.pause()
            started.append(child)
        return f"{most} processes"
    finally:
        for child in started:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def thread_bomb(most):
    threading.stack_size(64 * 1024)
    end = threading.Event()
    try:
        for started in range(int(most)):
            try:
                threading.Thread(target=end.wait, daemon=True).start()
            except RuntimeError:
                raise Stopped(f"EAGAIN after {started}") from None
        return f"{most} threads"
    finally:
        end.set()


# System calls, in a copy of this process, so that even being killed for it is an answer.

LIBC = ctypes.CDLL(None, use_errno=True)
ROOM = ctypes.create_string_buffer(256)
OLD = {"x86_64": 0, "aarch64": 1}.get(platform.machine(), 0)
NOWHERE, HERE, TMPFS, EVERY = b"/nowhere/at/all", b".", b"tmpfs", ctypes.c_long(-1)
CALLS = {  # (x86_64, aarch64), arguments; as in calls.rs
    "unshare-user": ((272, 97), (0x10000000,)),
    "unshare-mount": ((272, 97), (0x00020000,)),
    "unshare-net": ((272, 97), (0x40000000,)),
    "mount": ((165, 40), (TMPFS, NOWHERE, TMPFS, 0, 0)),
    "umount": ((166, 39), (NOWHERE, 0)),
    "pivot-root": ((155, 41), (NOWHERE, NOWHERE)),
    "chroot": ((161, 51), (HERE,)),
    "fsopen": ((430, 430), (TMPFS, 0)),
    "setns": ((308, 268), (EVERY, 0)),
    "ptrace": ((101, 117), (0, 0, 0, 0)),
    "process-vm-readv": ((310, 270), (os.getpid(), 0, 0, 0, 0, 0)),
    "pidfd-getfd": ((438, 438), (EVERY, 0, 0)),
    "keyctl": ((250, 219), (0, ctypes.c_long(-3), 0)),
    "add-key": ((248, 217), (b"user", b"escape", b"escape", 6, ctypes.c_long(-2))),
    "bpf": ((321, 280), (0, ROOM, 72)),
    "perf": ((298, 241), (ROOM, 0, EVERY, EVERY, 0)),
    "io-uring": ((425, 425), (1, ROOM)),
    "userfault": ((323, 282), (1,)),
    "personality": ((135, 92), (0x0040000,)),
    "reboot": ((169, 142), (0, 0, 0, 0)),
    "kernel-log": ((103, 116), (10, 0, 0)),
}
THROUGH = ("EINVAL", "EFAULT", "EBADF", "ENOENT", "ENODEV", "E2BIG", "ESRCH", "ENOTDIR", "EOPNOTSUPP")


def system_call(name):
    numbers, arguments = CALLS[name]

    def attempt():
        done = LIBC.syscall(ctypes.c_long(numbers[OLD]), *arguments)
        return ctypes.get_errno() if done == -1 else 0

    number = in_a_copy(attempt)
    said = errno.errorcode.get(number, str(number))
    if number == 0 or said in THROUGH:
        return "done" if number == 0 else f"let through: {said}"
    raise OSError(number, said)


def in_a_copy(attempt):
    child = os.fork()
    if child == 0:
        os._exit(attempt())
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise Stopped(signal.Signals(os.WTERMSIG(status)).name)
    return os.WEXITSTATUS(status)


# Privileges.

def become_root(_):
    def attempt():
        try:
            os.setresuid(0, 0, 0)
            return 0
        except OSError as error:
            return error.errno

    number = in_a_copy(attempt)
    if number:
        raise OSError(number, "setresuid")
    return "became root"


def setuid_binary(path):
    said = subprocess.run([path, "am-root"], capture_output=True, text=True).stdout
    if '"escaped":true' not in said:
        raise Stopped("it ran without root's rights")
    return said.strip()


def mknod(_):
    os.mknod("node", 0o020600, os.makedev(1, 1))
    os.unlink("node")
    return "made"


def environment(canary):
    for name, value in os.environ.items():
        if canary in value:
            return name
    raise Stopped("not there")


def descriptors(_):
    found = []
    for number in range(3, 1024):
        try:
            os.fstat(number)
            found.append(str(number))
        except OSError:
            pass
    if not found:
        raise Stopped("none")
    return "open: " + " ".join(found)


# Memory and disk.

def memory(most):
    held = [b"\1" * (4 * MEGABYTE) for _ in range(int(most) // 4)]
    time.sleep(HELD)
    return f"{len(held) * 4} MB"


def memory_children(most):
    for _ in range(int(most) // 32):
        if os.fork() == 0:
            held = b"\1" * (32 * MEGABYTE)
            time.sleep(HELD)
            os._exit(len(held) % 2)
    time.sleep(HELD)
    return f"{most} MB"


def disk_file(aim):
    place, most = aim.rsplit(":", 1) if ":" in aim else (".", aim)
    path = os.path.join(place, f"filler-{os.getpid()}")
    try:
        with open(path, "wb", buffering=0) as file:
            for number in range(int(most)):
                try:
                    written = file.write(b"\1" * MEGABYTE)
                except OSError as error:
                    raise Stopped(f"{errno.errorcode[error.errno]} after {number}") from None
                if written < MEGABYTE:
                    raise Stopped(f"ENOSPC after {number}")
        return f"{most} MB"
    finally:
        if os.path.exists(path):
            os.unlink(path)


# Staying.

def leave_daemon(mark):
    own = [sys.executable, os.path.abspath(__file__), "stay", mark]
    parent = subprocess.Popen(own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    said = parent.stdout.readline().strip()
    parent.wait()
    if not said:
        raise Stopped("it did not start")
    return f"left {said}"


def stay():
    deaf()
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    print(os.getpid(), flush=True)
    closed()
    forever()


def deaf():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)


def closed():
    for stream in range(3):
        os.close(stream)


def forever():
    while True:
        time.sleep(3600)


def ready(then):
    print("ready", flush=True)
    then()
    forever()


def endless(name):
    stream = getattr(sys, name)
    while True:
        stream.write("x" * 1000 + "\n")


ATTACKS = {
    "read-file": read_file,
    "list": list_directory,
    "stat": lambda path: f"{os.stat(path).st_size} bytes",
    "write-file": write_file,
    "overwrite": overwrite,
    "symlink-read": lambda path: read_file(symlinked(path, "link-to-read")),
    "symlink-write": lambda path: overwrite(symlinked(path, "link-to-write")),
    "hard-link": hard_link,
    "rename-out": rename_out,
    "rename-in": rename_in,
    "dotdot": lambda path: read_file("../" * 9 + ".." + path),
    "tcp": tcp,
    "udp": udp,
    "udp-send": udp_send,
    "resolve": resolve,
    "unix-path": unix,
    "unix-abstract": lambda name: unix("\0" + name),
    "unix-abstract-datagram": lambda name: unix_datagram("\0" + name),
    "socket": odd_socket,
    "see": lambda pid: f"{len(read_file(f'/proc/{pid}/cmdline'))} bytes",
    "read-environments": read_environments,
    "read-memory": read_memory,
    "signal": lambda pid: send(pid, signal.SIGCONT),
    "signal-parent": signal_parent,
    "fork-bomb": fork_bomb,
    "thread-bomb": thread_bomb,
    "call": system_call,
    "become-root": become_root,
    "setuid-binary": setuid_binary,
    "mknod": mknod,
    "environment": environment,
    "descriptors": descriptors,
    "memory": memory,
    "memory-children": memory_children,
    "disk-file": disk_file,
    "leave-daemon": leave_daemon,
    "leave-and-wait": lambda mark: (leave_daemon(mark), ready(lambda: None)),
    "ignore-signals": lambda _: (deaf(), ready(lambda: None)),
    "close-output": lambda _: ready(closed),
    "endless": endless,
    "exit": lambda code: os._exit(int(code)),
}


def attempt(word):
    name, _, aim = word.partition("=")
    try:
        return True, ATTACKS[name](aim)
    except Stopped as stopped:
        return False, str(stopped)
    except TimeoutError:
        return False, "ETIMEDOUT"
    except OSError as error:
        return False, errno.errorcode.get(error.errno, str(error))
    except MemoryError:
        return False, "ENOMEM"


if sys.argv[1] == "stay":
    stay()
for word in sys.argv[1:]:
    escaped, detail = attempt(word)
    print(json.dumps({"attack": word, "escaped": escaped, "detail": detail}), flush=True)
