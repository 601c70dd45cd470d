// What Node's own library does by itself: threads, processes, servers, files, hashes. Prints "unharmed" at the end.
import assert from "node:assert/strict";
import { exec, execFileSync, fork, spawn } from "node:child_process";
import crypto from "node:crypto";
import dns from "node:dns/promises";
import { once } from "node:events";
import fs from "node:fs/promises";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import zlib from "node:zlib";

const shared = new Int32Array(new SharedArrayBuffer(4));
const code = "require('worker_threads').workerData[0] = 7; require('worker_threads').parentPort.postMessage('done')";
const workers = [1, 2, 3].map(() => new Worker(code, { eval: true, execArgv: [], workerData: shared }));
for (const [said] of await Promise.all(workers.map((worker) => once(worker, "message")))) assert.equal(said, "done");
assert.equal(shared[0], 7);

assert.equal((await promisify(exec)("echo $((6 * 7))")).stdout, "42\n");
assert.equal(execFileSync(process.execPath, ["-p", "6 * 7"], { encoding: "utf8" }), "42\n");
const cat = spawn("cat");
cat.stdin.end("through");
assert.equal(Buffer.concat(await cat.stdout.toArray()).toString(), "through");

const place = await fs.mkdtemp(path.join(os.tmpdir(), "run-"));
const file = path.join(place, "child.cjs");
await fs.writeFile(file, "process.on('message', (m) => { process.send(m + 1); process.disconnect(); })");
const child = fork(file, { execArgv: [] });
child.send(41);
assert.deepEqual(await once(child, "message"), [42, undefined]);
await once(child, "exit");
await fs.copyFile(file, file + ".copy");
await Promise.all(Array.from({ length: 50 }, (_, n) => fs.writeFile(path.join(place, `${n}`), "x".repeat(n))));
assert.equal((await fs.readdir(place)).length, 52);
await fs.rm(place, { recursive: true });

const server = http.createServer((_, answer) => answer.end("hello")).listen(0, "127.0.0.1");
await once(server, "listening");
assert.equal(await (await fetch(`http://127.0.0.1:${server.address().port}/`)).text(), "hello");
server.closeAllConnections();
server.close();

const keys = await promisify(crypto.generateKeyPair)("ed25519");
const signature = crypto.sign(null, Buffer.from("text"), keys.privateKey);
assert(crypto.verify(null, Buffer.from("text"), keys.publicKey, signature));
assert.equal((await promisify(crypto.scrypt)("x", "y", 32)).length, 32);
assert.equal(crypto.randomBytes(32).length, 32);
assert.equal((await promisify(zlib.gunzip)(await promisify(zlib.gzip)("text"))).toString(), "text");

const wasm = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 6, 1, 4, 0, 65, 42, 11]);
assert.equal((await WebAssembly.instantiate(wasm)).instance.exports.f(), 42);

assert(Object.hasOwn(os.networkInterfaces(), "lo"));
await dns.lookup("localhost");
os.setPriority(os.getPriority());
const big = Array.from({ length: 200_000 }, (_, n) => ({ n, text: `${n}` }));
assert.equal(big.reduce((sum, { n }) => sum + n, 0), 19_999_900_000);
console.log("unharmed");
