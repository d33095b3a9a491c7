import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request received by the server. */
export interface Asked {
	readonly path: string;
	readonly headers: IncomingHttpHeaders;
	readonly body: Record<string, unknown>;
	/** Number of earlier requests. */
	readonly index: number;
}

export interface Answered {
	readonly status?: number;
	readonly headers?: Readonly<Record<string, string>>;
	/** Sent as JSON, or verbatim if it is a string. `hang` never responds, `drop` closes the connection. */
	readonly body?: unknown;
	readonly instead?: 'hang' | 'drop';
}

/** A real HTTP server on 127.0.0.1 with scripted responses. */
export class ScriptedServer {
	readonly asked: Asked[] = [];
	/** Maximum number of concurrent requests. */
	maxOpen = 0;
	#open = 0;
	readonly #server;

	private constructor(script: (asked: Asked) => Answered | Promise<Answered>) {
		this.#server = createServer(async (request, response) => {
			this.maxOpen = Math.max(this.maxOpen, ++this.#open);
			response.once('close', () => this.#open--);
			let text = '';
			for await (const part of request.setEncoding('utf8')) text += part;
			const asked: Asked = {
				path: request.url ?? '',
				headers: request.headers,
				body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
				index: this.asked.length,
			};
			this.asked.push(asked);
			send(response, await script(asked));
		});
	}

	static async start(script: (asked: Asked) => Answered | Promise<Answered>): Promise<ScriptedServer> {
		const server = new ScriptedServer(script);
		await new Promise<void>((listening) => server.#server.listen(0, '127.0.0.1', listening));
		return server;
	}

	get origin(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	async stop(): Promise<void> {
		this.#server.closeAllConnections();
		await new Promise<void>((closed) => this.#server.close(() => closed()));
	}
}

function send(response: ServerResponse, { status = 200, headers = {}, body = {}, instead }: Answered): void {
	if (instead === 'hang') return;
	if (instead === 'drop') {
		response.destroy();
		return;
	}
	response.writeHead(status, { 'content-type': 'application/json', ...headers });
	response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Returns the text of the message sent to a judge. */
export function messageOf({ body }: Asked): string {
	return (body.messages as { content: string }[])[0]?.content ?? '';
}

/** Returns the code that the message uses to fence its texts, as requested in its last line. */
export function codeOf(asked: Asked): string {
	return [...messageOf(asked).matchAll(/VERDICT ([0-9a-f]+):/g)].at(-1)?.[1] ?? '';
}

/** Builds a reply in the chat completions format. */
export function chatReply(content: string | null, more: { finish?: string; usage?: [number, number] } = {}): Answered {
	const [prompt_tokens, completion_tokens] = more.usage ?? [0, 0];
	return {
		body: {
			id: 'chat-1',
			object: 'chat.completion',
			choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: more.finish ?? 'stop' }],
			usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
		},
	};
}
