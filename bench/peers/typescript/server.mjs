// An echo server on the official TypeScript SDK.
//
// `stdio`, `http PORT`: as its documentation writes it. Over HTTP every request of a
// revision with a handshake makes a new server, and there are no sessions.
// `http-tuned PORT`: such requests belong to sessions that keep their server; all answers
// are plain JSON.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';

const STATELESS = '2026-07-28';
// Room for the largest echo, with what JSON adds.
const BODY_BYTES = 16 << 20;

const echoServer = () => {
    const server = new McpServer({ name: 'peer-typescript', version: '0.0.0' });
    const description = 'Echo the message back';
    const inputSchema = z.object({ message: z.string() });
    server.registerTool('echo', { description, inputSchema }, ({ message }) => ({
        content: [{ type: 'text', text: message }],
    }));
    return server;
};

const newestOnly = () =>
    createMcpHandler(echoServer, {
        legacy: 'reject',
        responseMode: 'json',
        maxRequestBodySize: BODY_BYTES,
    });

const tuned = () => {
    const newest = toNodeHandler(newestOnly());
    const sessions = new Map();
    const open = async () => {
        const transport = new NodeStreamableHTTPServerTransport({
            enableJsonResponse: true,
            sessionIdGenerator: randomUUID,
            onsessioninitialized: (session) => sessions.set(session, transport),
        });
        await echoServer().connect(transport);
        return transport;
    };
    return async (request, response) => {
        if (request.headers['mcp-protocol-version'] === STATELESS) {
            return newest(request, response);
        }
        const transport = sessions.get(request.headers['mcp-session-id']) ?? (await open());
        return transport.handleRequest(request, response);
    };
};

const listen = (handler, port) => createServer(handler).listen(Number(port), '127.0.0.1');

const [mode, port] = process.argv.slice(2);
if (mode === 'stdio') {
    serveStdio(echoServer);
} else if (mode === 'http') {
    listen(toNodeHandler(createMcpHandler(echoServer, { maxRequestBodySize: BODY_BYTES })), port);
} else if (mode === 'http-tuned') {
    listen(tuned(), port);
} else {
    console.error('usage: server.mjs stdio | http PORT | http-tuned PORT');
    process.exitCode = 2;
}
