// Connects the TypeScript MCP client, version 1, to a stdio server, lists its tools and calls echo.
//
//     node ts_v1.mjs COMMAND [ARGUMENT...]
//
// Prints one JSON line {"tools", "echo", "protocol"}; any problem is a message on stderr and a non-zero exit.
import { environment, installed, report, run } from "./installed.mjs";

const { Client } = installed("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = installed("@modelcontextprotocol/sdk/client/stdio.js");

await run("ts_v1", async () => {
  const [command, ...args] = process.argv.slice(2);
  if (!command) throw new Error("usage: ts_v1.mjs COMMAND [ARGUMENT...]");
  const transport = new StdioClientTransport({ command, args, env: environment });
  let version;
  transport.setProtocolVersion = (negotiated) => {
    version = negotiated;
  };
  const client = new Client({ name: "ts-v1", version: "1.0.0" });
  await client.connect(transport);
  await report(client, () => version);
  await client.close();
});
