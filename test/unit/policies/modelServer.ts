import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Random } from '../../../src/base/random.ts';

/** Options for simulating different servers. */
export interface ModelServerOptions {
	/** Number of alternatives; null ignores the field and `refused` rejects it. */
	readonly logprobs?: number | null | 'refused';
	readonly many?: boolean | 'refused';
	readonly seed?: boolean | 'refused';
	readonly stream?: 'usage' | 'plain' | 'no';
	readonly stops?: 'told' | 'kept' | 'untold' | 'ignored' | 'refused';
	/** Supported method of continuing an answer; other methods start a new one. */
	readonly prefix?: 'continue' | 'assistant' | 'flag' | 'echo' | null;
	readonly schema?: boolean;
	readonly lengthField?: 'max_tokens' | 'max_completion_tokens';
	readonly refusesTemperature?: boolean;
	/** Thinking words, returned separately before the answer. */
	readonly thinking?: readonly string[];
	readonly reasoningField?: 'reasoning_content' | 'reasoning';
	readonly context?: number;
	readonly echo?: boolean;
	/** Handles a request instead of the model and returns whether it did. */
	readonly intercept?: (body: Body, response: ServerResponse, request: IncomingMessage) => boolean | Promise<boolean>;
}

export interface Body {
	readonly [name: string]: unknown;
	readonly model?: string;
	readonly stream?: boolean;
	readonly n?: number;
	readonly messages?: readonly { role: string; content: string; prefix?: boolean }[];
	readonly prompt?: string;
	readonly stop?: readonly string[];
	readonly temperature?: number;
	readonly seed?: number;
	readonly max_tokens?: number;
	readonly max_completion_tokens?: number;
}

interface Token {
	readonly text: string;
	readonly logprob: number;
	readonly top: readonly (readonly [string, number])[];
	readonly thinking: boolean;
}

/**
 * OpenAI-compatible server with a small but genuine model: it counts when asked to count and otherwise draws words, and
 * its output depends on its input token by token.
 */
export class ModelServer {
	readonly url: string;
	readonly requests: { readonly path: string; readonly body: Body; readonly key: string | undefined }[] = [];
	options: ModelServerOptions;
	/** Maximum number of concurrent requests so far. */
	max = 0;
	#underWay = 0;
	readonly #server: Server;

	private constructor(server: Server, options: ModelServerOptions) {
		this.#server = server;
		this.options = options;
		this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
	}

	static async start(options: ModelServerOptions = {}): Promise<ModelServer> {
		const server = createServer();
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		const model = new ModelServer(server, options);
		server.on('request', (request, response) => {
			model.#underWay++;
			model.max = Math.max(model.max, model.#underWay);
			response.on('close', () => {
				model.#underWay--;
			});
			void model.#handle(request, response);
		});
		return model;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#server.closeAllConnections();
		await new Promise((resolve) => this.#server.close(resolve));
	}

	async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const parts: Buffer[] = [];
		for await (const part of request) parts.push(part as Buffer);
		const path = request.url ?? '';
		const body = (parts.length === 0 ? {} : JSON.parse(Buffer.concat(parts).toString('utf8'))) as Body;
		this.requests.push({ path, body, key: request.headers.authorization });
		if (await this.options.intercept?.(body, response, request)) return;
		if (path === '/v1/models') return json(response, 200, { object: 'list', data: [{ id: 'tiny' }, { id: 'other' }] });
		const fault = this.#fault(body);
		if (fault !== null) return json(response, 400, { error: { message: fault, type: 'invalid_request_error' } });
		const chat = path === '/v1/chat/completions';
		const given = chat ? this.#chatText(body) : { prompt: body.prompt ?? '', prefix: '' };
		if (body.echo === true && this.options.echo === true) return this.#echoed(response, given.prompt, body);
		const limit = body[this.options.lengthField ?? 'max_tokens'] as number;
		const used = given.prompt.length + given.prefix.length;
		const { context } = this.options;
		if (context !== undefined && used >= context) {
			const said = `This model's maximum context length is ${context} tokens. However, your request has ${used} input tokens.`;
			return json(response, 400, { error: { message: said, code: 'context_length_exceeded' } });
		}
		if (context !== undefined && used + limit > context) {
			const said = `'max_tokens' is too large: ${limit}. This model's maximum context length is ${context} tokens and your request has ${used} input tokens.`;
			return json(response, 400, { error: { message: said } });
		}
		const n = this.options.many === true ? (body.n ?? 1) : 1;
		const choices = Array.from({ length: n }, (_, k) => this.#write(given, body, limit, k));
		const usage = {
			prompt_tokens: used,
			completion_tokens: choices.reduce((sum, { tokens }) => sum + tokens.length, 0),
		};
		const streams = body.stream === true && this.options.stream !== 'no';
		if (!streams) {
			const reply = choices.map((choice, index) => ({ index, ...this.#whole(choice, chat, body), ...ending(choice) }));
			return json(response, 200, { object: 'chat.completion', choices: reply, usage });
		}
		response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
		const longest = Math.max(0, ...choices.map(({ tokens }) => tokens.length));
		for (let t = 0; t < longest; t++) {
			for (const [index, choice] of choices.entries()) {
				const token = choice.tokens[t];
				if (token === undefined || response.destroyed) continue;
				event(response, { choices: [{ index, ...this.#part(token, chat, body), finish_reason: null }] });
			}
			if (t % 4 === 3) await new Promise((resolve) => setImmediate(resolve));
		}
		for (const [index, choice] of choices.entries()) {
			event(response, { choices: [{ index, ...(chat ? { delta: {} } : { text: '' }), ...ending(choice) }] });
		}
		if (this.options.stream !== 'plain' && (body.stream_options as { include_usage?: boolean })?.include_usage) {
			event(response, { choices: [], usage });
		}
		response.end('data: [DONE]\n\n');
	}

	#fault(body: Body): string | null {
		const { logprobs, many, seed, stops, lengthField = 'max_tokens', refusesTemperature } = this.options;
		const other = lengthField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
		if (body[other] !== undefined) return `Unsupported parameter: '${other}'. Use '${lengthField}'.`;
		if (refusesTemperature && body.temperature !== undefined) return "'temperature' does not support this value.";
		if (logprobs === 'refused' && body.logprobs !== undefined) return 'logprobs are not supported';
		if (typeof logprobs === 'number' && ((body.top_logprobs ?? body.logprobs) as number) > logprobs) {
			return `top_logprobs must be at most ${logprobs}`;
		}
		if (many === 'refused' && (body.n ?? 1) > 1) return 'n must be 1';
		if (seed === 'refused' && body.seed !== undefined) return 'unknown field: seed';
		if (stops === 'refused' && body.stop !== undefined) return 'unknown field: stop';
		return null;
	}

	#chatText({ messages = [], ...body }: Body): { prompt: string; prefix: string } {
		const last = messages.at(-1);
		const given = last?.role === 'assistant' ? messages.slice(0, -1) : messages;
		const prompt = given.map(({ role, content }) => `${role}: ${content}\n`).join('');
		if (last?.role !== 'assistant') return { prompt, prefix: '' };
		const style = this.options.prefix ?? null;
		const understood =
			style === 'assistant' ||
			style === 'echo' ||
			(style === 'continue' && body.continue_final_message === true) ||
			(style === 'flag' && last.prefix === true);
		return understood
			? { prompt, prefix: last.content }
			: { prompt: `${prompt}assistant: ${last.content}\n`, prefix: '' };
	}

	#write(given: { prompt: string; prefix: string }, body: Body, limit: number, k: number) {
		const { thinking = [], stops = 'untold', schema, prefix, seed } = this.options;
		const text = `${given.prompt}${given.prefix}`;
		const seeded = seed === true && body.seed !== undefined ? body.seed : Math.random() * 2 ** 32;
		const random = Random.of((body.temperature ?? 1) === 0 ? 0 : seeded, k, given.prompt);
		const thought = thinking.map((word) => tokenOf(word, true));
		const held = schema === true && body.response_format !== undefined;
		const words = held ? ['{"ready":', ' true', '}'] : wordsAfter(text, random);
		// The thinking and words in the prefix have already been generated.
		const thoughts = given.prefix.includes('<think>') ? [] : thought;
		const echoed = prefix === 'echo' && given.prefix !== '' ? [tokenOf(given.prefix, false)] : [];
		const all = [...echoed, ...thoughts, ...words.map((word) => tokenOf(word, false))];
		const max = limit + echoed.length;
		const tokens = all.slice(0, max);
		let finish = tokens.length < all.length || (!held && tokens.length === max) ? 'length' : 'stop';
		let stop: string | null = null;
		if (stops !== 'ignored' && body.stop !== undefined) {
			let said = '';
			for (const [t, token] of tokens.entries()) {
				said += token.text;
				const found = body.stop.find((one) => said.includes(one));
				if (found === undefined) continue;
				const cut = said.indexOf(found) + (stops === 'kept' ? found.length : 0);
				const before = said.length - token.text.length;
				tokens.splice(t, tokens.length, { ...token, text: token.text.slice(0, Math.max(0, cut - before)) });
				finish = 'stop';
				stop = found;
				break;
			}
		}
		return { tokens, finish, stop: stops === 'told' ? stop : null };
	}

	#whole({ tokens }: { tokens: readonly Token[] }, chat: boolean, body: Body) {
		const said = tokens.filter(({ thinking }) => !thinking).map(({ text }) => text);
		const thought = tokens.filter(({ thinking }) => thinking).map(({ text }) => text);
		const logprobs = this.#logprobs(tokens, chat, body);
		if (!chat) return { text: [...thought, ...said].join(''), ...logprobs };
		const message = {
			role: 'assistant',
			content: said.join(''),
			...(thought.length > 0 ? { [this.options.reasoningField ?? 'reasoning_content']: thought.join('') } : {}),
		};
		return { message, ...logprobs };
	}

	#part(token: Token, chat: boolean, body: Body) {
		const logprobs = this.#logprobs([token], chat, body);
		if (!chat) return { text: token.text, ...logprobs };
		const field = token.thinking ? (this.options.reasoningField ?? 'reasoning_content') : 'content';
		return { delta: { [field]: token.text }, ...logprobs };
	}

	#logprobs(tokens: readonly Token[], chat: boolean, body: Body) {
		const max = this.options.logprobs ?? null;
		if (typeof max !== 'number' || body.logprobs === undefined || body.logprobs === false) return { logprobs: null };
		const top = (chat ? ((body.top_logprobs ?? 0) as number) : (body.logprobs as number)) || 0;
		if (chat) {
			const content = tokens.map(({ text, logprob, top: all }) => ({
				token: text,
				logprob,
				bytes: null,
				top_logprobs: all.slice(0, top).map(([token, one]) => ({ token, logprob: one })),
			}));
			return { logprobs: { content } };
		}
		return {
			logprobs: {
				tokens: tokens.map(({ text }) => text),
				token_logprobs: tokens.map(({ logprob }) => logprob),
				top_logprobs: tokens.map(({ top: all }) => Object.fromEntries(all.slice(0, top))),
			},
		};
	}

	#echoed(response: ServerResponse, prompt: string, body: Body): void {
		const tokens = prompt.match(/\s*\S+|\s+$/g) ?? [];
		const lists = {
			tokens: [...tokens, ' more'],
			token_logprobs: [null, ...tokens.slice(1).map((token) => -token.length), -1],
			top_logprobs: null,
		};
		const choice = { index: 0, text: `${prompt} more`, logprobs: lists, finish_reason: 'length' };
		json(response, 200, { model: body.model, choices: [choice] });
	}
}

const ending = ({ finish, stop }: { finish: string; stop: string | null }) => ({
	finish_reason: finish,
	...(stop === null ? {} : { stop_reason: stop }),
});

function tokenOf(text: string, thinking: boolean): Token {
	const other = `${text}?`;
	return {
		text,
		thinking,
		logprob: Math.log(0.75),
		top: [
			[text, Math.log(0.75)],
			[other, Math.log(0.25)],
		],
	};
}

/** Continues counting if the text ends with numbers, or else draws random words. */
function wordsAfter(text: string, random: Random): string[] {
	const counting = /Count from 1 to 30/.test(text);
	if (counting) {
		const answer = text.slice(Math.max(text.lastIndexOf('\n') + 1, text.lastIndexOf('A:')));
		const last = Number(/(\d+)\s*$/.exec(answer)?.[1] ?? 0);
		const first = Number.isFinite(last) ? last + 1 : 1;
		return Array.from({ length: Math.max(0, 31 - first) }, (_, i) => `${first + i === 1 ? '' : ' '}${first + i}`);
	}
	return Array.from({ length: 12 }, () => ` word${random.int(1000)}`);
}

export function json(response: ServerResponse, status: number, value: unknown): void {
	response.writeHead(status, { 'content-type': 'application/json' });
	response.end(JSON.stringify(value));
}

export function event(response: ServerResponse, value: unknown): void {
	response.write(`data: ${JSON.stringify(value)}\n\n`);
}
