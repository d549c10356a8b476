// What the two TypeScript clients share: their arguments, their plan, their report.
// python_client.py says what these are.

import { parseArgs } from 'node:util';

/** The arguments; a wrong one ends the program with status 2. */
export function readArguments(eras) {
    const { values: options, positionals } = parseArgs({
        options: { era: { type: 'string' }, plan: { type: 'string' } },
        allowPositionals: true
    });
    const [transport, ...target] = positionals;
    if (!eras.includes(options.era) || !['stdio', 'http'].includes(transport) || target.length === 0) {
        console.error(`usage: --era ${eras.join('|')} --plan JSON stdio -- COMMAND… | http URL`);
        process.exit(2);
    }
    return { era: options.era, plan: JSON.parse(options.plan ?? '[]'), transport, target };
}

/** Runs the steps one after the other; `Refusal` is the error that tells of a server's refusal. */
export async function runSteps(client, plan, Refusal) {
    const steps = [];
    for (const step of plan) steps.push(await tryStep(client, step, Refusal));
    return steps;
}

/** Runs a client to its end and prints its report, or why there is none. */
export async function report(run) {
    try {
        console.log(JSON.stringify(await run()));
    } catch (failure) {
        console.error(`${failure.name}: ${failure.message}`);
        process.exit(1);
    }
}

async function tryStep(client, step, Refusal) {
    try {
        return await runStep(client, step);
    } catch (failure) {
        if (!(failure instanceof Refusal)) throw failure;
        return { error: { code: failure.code, message: failure.message } };
    }
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
