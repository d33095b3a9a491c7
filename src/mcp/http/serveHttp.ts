import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import { listenFailure } from '../../rpc/http/listenFailure.ts';
import { rejectionOf } from '../../rpc/http/loopbackGuard.ts';

export interface HttpOptions {
	/** Port on 127.0.0.1; 0 selects a free one. */
	readonly port: number;
	readonly token: string;
	/** Creates a server for one request. Requests share no state, so any number of clients can be connected. */
	readonly createServer: () => McpServer;
	readonly onFault?: (error: Error) => void;
}

export interface HttpServer {
	/** `http://127.0.0.1:PORT/mcp` */
	readonly url: string;
	readonly port: number;
	/** Stops listening and ends open requests. */
	close(): Promise<void>;
}

const path = '/mcp';
const maxBodyBytes = 1 << 20;
/** Time limits for receiving the headers and the whole request, in milliseconds. Slower connections are closed. */
const headersMs = 10_000;
const requestMs = 30_000;
const maxConnections = 256;

/**
 * Serves the Streamable HTTP transport on the loopback address. Every request needs the token, and Host and Origin
 * headers are checked. Fails with `busy` if the port is in use, and with `denied` if using it is not permitted.
 */
export async function serveHttp({ port: wanted, token, createServer, onFault }: HttpOptions): Promise<HttpServer> {
	const handler = createMcpHandler(createServer, {
		maxRequestBodySize: maxBodyBytes,
		...(onFault === undefined ? {} : { onerror: onFault }),
	});
	let port = wanted;
	const server = createAdaptorServer({
		fetch: (request: Request) => {
			const rejection = rejectionOf(request.headers, { port, token, origins: [] });
			if (rejection !== null) return refusal(rejection.status, rejection.message);
			if (new URL(request.url).pathname !== path) return refusal(404, `The only path is ${path}.`);
			return handler.fetch(request);
		},
		overrideGlobalObjects: false,
		serverOptions: {
			headersTimeout: headersMs,
			requestTimeout: requestMs,
			connectionsCheckingInterval: 1000,
			maxHeaderSize: 16_384,
		},
	}) as Server;
	server.maxConnections = maxConnections;
	await new Promise<void>((resolve, reject) => {
		server.once('error', (error) => reject(listenFailure(error, wanted)));
		server.listen(wanted, '127.0.0.1', resolve);
	});
	port = (server.address() as AddressInfo).port;
	return {
		url: `http://127.0.0.1:${port}${path}`,
		port,
		async close() {
			const closed = new Promise<void>((resolve) => server.close(() => resolve()));
			await handler.close();
			server.closeAllConnections();
			await closed;
		},
	};
}

/** Returns a JSON-RPC error without an id, because the request has not been read. */
function refusal(status: 401 | 403 | 404, message: string): Response {
	const headers = { 'content-type': 'application/json', ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}) };
	const body = { jsonrpc: '2.0', id: null, error: { code: -32_000, message } };
	return new Response(JSON.stringify(body), { status, headers });
}
