// The TypeScript MCP client, version 2, which knows both eras.
//
//     node ts_v2.mjs [--mode default|auto|2026-07-28] [--calls FILE] --url URL | COMMAND [ARGUMENT...]
//
// Prints what `report` says, or with a file of calls what `visit` says; any problem is a message on stderr and a non-zero exit.
import { installed, options, report, run, transport, visit } from "./installed.mjs";

const { Client, StreamableHTTPClientTransport } = installed("@modelcontextprotocol/client");
const { StdioClientTransport } = installed("@modelcontextprotocol/client/stdio");

const MODES = {
  default: {},
  auto: { versionNegotiation: { mode: "auto" } },
  "2026-07-28": { versionNegotiation: { mode: { pin: "2026-07-28" } } },
};

await run("ts_v2", async () => {
  const given = options("ts_v2.mjs [--mode default|auto|2026-07-28]", Object.keys(MODES));
  const { way, hears } = transport(given, { Stdio: StdioClientTransport, Http: StreamableHTTPClientTransport });
  const client = new Client({ name: "ts-v2", version: "1.0.0" }, MODES[given.mode]);
  const changed = new Promise((resolve) => client.setNotificationHandler("notifications/tools/list_changed", resolve));
  await client.connect(way);
  const version = client.getNegotiatedProtocolVersion();
  await (version >= "2026" ? client.listen({ toolsListChanged: true }) : hears);
  const call = (client, wanted, options) => client.callTool(wanted, options);
  await (given.calls ? visit(client, given.calls, version, call) : report(client, changed, version));
  await client.close();
});
