// Drives one MCP server with the official TypeScript client and prints what it saw.
//
//     ts_client.mjs --era legacy|modern|auto --plan JSON stdio -- COMMAND [ARGUMENT…]
//     ts_client.mjs --era legacy|modern|auto --plan JSON http URL
//
// The arguments, the plan and the printed object are those of python_client.py. The
// packages are found from this file's folder: the harness runs a copy that lies beside
// their node_modules.

import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { readArguments, report, runSteps } from './steps.mjs';

// The package exports no name for the newest revision: its own constant is the newest *legacy* one.
const NEWEST_REVISION = '2026-07-28';

const { era, plan, transport, target } = readArguments(['legacy', 'modern', 'auto']);

function openTransport() {
    if (transport === 'http') return new StreamableHTTPClientTransport(new URL(target[0]));
    const [command, ...args] = target;
    return new StdioClientTransport({ command, args });
}

await report(async () => {
    const mode = era === 'modern' ? { pin: NEWEST_REVISION } : era;
    const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(openTransport());
    const steps = await runSteps(client, plan, ProtocolError);
    const protocolVersion = client.getNegotiatedProtocolVersion();
    await client.close();
    return { client: 'typescript', protocolVersion, steps };
});
