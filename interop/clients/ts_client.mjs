// Drives one MCP server with the official TypeScript client and prints what it saw.
//
//     ts_client.mjs --era legacy|modern|auto --plan JSON stdio -- COMMAND [ARGUMENT…]
//     ts_client.mjs --era legacy|modern|auto --plan JSON http URL
//
// The arguments, the plan and the printed object are those of python_client.py. The
// packages are found from this file's folder: the harness runs a copy that lies beside
// their node_modules.

import { parseArgs } from 'node:util';

import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

// The package exports no name for the newest revision: its own constant is the newest *legacy* one.
const NEWEST_REVISION = '2026-07-28';

const { values: options, positionals } = parseArgs({
    options: { era: { type: 'string' }, plan: { type: 'string' } },
    allowPositionals: true
});
const [transportName, ...target] = positionals;
const plan = JSON.parse(options.plan ?? '[]');

if (!['legacy', 'modern', 'auto'].includes(options.era) || !['stdio', 'http'].includes(transportName) || target.length === 0) {
    console.error('usage: ts_client.mjs --era legacy|modern|auto --plan JSON stdio -- COMMAND… | http URL');
    process.exit(2);
}

function openTransport() {
    if (transportName === 'http') return new StreamableHTTPClientTransport(new URL(target[0]));
    const [command, ...args] = target;
    return new StdioClientTransport({ command, args });
}

async function listAll(fetch, member) {
    const items = [];
    let cursor;
    do {
        const page = await fetch({ cursor });
        items.push(...page[member]);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return items;
}

async function runStep(client, step) {
    if (step.list === 'tools') {
        return (await listAll(page => client.listTools(page), 'tools')).map(tool => tool.name);
    }
    if (step.list === 'resources') {
        return (await listAll(page => client.listResources(page), 'resources')).map(resource => resource.uri);
    }
    if (step.call !== undefined) {
        const result = await client.callTool({ name: step.call, arguments: step.arguments ?? {} });
        return {
            isError: result.isError === true,
            text: result.content.filter(block => block.type === 'text').map(block => block.text),
            structured: result.structuredContent ?? null
        };
    }
    if (step.read !== undefined) {
        const result = await client.readResource({ uri: step.read });
        return result.contents.map(content => content.text ?? null);
    }
    throw new Error(`unknown step ${JSON.stringify(step)}`);
}

async function tryStep(client, step) {
    try {
        return await runStep(client, step);
    } catch (failure) {
        if (!(failure instanceof ProtocolError)) throw failure;
        return { error: { code: failure.code, message: failure.message } };
    }
}

const mode = options.era === 'modern' ? { pin: NEWEST_REVISION } : options.era;
const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });
try {
    await client.connect(openTransport());
    const steps = [];
    for (const step of plan) steps.push(await tryStep(client, step));
    console.log(JSON.stringify({ client: 'typescript', protocolVersion: client.getNegotiatedProtocolVersion(), steps }));
    await client.close();
} catch (failure) {
    console.error(`${failure.name}: ${failure.message}`);
    process.exit(1);
}
