// A hostile program, as testkit/src/bin/escape is one: tries to get out of wherever it was put, one line of JSON per attack.

import { spawn, spawnSync } from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns/promises";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

const MEGABYTE = 1024 * 1024;
const PATIENCE = 1500;
const HELD = 1000;

const stopped = (why) => Object.assign(new Error(why), { why });

// Files. The working directory is a place of one's own.

const readFile = (name) => {
  const file = fs.openSync(name, "r");
  try {
    const room = Buffer.alloc(80);
    const count = fs.readSync(file, room);
    if (count === 0) throw stopped("empty");
    return room.toString("utf8", 0, count);
  } finally {
    fs.closeSync(file);
  }
};

const overwrite = (name) => {
  const file = fs.openSync(name, fs.constants.O_WRONLY | fs.constants.O_APPEND);
  try {
    // What is covered by /dev/null takes everything and keeps nothing.
    if (fs.fstatSync(file).rdev === 0x103) throw stopped("covered");
    return "opened for writing";
  } finally {
    fs.closeSync(file);
  }
};

const symlinked = (to, name) => {
  fs.rmSync(name, { force: true });
  fs.symlinkSync(to, name);
  return name;
};

const hardLink = (name) => {
  fs.linkSync(name, "hard");
  try {
    return readFile("hard");
  } finally {
    fs.unlinkSync("hard");
  }
};

const writeFile = (name) => {
  fs.writeFileSync(name, "escaped\n", { flag: "wx" });
  fs.unlinkSync(name);
  return "written";
};

const list = (name) => {
  const names = fs.readdirSync(name);
  if (names.length === 0) throw stopped("empty");
  return names.join(" ");
};

const renameOut = (directory) => {
  fs.writeFileSync("to-be-moved", "escaped\n");
  const there = path.join(directory, `moved-out-${process.pid}`);
  fs.renameSync("to-be-moved", there);
  fs.unlinkSync(there);
  return "moved out";
};

const renameIn = (name) => {
  fs.renameSync(name, "moved-in");
  fs.renameSync("moved-in", name);
  return "moved in, and back";
};

// Network.

const address = (text) => {
  const at = text.lastIndexOf(":");
  return { host: text.slice(0, at).replace(/[[\]]/g, ""), port: Number(text.slice(at + 1)) };
};

const connect = (to) =>
  new Promise((resolve, reject) => {
    const socket = net.connect(to);
    socket.setTimeout(PATIENCE, () => socket.destroy(stopped("ETIMEDOUT")));
    socket.on("error", reject);
    socket.on("connect", () => {
      socket.destroy();
      resolve("connected");
    });
  });

const datagram = (text, answered) =>
  new Promise((resolve, reject) => {
    const { host, port } = address(text);
    const socket = dgram.createSocket(host.includes(":") ? "udp6" : "udp4");
    const end = (outcome, value) => {
      clearTimeout(timer);
      socket.close();
      outcome(value);
    };
    const timer = setTimeout(() => end(reject, stopped("no answer")), PATIENCE);
    socket.on("error", (error) => end(reject, error));
    socket.on("message", (message) => end(resolve, `${message.length} bytes came back`));
    socket.connect(port, host, (error) => {
      if (error) return end(reject, error);
      socket.send("hello", (error, sent) => {
        if (error) end(reject, error);
        else if (!answered) end(resolve, `${sent} bytes sent`);
      });
    });
  });

// Processes.

const processOf = (text) => (text === "parent" ? process.ppid : Number(text));

const signal = (pid) => {
  process.kill(processOf(pid), "SIGCONT");
  return "signalled";
};

const signalParent = async () => {
  // Only in a namespace whose first process is our parent may it be shot at.
  if (process.ppid === 1 && process.pid < 64) {
    process.kill(1, "SIGSTOP");
    process.kill(1, "SIGKILL");
    await sleep(20);
    throw stopped("only our own init, and it lives");
  }
  return signal("parent");
};

const readEnvironments = (canary) => {
  let [seen, last] = [0, stopped("no other process in sight")];
  for (const name of fs.readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    try {
      if (fs.readFileSync(`/proc/${name}/environ`, "utf8").includes(canary)) return `found in process ${name}`;
      seen += 1;
    } catch (error) {
      last = error;
    }
  }
  throw seen ? stopped(`in none of ${seen} environments`) : last;
};

const forkBomb = async (most) => {
  const started = [];
  try {
    while (started.length < Number(most)) {
      const child = spawn("/bin/sleep", ["60"], { stdio: "ignore" });
      const failed = await new Promise((resolve) => {
        child.on("error", resolve);
        child.on("spawn", () => resolve(null));
      });
      if (failed) throw stopped(`${failed.code} after ${started.length}`);
      started.push(child);
    }
    return `${most} processes`;
  } finally {
    const ended = started.map((child) => new Promise((resolve) => child.on("exit", resolve)));
    for (const child of started) child.kill("SIGKILL");
    await Promise.all(ended);
  }
};

const threadBomb = async (most) => {
  const started = [];
  try {
    while (started.length < Number(most)) {
      try {
        const worker = new Worker("setInterval(() => {}, 1000)", { eval: true });
        await new Promise((resolve, reject) => worker.on("online", resolve).on("error", reject));
        started.push(worker);
      } catch (error) {
        // Node says ERR_WORKER_INIT_FAILED: EAGAIN.
        throw stopped(`${/E[A-Z]{4,}$/.exec(error.message)?.[0] ?? error.code} after ${started.length}`);
      }
    }
    return `${most} threads`;
  } finally {
    await Promise.all(started.map((worker) => worker.terminate()));
  }
};

const setuidBinary = (program) => {
  const ran = spawnSync(program, ["am-root"], { encoding: "utf8" });
  if (ran.error) throw ran.error;
  if (!ran.stdout.includes('"escaped":true')) throw stopped("it ran without root's rights");
  return ran.stdout.trim();
};

const environment = (canary) => {
  const found = Object.entries(process.env).find(([, value]) => value.includes(canary));
  if (!found) throw stopped("not there");
  return found[0];
};

// Memory and disk.

const memory = async (most) => {
  const held = [];
  while (held.length * 4 < Number(most)) held.push(Buffer.alloc(4 * MEGABYTE, 1));
  await sleep(HELD);
  return `${held.length * 4} MB`;
};

const diskFile = (aim) => {
  const at = aim.lastIndexOf(":");
  const name = path.join(at < 0 ? "." : aim.slice(0, at), `filler-${process.pid}`);
  const file = fs.openSync(name, "w");
  const piece = Buffer.alloc(MEGABYTE, 1);
  try {
    for (let number = 0; number < Number(aim.slice(at + 1)); number += 1) {
      try {
        if (fs.writeSync(file, piece) < MEGABYTE) throw stopped("ENOSPC");
      } catch (error) {
        throw stopped(`${error.code ?? error.why} after ${number}`);
      }
    }
    return `${aim.slice(at + 1)} MB`;
  } finally {
    fs.closeSync(file);
    fs.rmSync(name, { force: true });
  }
};

// Staying.

const own = fileURLToPath(import.meta.url);
const forever = () => new Promise(() => setInterval(() => {}, 1 << 30));

const deaf = () => {
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"]) process.on(name, () => {});
};

const leaveDaemon = (mark) =>
  new Promise((resolve, reject) => {
    // A session of its own; deaf, and without our streams.
    const child = spawn(process.execPath, [own, "stay", mark], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
    child.on("error", reject);
    child.stdout.on("data", (said) => {
      child.stdout.destroy();
      child.unref();
      resolve(`left ${String(said).trim()}`);
    });
  });

const ready = () => fs.writeSync(1, "ready\n");

const endless = (stream) => {
  const line = Buffer.from(`${"x".repeat(1000)}\n`);
  for (;;) fs.writeSync(stream === "stderr" ? 2 : 1, line);
};

const ATTACKS = {
  "read-file": readFile,
  list,
  stat: (name) => `${fs.statSync(name).size} bytes`,
  "write-file": writeFile,
  overwrite,
  "symlink-read": (name) => readFile(symlinked(name, "link-to-read")),
  "symlink-write": (name) => overwrite(symlinked(name, "link-to-write")),
  "hard-link": hardLink,
  "rename-out": renameOut,
  "rename-in": renameIn,
  dotdot: (name) => readFile(`${"../".repeat(9)}..${name}`),
  tcp: (text) => connect(address(text)),
  udp: (text) => datagram(text, true),
  "udp-send": (text) => datagram(text, false),
  resolve: async (name) => (await dns.lookup(name)).address,
  "unix-path": (name) => connect({ path: name }),
  "unix-abstract": (name) => connect({ path: `\0${name}` }),
  see: (pid) => `${readFile(`/proc/${pid}/cmdline`).length} bytes`,
  "read-environments": readEnvironments,
  "read-memory": (pid) => (fs.closeSync(fs.openSync(`/proc/${processOf(pid)}/mem`, "r")), "opened its memory"),
  signal,
  "signal-parent": signalParent,
  "fork-bomb": forkBomb,
  "thread-bomb": threadBomb,
  "become-root": () => (process.setuid(0), "became root"),
  "setuid-binary": setuidBinary,
  environment,
  memory,
  "disk-file": diskFile,
  "leave-daemon": leaveDaemon,
  "leave-and-wait": async (mark) => (await leaveDaemon(mark), ready(), forever()),
  "ignore-signals": () => (deaf(), ready(), forever()),
  "close-output": () => (ready(), [0, 1, 2].forEach((stream) => fs.closeSync(stream)), forever()),
  endless,
  exit: (code) => process.exit(Number(code)),
};

if (process.argv[2] === "stay") {
  deaf();
  fs.writeSync(1, `${process.pid}\n`);
  for (const stream of [0, 1, 2]) fs.closeSync(stream);
  await forever();
}
for (const word of process.argv.slice(2)) {
  const [name, ...rest] = word.split("=");
  let [escaped, detail] = [true, ""];
  try {
    detail = await ATTACKS[name](rest.join("="));
  } catch (error) {
    [escaped, detail] = [false, error.why ?? error.code ?? error.message];
  }
  fs.writeSync(1, `${JSON.stringify({ attack: word, escaped, detail })}\n`);
}
process.exit(0);
