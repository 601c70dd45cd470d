// Where the pinned packages are installed: beside the build, not beside these programs.
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const place = process.env.COVENANT_TEST_CLIENTS ?? resolve(here, "../../.tools/clients");

/** Loads an installed package. */
export const installed = createRequire(join(place, "package.json"));

/** The whole environment, for a server that is configured by it. */
export const environment = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined));

/** Lists the tools, calls echo, prints the one line. */
export async function report(client, protocol) {
  const { tools } = await client.listTools();
  const result = await client.callTool({ name: "echo", arguments: { text: "hi" } });
  if (result.isError) throw new Error(`echo failed: ${JSON.stringify(result.content)}`);
  const line = { tools: tools.map((tool) => tool.name), echo: result.content[0].text, protocol: protocol() };
  console.log(JSON.stringify(line));
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
