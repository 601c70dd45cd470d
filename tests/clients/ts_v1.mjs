// The TypeScript MCP client, version 1, which knows the older revisions.
//
//     node ts_v1.mjs [--calls FILE] --url URL | COMMAND [ARGUMENT...]
//
// Prints what `report` says, or with a file of calls what `visit` says; any problem is a message on stderr and a non-zero exit.
import { installed, options, report, run, transport, visit } from "./installed.mjs";

const { Client } = installed("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = installed("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = installed("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ToolListChangedNotificationSchema } = installed("@modelcontextprotocol/sdk/types.js");

await run("ts_v1", async () => {
  const given = options("ts_v1.mjs");
  const { way, hears } = transport(given, { Stdio: StdioClientTransport, Http: StreamableHTTPClientTransport });
  let version;
  const negotiated = way.setProtocolVersion?.bind(way);
  way.setProtocolVersion = (chosen) => {
    version = chosen;
    negotiated?.(chosen);
  };
  const client = new Client({ name: "ts-v1", version: "1.0.0" });
  const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
  await client.connect(way);
  await hears;
  const call = (client, wanted, options) => client.callTool(wanted, undefined, options);
  await (given.calls ? visit(client, given.calls, version, call) : report(client, changed, version));
  await client.close();
});
