// Where the pinned packages are installed, and what every client program does: it connects, lists the tools, waits
// until it is told that they changed, lists them again and calls echo; or it lists them and makes the calls of a file.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const place = process.env.COVENANT_TEST_CLIENTS ?? resolve(here, "../../.tools/clients");

/** Loads an installed package: beside the build, not beside these programs. */
export const installed = createRequire(join(place, "package.json"));

/** What a program was started with: [--mode MODE] [--calls FILE] then --url URL or COMMAND [ARGUMENT...]. */
export function options(usage, modes = ["default"]) {
  const words = process.argv.slice(2);
  const mode = words[0] === "--mode" ? words.splice(0, 2)[1] : "default";
  const calls = words[0] === "--calls" ? words.splice(0, 2)[1] : undefined;
  const url = words[0] === "--url" ? words.splice(0, 2)[1] : undefined;
  const [command, ...args] = words;
  if (!modes.includes(mode) || !(url || command)) {
    throw new Error(`usage: ${usage} [--calls FILE] --url URL | COMMAND [ARGUMENT...]`);
  }
  return { mode, calls, url, command, args };
}

/** A way to the server, and a promise that it can tell us of changes by itself in the older revisions. */
export function transport({ url, command, args }, { Stdio, Http }) {
  if (!url) return { way: new Stdio({ command, args, env: process.env }), hears: Promise.resolve() };
  let heard;
  const hears = new Promise((resolve) => (heard = resolve));
  const noticing = async (target, init) => {
    const response = await fetch(target, init);
    if ((init?.method ?? "GET") === "GET" && response.ok) heard();
    return response;
  };
  const headers = { Authorization: `Bearer ${process.env.COVENANT_TOKEN}` };
  return { way: new Http(new URL(url), { requestInit: { headers }, fetch: noticing }), hears };
}

const names = async (client) => (await client.listTools()).tools.map((tool) => tool.name);

/** Prints {"tools"} before the change, and {"tools", "echo", "protocol"} after it. */
export async function report(client, changed, protocol) {
  console.log(JSON.stringify({ tools: await names(client) }));
  await changed;
  const tools = await names(client);
  const result = await client.callTool({ name: "echo", arguments: { text: "hi" } });
  if (result.isError) throw new Error(`echo failed: ${JSON.stringify(result.content)}`);
  console.log(JSON.stringify({ tools, echo: result.content[0].text, protocol }));
}

/** Makes the calls of a file, [{"name", "arguments"}], and prints {"tools", "answers": [{"result", "progress"}], "protocol"}. */
export async function visit(client, calls, protocol, call) {
  const { tools } = await client.listTools();
  // Progress is heard where it arrives: these clients forget what comes in one piece with the answer.
  let heard = [];
  const pass = client.transport.onmessage;
  client.transport.onmessage = (message, ...rest) => {
    const { method, params } = message;
    if (method === "notifications/progress") heard.push([params.progress, params.total]);
    return pass(message, ...rest);
  };
  const answers = [];
  for (const wanted of JSON.parse(await readFile(calls, "utf8"))) {
    heard = [];
    const result = await call(client, wanted, { onprogress: () => {} });
    answers.push({ result, progress: heard });
  }
  console.log(JSON.stringify({ tools, answers, protocol }));
}

/** Runs a client program; whatever goes wrong is a message and a non-zero exit, and it never hangs. */
export async function run(name, body) {
  const patience = setTimeout(() => fail(name, new Error("no answer within 60 s")), 60_000);
  try {
    await body();
    clearTimeout(patience);
  } catch (problem) {
    fail(name, problem);
  }
}

function fail(name, problem) {
  console.error(`${name}: ${problem?.stack ?? problem}`);
  process.exit(1);
}
