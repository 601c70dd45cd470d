// An ordinary program: uses what ordinary programs use, says of each whether it worked, and ends with the code it was told.

import { execFileSync, fork, spawn } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import zlib from "node:zlib";

const own = fileURLToPath(import.meta.url);
const once = (emitter, name) => new Promise((resolve, reject) => emitter.once(name, resolve).once("error", reject));

const FEATURES = {
  async workers() {
    const workers = Array.from({ length: 4 }, () => new Worker(own));
    const said = await Promise.all(workers.map((worker) => once(worker, "message")));
    await Promise.all(workers.map((worker) => worker.terminate()));
    return said.every((word) => word === "hello");
  },
  async threads() {
    // The pool of libuv.
    const pieces = Array.from({ length: 8 }, () => new Promise((resolve) => crypto.scrypt("a", "b", 32, (_, key) => resolve(key.length))));
    return (await Promise.all(pieces)).every((length) => length === 32);
  },
  async programs() {
    const child = spawn("/bin/sh", ["-c", "exit 3"]);
    const code = await once(child, "exit");
    return code === 3 && execFileSync(process.execPath, ["-e", "console.log(6 * 7)"], { encoding: "utf8" }) === "42\n";
  },
  async forks() {
    const child = fork(own, ["child"]);
    const said = await once(child, "message");
    await once(child, "exit");
    return said === "hello";
  },
  async files() {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "plain-"));
    await Promise.all(Array.from({ length: 200 }, (_, number) => fs.promises.writeFile(path.join(directory, `${number}`), "text")));
    fs.cpSync(directory, `${directory}-copy`, { recursive: true });
    return fs.readdirSync(`${directory}-copy`).length === 200;
  },
  home() {
    fs.writeFileSync(path.join(os.homedir(), "file"), "text");
    return fs.existsSync("file");
  },
  async web() {
    const server = http.createServer((_, answer) => answer.end("hello")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const answer = await fetch(`http://127.0.0.1:${server.address().port}/`);
    const said = await answer.text();
    server.close();
    return said === "hello";
  },
  async pipes() {
    const server = net.createServer((socket) => socket.end("hello")).listen("sock");
    await once(server, "listening");
    const said = await once(net.connect("sock"), "data");
    server.close();
    return String(said) === "hello";
  },
  cryptography() {
    const { privateKey, publicKey } = crypto.generateKeyPairSync("ed25519");
    return crypto.verify(null, Buffer.from("a"), publicKey, crypto.sign(null, Buffer.from("a"), privateKey)) && crypto.randomBytes(32).length === 32;
  },
  compression: () => zlib.gunzipSync(zlib.gzipSync("hello")).toString() === "hello",
  async webassembly() {
    const { instance } = await WebAssembly.instantiate(
      new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 6, 1, 4, 0, 65, 42, 11]),
    );
    return instance.exports.f() === 42;
  },
  memory: () => Buffer.alloc(100 * 1024 * 1024, 1).length > 0 && process.memoryUsage().rss > 0,
  machine: () => os.cpus().length > 0 && os.hostname().length > 0 && Boolean(os.networkInterfaces()) && Boolean(os.userInfo()),
  watching() {
    const watcher = fs.watch(".");
    watcher.close();
    return true;
  },
  environment: () => process.env.MODE === "test" && !("COVENANT_CANARY" in process.env),
};

const worked = async (feature) => {
  try {
    return (await feature()) ? "ok" : "wrong";
  } catch (error) {
    return String(error);
  }
};

if (!isMainThread) {
  parentPort.postMessage("hello");
} else if (process.argv[2] === "child") {
  process.send("hello", () => process.disconnect());
} else {
  const said = fs.readFileSync(0, "utf8");
  console.error("on stderr");
  const answers = { input: said === "hello" ? "ok" : said };
  for (const [name, feature] of Object.entries(FEATURES)) answers[name] = await worked(feature);
  console.log(JSON.stringify(answers));
  process.exit(Number(process.argv[2]));
}
