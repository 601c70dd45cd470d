// An agent in Node that does what its intent says: `say TEXT`, `tell`, or `calls [[METHOD, PARAMS], …]`.

import { request } from "node:http";

/** What the daemon answers to a request of the protocol. */
function ask(method, params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = {
    Authorization: `Bearer ${process.env.COVENANT_TOKEN}`,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${process.env.COVENANT_URL}/mcp`, { method: "POST", headers, agent: false }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => resolve(JSON.parse(Buffer.concat(parts).toString("utf8"))));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

let input = "";
for await (const part of process.stdin) input += part;
const at = input.indexOf("\n") + 1;
const [line, rest] = [input.slice(0, at), input.slice(at)];
const intent = JSON.parse(line);
const word = intent.text.split(" ", 1)[0];
const said = intent.text.slice(word.length + 1);

let text = said;
if (word === "tell") {
  text = JSON.stringify({ line, rest, words: process.argv, program: process.execPath, directory: process.cwd(), environment: process.env });
} else if (word === "calls") {
  const answers = [];
  for (const [method, params] of JSON.parse(said)) answers.push(await ask(method, params));
  text = JSON.stringify(answers);
}
process.stdout.write(JSON.stringify({ intent_id: intent.id, status: "ok", text, sources: ["https://example.com/one", "two"] }) + "\n");
