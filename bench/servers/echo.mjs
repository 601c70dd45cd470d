// The server that a gate is measured in front of: it echoes, as cheaply as Node can.
//
//     node echo.mjs http       prints its port, and answers POST /mcp there with plain JSON
//     node echo.mjs stdio      one message per line
import { createServer } from "node:http";

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const tools = [
  { name: "echo", description: "Says it again.", inputSchema: text },
  { name: "crash", description: "Ends this server.", inputSchema: text },
];

const methods = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "echo", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": ({ name, arguments: given }) => {
    if (name === "crash") process.exit(1);
    return { content: [{ type: "text", text: `Echo: ${given.text}` }], isError: false };
  },
};

/** The answer to a message, written; nothing where none is wanted. */
function answer({ id, method, params }) {
  if (id === undefined || method === undefined) return undefined;
  const known = methods[method];
  const outcome = known ? { result: known(params) } : { error: { code: -32601, message: `no method ${method}` } };
  return JSON.stringify({ jsonrpc: "2.0", id, ...outcome });
}

function overHttp(request, response) {
  if (request.method !== "POST") return response.writeHead(405).end();
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const message = JSON.parse(Buffer.concat(pieces));
    const body = answer(message);
    if (body === undefined) return response.writeHead(202).end();
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    if (message.method === "initialize") headers["Mcp-Session-Id"] = crypto.randomUUID();
    response.writeHead(200, headers).end(body);
  });
}

/** Takes whatever has come, and writes all answers at once. */
function byLines() {
  let begun = "";
  process.stdin.setEncoding("utf8").on("data", (piece) => {
    const lines = (begun + piece).split("\n");
    begun = lines.pop();
    const said = lines.map((line) => answer(JSON.parse(line))).filter((line) => line !== undefined);
    if (said.length > 0) process.stdout.write(said.join("\n") + "\n");
  });
}

if (process.argv[2] === "http") {
  const server = createServer({ keepAliveTimeout: 120_000 }, overHttp);
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
} else {
  byLines();
}
