// AGENT_NAME: an agent to begin with. It needs nothing but Node itself.
//
// The daemon starts this script once for each intent, in a sandbox of its own:
//
// - It gets one line of JSON on standard input:
//   {"id", "text", "issuer": {"display", "pubkey"}, "issued_at", "priority", "parent"}
// - It writes one line of JSON on standard output, and nothing else:
//   {"intent_id", "status": "ok" or "error", "text", "sources": [...]}
// - Standard error goes to the daemon's log.
// - It ends by itself, with exit code 0, before `cpu_ms_per_task` is over.
//
// Tools are called over HTTP: COVENANT_URL is where the daemon is, and
// COVENANT_TOKEN is good until this run ends. What may be called is what the
// manifest names, of that what whoever sent the intent may call.

import { request } from "node:http";
import { createInterface } from "node:readline";

/** A tool was refused, or failed; the message says why. */
class ToolFailed extends Error {}

/** Sends a text to the daemon, and gives back what it answers. */
function post(path, body) {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${process.env.COVENANT_TOKEN}`,
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
    };
    // The daemon is reached directly, also where the way to the Internet is a proxy.
    const options = { method: "POST", headers, agent: false, timeout: 20_000 };
    const sent = request(process.env.COVENANT_URL + path, options, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => resolve(Buffer.concat(parts).toString("utf8")));
      response.on("error", reject);
    });
    sent.on("timeout", () => sent.destroy(new Error("it took too long")));
    sent.on("error", (error) => reject(new ToolFailed(`the daemon was not reached: ${error.message}`)));
    sent.end(body);
  });
}

/** Calls a tool through the daemon, and gives back the text it answers. */
async function callTool(name, args) {
  const params = { name, arguments: args };
  const body = await post("/mcp", JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
  let answer;
  try {
    answer = JSON.parse(body);
  } catch {
    throw new ToolFailed("the daemon did not answer in JSON");
  }
  if (answer.error) throw new ToolFailed(answer.error.message ?? "the call was refused");
  const texts = (answer.result.content ?? []).filter((part) => part.type === "text");
  const text = texts.map((part) => part.text).join("\n");
  if (answer.result.isError) throw new ToolFailed(text);
  return text;
}

/** Does what is wanted: a text, and where it comes from. */
async function work(intent) {
  const told = `You said: ${intent.text}`;
  try {
    const { epoch_ms: milliseconds } = JSON.parse(await callTool("clock", {}));
    const now = new Date(milliseconds).toISOString().slice(0, 19).replace("T", " ");
    return { text: `${told}. It is ${now} UTC.`, sources: ["tool:clock"] };
  } catch (error) {
    if (!(error instanceof ToolFailed)) throw error;
    // A tool that is refused is no reason to give up: say what is known without it.
    console.error(`clock: ${error.message}`);
    return { text: `${told}. I may not look at the clock: ${error.message}`, sources: [] };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const intent = JSON.parse(line);
  let answer;
  try {
    answer = { intent_id: intent.id, status: "ok", ...(await work(intent)) };
  } catch (error) {
    answer = { intent_id: intent.id, status: "error", text: String(error), sources: [] };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
  break;
}
