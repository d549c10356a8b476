// A model that follows a script, over real HTTP and streamed, in two providers' forms.
//
//     scripted_model.mjs --plan JSON
//
// The plan is a JSON array of rounds, each an array of what the model asks for at once:
//
//     {"server": NAME, "tool": NAME, "arguments": {…}}
//     {"server": NAME, "uri": URI}                          a resource
//
// After the last round it answers `The tools said: ` and the results of that round, so
// that an answer shows what reached the model. Tools are asked for in the provider's own
// form when the request offers any, else as XML blocks, when the system prompt teaches
// those. What the real providers refuse is refused here too: a missing key or version, a
// tool name that they do not take, a call without its result or a result without its call.
//
// `POST /v1/chat/completions` is OpenAI's form, `POST /v1/messages` Anthropic's. The
// first line on stdout is `listening on http://ADDRESS`.

import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

const KEY = 'scripted-key';
const CHARACTERS_A_PIECE = 7;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const { values: options } = parseArgs({ options: { plan: { type: 'string' } } });
const plan = JSON.parse(options.plan ?? '[]');

class Refusal extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

function need(condition, message, status = 400) {
    if (!condition) throw new Refusal(status, message);
}

function* pieces(text) {
    const characters = [...text];
    for (let at = 0; at < characters.length; at += CHARACTERS_A_PIECE) {
        yield characters.slice(at, at + CHARACTERS_A_PIECE).join('');
    }
}

/** The answer to a conversation, whichever form it came in. */
function next({ system, tools, rounds }) {
    const round = plan[rounds.length];
    if (round === undefined) return { text: `The tools said: ${rounds.at(-1) ?? 'nothing'}`, calls: [] };
    if (tools.length > 0) return { text: 'Let me look. ', calls: round.map(step => nativeCall(step, tools)) };
    need(system.includes('<use_mcp_tool>'), 'no tools are offered and no XML is taught');
    return { text: `Let me look.\n${round.map(step => xmlCall(step, system)).join('\n')}\n`, calls: [] };
}

function nativeCall(step, tools) {
    tools.forEach(tool => {
        need(TOOL_NAME.test(tool.name), `tool name ${tool.name} is not one of [a-zA-Z0-9_-]{1,64}`);
        need(tool.schema?.type === 'object', `tool ${tool.name} has no object schema`);
    });
    const wanted = step.uri === undefined ? `${step.server}__${step.tool}` : 'read_resource';
    const names = tools.map(tool => tool.name);
    need(names.includes(wanted), `${wanted} is not among ${names.join(', ')}`);
    const read = { server: step.server, uri: step.uri };
    return { name: wanted, arguments: JSON.stringify(step.uri === undefined ? step.arguments : read) };
}

function xmlCall(step, system) {
    need(system.includes(step.server), `the system prompt does not name the server ${step.server}`);
    if (step.uri !== undefined) {
        need(system.includes('<access_mcp_resource>'), 'the system prompt does not teach how to read resources');
        return `<access_mcp_resource>\n<server_name>${step.server}</server_name>\n<uri>${step.uri}</uri>\n</access_mcp_resource>`;
    }
    need(system.includes(step.tool), `the system prompt does not name the tool ${step.tool}`);
    return `<use_mcp_tool>\n<server_name>${step.server}</server_name>\n<tool_name>${step.tool}</tool_name>\n<arguments>\n${JSON.stringify(step.arguments)}\n</arguments>\n</use_mcp_tool>`;
}

/** Every call has its result in the next message or messages, and there is no other result. */
function pair(called, answered) {
    const sorted = ids => JSON.stringify([...ids].sort());
    need(sorted(called) === sorted(answered), `calls ${sorted(called)} and results ${sorted(answered)} do not match`);
}

const openai = {
    path: '/v1/chat/completions',

    authorise(headers) {
        need(headers.authorization === `Bearer ${KEY}`, 'no valid key', 401);
    },

    conversation(request) {
        const system = request.messages.filter(message => message.role === 'system').map(message => message.content);
        const talk = request.messages.filter(message => message.role !== 'system');
        const tools = (request.tools ?? []).map(({ function: tool }) => ({ name: tool.name, schema: tool.parameters }));
        const rounds = [];
        for (let at = 1; at < talk.length; ) {
            const { role, tool_calls: calls = [] } = talk[at++];
            need(role === 'assistant', `a message of the assistant must come here, not of ${role}`);
            const results = [];
            const wanted = calls.length > 0 ? 'tool' : 'user';
            while (at < talk.length && talk[at].role === wanted) results.push(talk[at++]);
            if (calls.length > 0) pair(calls.map(call => call.id), results.map(result => result.tool_call_id));
            rounds.push(results.map(result => text(result.content)).join('\n'));
        }
        return { system: system.join('\n'), tools, rounds };
    },

    *events({ text, calls }, model, request) {
        const chunk = (choices, more = {}) => ({
            data: { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices, ...more }
        });
        const delta = (delta, finish_reason = null) => chunk([{ index: 0, delta, finish_reason }]);
        yield delta({ role: 'assistant', content: '' });
        for (const piece of pieces(text)) yield delta({ content: piece });
        for (const [index, call] of calls.entries()) {
            const head = { name: call.name, arguments: '' };
            yield delta({ tool_calls: [{ index, id: id(), type: 'function', function: head }] });
            for (const piece of pieces(call.arguments)) {
                yield delta({ tool_calls: [{ index, function: { arguments: piece } }] });
            }
        }
        yield delta({}, calls.length > 0 ? 'tool_calls' : 'stop');
        if (request.stream_options?.include_usage) {
            yield chunk([], { usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
        }
        yield { data: '[DONE]' };
    }
};

const anthropic = {
    path: '/v1/messages',

    authorise(headers) {
        need(headers['x-api-key'] === KEY, 'no valid key', 401);
        need(headers['anthropic-version'] === '2023-06-01', 'no version of the API');
    },

    conversation(request) {
        need(Number.isInteger(request.max_tokens), 'max_tokens is required');
        const tools = (request.tools ?? []).map(tool => ({ name: tool.name, schema: tool.input_schema }));
        const talk = request.messages.map(message => ({ ...message, content: blocks(message.content) }));
        const rounds = [];
        for (let at = 1; at < talk.length; at += 2) {
            need(talk[at].role === 'assistant' && talk[at + 1]?.role === 'user', 'the roles must alternate');
            const of = (message, type) => message.content.filter(block => block.type === type);
            const results = of(talk[at + 1], 'tool_result');
            pair(of(talk[at], 'tool_use').map(use => use.id), results.map(result => result.tool_use_id));
            rounds.push([...results.map(result => text(result.content)), text(talk[at + 1].content)].join('\n').trim());
        }
        return { system: text(request.system ?? ''), tools, rounds };
    },

    *events({ text, calls }, model) {
        const event = (type, more) => ({ event: type, data: { type, ...more } });
        const start = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null };
        yield event('message_start', { message: { ...start, usage: { input_tokens: 3, output_tokens: 1 } } });
        yield event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
        for (const piece of pieces(text)) {
            yield event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: piece } });
        }
        yield event('content_block_stop', { index: 0 });
        for (const [number, call] of calls.entries()) {
            const index = number + 1;
            const use = { type: 'tool_use', id: id(), name: call.name, input: {} };
            yield event('content_block_start', { index, content_block: use });
            for (const piece of pieces(call.arguments)) {
                yield event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: piece } });
            }
            yield event('content_block_stop', { index });
        }
        const stop_reason = calls.length > 0 ? 'tool_use' : 'end_turn';
        yield event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 2 } });
        yield event('message_stop', {});
    }
};

let lastId = 0;

function id() {
    lastId += 1;
    return `call_${lastId}`;
}

function blocks(content) {
    return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
}

function text(content) {
    return blocks(content).filter(block => block.type === 'text').map(block => block.text).join('\n');
}

async function respond(incoming, outgoing) {
    const form = [openai, anthropic].find(form => incoming.method === 'POST' && incoming.url === form.path);
    need(form !== undefined, `nothing is at ${incoming.method} ${incoming.url}`, 404);
    form.authorise(incoming.headers);
    const request = JSON.parse(Buffer.concat(await incoming.toArray()).toString('utf8'));
    need(request.stream === true, 'only streams are scripted');
    const answer = next(form.conversation(request));
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const { event, data } of form.events(answer, request.model, request)) {
        if (event !== undefined) outgoing.write(`event: ${event}\n`);
        outgoing.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
        // Each event is a write of its own, as with a model that thinks while it speaks.
        await new Promise(setImmediate);
    }
    outgoing.end();
}

const server = createServer((incoming, outgoing) => {
    respond(incoming, outgoing).catch(failure => {
        console.error(failure.message);
        if (outgoing.headersSent) return outgoing.destroy();
        outgoing.writeHead(failure.status ?? 400, { 'content-type': 'application/json' });
        outgoing.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: failure.message } }));
    });
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
