import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

export interface PlainResponse {
	readonly status: number;
	readonly body: Buffer;
}

export interface PlainRequest {
	readonly method: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body?: string | Buffer;
	readonly signal: AbortSignal;
	/** Maximum response size in bytes. Larger responses are aborted. */
	readonly largest: number;
}

export class TooLarge extends Error {}

/**
 * Sends one request and returns the whole response, without following redirects. Does not use `fetch`, which identifies
 * itself as a browser (Sec-Fetch-Mode), because Ray's dashboard accepts only GET requests from browsers.
 */
export function plainRequest(address: string, options: PlainRequest): Promise<PlainResponse> {
	const { method, headers, body, signal, largest } = options;
	const url = new URL(address);
	const start = url.protocol === 'https:' ? requestHttps : requestHttp;
	return new Promise((resolve, reject) => {
		const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
		// Use a new connection, because the server might have just closed a kept-alive one.
		const sent = start(url, { method, headers: { ...headers, ...length }, signal, agent: false }, (response) => {
			const parts: Buffer[] = [];
			let bytes = 0;
			response.on('data', (part: Buffer) => {
				bytes += part.length;
				if (bytes > largest) response.destroy(new TooLarge(`the response exceeds ${largest} bytes`));
				else parts.push(part);
			});
			response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts) }));
			response.on('error', reject);
			response.on('close', () => reject(new Error('connection lost')));
		});
		sent.on('error', reject);
		sent.end(body);
	});
}
