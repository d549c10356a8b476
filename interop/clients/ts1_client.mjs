// Drives one MCP server with the TypeScript SDK's first major version, which most
// programs in use are built on, and prints what it saw.
//
//     ts1_client.mjs --era legacy --plan JSON stdio -- COMMAND [ARGUMENT…]
//     ts1_client.mjs --era legacy --plan JSON http URL
//
// As ts_client.mjs, but that this SDK knows the handshake only.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';

import { readArguments, report, runSteps } from './steps.mjs';

const { plan, transport: name, target } = readArguments(['legacy']);

function openTransport() {
    if (name === 'http') return new StreamableHTTPClientTransport(new URL(target[0]));
    const [command, ...args] = target;
    return new StdioClientTransport({ command, args });
}

await report(async () => {
    const client = new Client({ name: 'interop', version: '1.0.0' });
    const transport = openTransport();
    // The client tells its transport what was agreed, and nobody else.
    let protocolVersion;
    const passOn = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = agreed => {
        protocolVersion = agreed;
        passOn?.(agreed);
    };
    await client.connect(transport);
    const steps = await runSteps(client, plan, McpError);
    await client.close();
    return { client: 'typescript-1', protocolVersion, steps };
});
