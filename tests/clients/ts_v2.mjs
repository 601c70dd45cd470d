// Connects the TypeScript MCP client, version 2, to a stdio server, lists its tools and calls echo.
//
//     node ts_v2.mjs [--mode default|auto|2026-07-28] COMMAND [ARGUMENT...]
//
// Prints one JSON line {"tools", "echo", "protocol"}; any problem is a message on stderr and a non-zero exit.
import { environment, installed, report, run } from "./installed.mjs";

const { Client } = installed("@modelcontextprotocol/client");
const { StdioClientTransport } = installed("@modelcontextprotocol/client/stdio");

const MODES = {
  default: {},
  auto: { versionNegotiation: { mode: "auto" } },
  "2026-07-28": { versionNegotiation: { mode: { pin: "2026-07-28" } } },
};

await run("ts_v2", async () => {
  const words = process.argv.slice(2);
  const mode = words[0] === "--mode" ? words.splice(0, 2)[1] : "default";
  const [command, ...args] = words;
  if (!command || !MODES[mode]) throw new Error("usage: ts_v2.mjs [--mode default|auto|2026-07-28] COMMAND [ARGUMENT...]");
  const client = new Client({ name: "ts-v2", version: "1.0.0" }, MODES[mode]);
  await client.connect(new StdioClientTransport({ command, args, env: environment }));
  await report(client, () => client.getNegotiatedProtocolVersion());
  await client.close();
});
