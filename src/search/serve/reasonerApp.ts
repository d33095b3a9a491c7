import { randomBytes } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import { parseBoundedJson } from '../../base/boundedJson.ts';
import type { ReadText } from '../../policies/openedPolicy.ts';
import type { TreeEvent } from '../../protocol/treeLog.ts';
import { ableRequest, promptOf, withSystem } from './ableRequest.ts';
import { Admission } from './admission.ts';
import { ApiError } from './apiError.ts';
import { chatReply, completionReply, type ReplyFacts, type Solved, usageOf } from './apiReply.ts';
import { type ApiRequest, readChatRequest, readCompletionRequest } from './apiRequest.ts';
import { ChoiceStream, usageChunk } from './apiStream.ts';
import { guard } from './guard.ts';
import { readReply } from './readReply.ts';
import type { SolveOptions } from './reasoner.ts';
import type { ReasonerAppOptions } from './reasonerAppOptions.ts';
import { ResponseStream, responsesReply } from './responsesReply.ts';
import { readResponsesRequest } from './responsesRequest.ts';
import { toolTurn } from './toolTurn.ts';
import { mapAtMost, turns } from './turns.ts';

const idPrefixes = { chat: 'chatcmpl-', completion: 'cmpl-', response: 'resp_' } as const;

/** Maximum number of concurrent searches per request. */
const searchesAtOnce = 64;

const readsAtOnce = 16;

/** Reasoner API: defines the routes, and converts requests to searches and results to replies. */
export class ReasonerApp {
	readonly admission: Admission;
	readonly #options: ReasonerAppOptions;
	readonly #hono = new Hono();
	readonly #created: number;

	constructor(options: ReasonerAppOptions) {
		this.#options = options;
		this.admission = new Admission(options.limits.running, options.limits.waiting, options.now);
		this.#created = Math.floor(options.now() / 1000);
		this.#route();
	}

	/** Handles a request. Always produces a response: a reply, or an error in OpenAI's format. */
	readonly fetch = (request: Request): Response | Promise<Response> => this.#hono.fetch(request);

	#route(): void {
		const { access, limits } = this.#options;
		const app = this.#hono;
		app.use('*', async (c, next) => {
			const options = access();
			const { headers } = c.req.raw;
			const preflight = c.req.method === 'OPTIONS';
			// Browsers send preflight requests without the token.
			guard(headers, preflight ? { ...options, token: null } : options);
			if (preflight) c.res = new Response(null, { status: 204 });
			else await next();
			const origin = headers.get('origin');
			if (origin === null) return;
			c.res.headers.set('Access-Control-Allow-Origin', origin);
			c.res.headers.set('Vary', 'Origin');
			if (preflight) {
				c.res.headers.set('Access-Control-Allow-Methods', 'GET, POST');
				c.res.headers.set('Access-Control-Allow-Headers', 'authorization, content-type');
			}
		});
		app.get('/v1/models', (c) => c.json({ object: 'list', data: this.#models() }));
		app.get('/v1/models/:id{.+}', (c) => {
			const id = c.req.param('id');
			const model = this.#models().find((one) => one.id === id);
			if (model === undefined) throw this.#noModel(id);
			return c.json(model);
		});
		const limit = bodyLimit({
			maxSize: limits.bodyBytes,
			onError: () => {
				throw new ApiError(413, 'body_too_large', `The request body exceeds the limit of ${limits.bodyBytes} bytes.`);
			},
		});
		app.post('/v1/chat/completions', limit, (c) => this.#answer(c, readChatRequest));
		app.post('/v1/completions', limit, (c) => this.#answer(c, readCompletionRequest));
		app.post('/v1/responses', limit, (c) => this.#answer(c, readResponsesRequest));
		app.notFound((c) => this.#fail(c, new ApiError(404, 'unknown_url', 'Not found.')));
		app.onError((error, c) => this.#fail(c, error));
	}

	#models() {
		const { model, reasoner } = this.#options;
		const facts = { object: 'model' as const, created: this.#created, owned_by: 'reasoning-lab' };
		return [
			{ id: model, ...facts },
			...reasoner.strategies.map(({ name, title, description }) => ({
				id: `${model}:${name}`,
				...facts,
				description: `${title}: ${description}`,
			})),
		];
	}

	#noModel(id: string): ApiError {
		return new ApiError(
			404,
			'model_not_found',
			`Unknown model ${JSON.stringify(id.slice(0, 200))}. See /v1/models for the available models.`,
			'model',
		);
	}

	/** Returns the strategy in a model name, or null for the reasoner's own. */
	#strategyOf(id: string | null): string | null {
		const { model, reasoner } = this.#options;
		// Also accept the policy's own name.
		const names = [model, reasoner.name];
		if (id === null || names.includes(id)) return null;
		const strategy = reasoner.strategies.find(({ name }) => names.some((own) => id === `${own}:${name}`));
		if (strategy === undefined) throw this.#noModel(id);
		return strategy.name;
	}

	async #answer(c: Context, read: (body: unknown) => ApiRequest): Promise<Response> {
		const { reasoner, model, now } = this.#options;
		const began = now();
		const gone = new AbortController();
		// Access the signal now, because the server only reports disconnects if the signal was accessed beforehand.
		const { signal: client } = c.req.raw;
		const leave = () => gone.abort(new ApiError(503, 'cancelled', 'The client disconnected.'));
		if (client.aborted) leave();
		else client.addEventListener('abort', leave, { once: true });
		const request = ableRequest(
			withSystem(read(await this.#body(c)), this.#options.systemMessages ?? 'keep'),
			reasoner,
		);
		const reads = request.echo && (request.alternatives !== null || request.maxTokens === 0);
		const prompts = request.prompts.map((prompt) => promptOf(prompt, reasoner));
		const solve = this.#solveOptions(request);
		const { strategy, streams } = reasoner.check(solve);
		const exit = await this.admission.enter(gone.signal);
		const facts: ReplyFacts = {
			id: `${idPrefixes[request.kind]}${randomBytes(12).toString('hex')}`,
			created: Math.floor(now() / 1000),
			model: request.model ?? model,
		};
		const done = (status: number, solved: readonly Solved[], error: unknown) => {
			exit();
			client.removeEventListener('abort', leave);
			const tokens = usageOf(solved).completion_tokens;
			this.#record(c, status, began, { strategy, tokens, error });
		};
		const texts = prompts.flatMap(({ text }) => Array.from({ length: request.n }, () => text));
		const work: Work = { request, texts, solve, facts, streams, gone };
		if (request.stream) {
			return streamSSE(c, async (stream) => {
				stream.onAbort(leave);
				await this.#stream(stream, work, done);
			});
		}
		try {
			if (reads) {
				const reply = readReply(facts, request, await this.#reads(work, prompts));
				gone.signal.throwIfAborted();
				done(200, [], null);
				return c.json(reply);
			}
			const solved = await Promise.all(this.#searches(work, () => undefined));
			gone.signal.throwIfAborted();
			done(200, solved, null);
			switch (request.kind) {
				case 'chat':
					return c.json(chatReply(facts, request, solved, reasoner.tags));
				case 'completion':
					return c.json(completionReply(facts, request, solved, texts));
				case 'response':
					return c.json(responsesReply(facts, request, solved[0] as Solved, reasoner.tags));
			}
		} catch (error) {
			done(ApiError.from(error).status, [], error);
			throw new Recorded(error);
		}
	}

	async #body(c: Context): Promise<unknown> {
		const type = c.req.header('content-type') ?? '';
		if (!/^application\/json\b/i.test(type)) {
			throw new ApiError(415, 'unsupported_media_type', 'Send JSON with Content-Type: application/json.');
		}
		const text = await c.req.text().catch((error: unknown) => {
			if (c.req.raw.signal.aborted) throw new ApiError(503, 'cancelled', 'The client disconnected.');
			throw error;
		});
		try {
			return parseBoundedJson(text);
		} catch {
			throw new ApiError(400, 'invalid_json', 'The request body is not valid JSON.');
		}
	}

	/** Scores prompts token by token, without a search. */
	#reads({ request, gone }: Work, prompts: readonly { readonly text: string; readonly special: readonly string[] }[]) {
		const { ending, reasoner } = this.#options;
		const signal = AbortSignal.any([gone.signal, ending]);
		const { maxTokens, temperature, topP, seed, stop, alternatives } = request;
		return mapAtMost(prompts, readsAtOnce, async ({ text, special }) => {
			const read = await reasoner.read?.(
				{
					text,
					alternatives: alternatives ?? 0,
					maxTokens: maxTokens ?? 16,
					temperature: temperature ?? 1,
					topP: topP ?? 1,
					stop,
					seed: seed ?? 0,
				},
				signal,
			);
			return { special, read: read as ReadText };
		});
	}

	#solveOptions(request: ApiRequest): SolveOptions {
		const { search, temperature, topP, maxTokens, prefill, alternatives, schema } = request;
		const strategy = search.strategy ?? this.#strategyOf(request.model);
		if (search.strategy !== null) this.#strategyOf(request.model);
		return {
			history: request.history,
			exchange: request.exchange,
			budget: search.budget,
			sampling: {
				...(temperature === null ? {} : { temperature }),
				...(topP === null ? {} : { topP }),
				...(maxTokens === null || maxTokens === 0 ? {} : { maxTokens }),
			},
			...(prefill === '' ? {} : { prefill }),
			...(alternatives === null ? {} : { alternatives }),
			...(schema === null ? {} : { schema }),
			...(strategy === null ? {} : { strategy }),
			...(search.params === null ? {} : { params: search.params }),
		};
	}

	/** Runs one search per choice, each with its own seed. */
	#searches(work: Work, onText: (index: number, text: string) => void, onNode = () => undefined): Promise<Solved>[] {
		const { request, texts, solve, gone } = work;
		const { ending, reasoner } = this.#options;
		const first = request.seed ?? Number.parseInt(work.facts.id.slice(-7), 16);
		const turn = turns(searchesAtOnce);
		return texts.map(async (prompt, index) => {
			const leave = await turn();
			try {
				return await search(prompt, index);
			} finally {
				leave();
			}
		});
		async function search(prompt: string, index: number): Promise<Solved> {
			const events: TreeEvent[] | null = request.search.return === 'events' ? [] : null;
			const problem = { prompt, answer: null, row: {} };
			const own = { ...solve, seed: first + index, signal: AbortSignal.any([gone.signal, ending]) };
			const turn = request.tools === null ? null : await toolTurn(reasoner, problem, request.tools, own);
			if (turn !== null && turn.calls.length > 0) {
				return { solution: turn.solution, calls: turn.calls, offered: null, events };
			}
			const solution = await reasoner.solve(problem, {
				...own,
				...(turn === null ? {} : { budget: turn.left }),
				onEvent: (event) => {
					events?.push(event);
					if (event.t === 'node') onNode();
				},
				...(work.streams && request.stream ? { onText: (text: string) => onText(index, text) } : {}),
			});
			const { completion, stop, message, fault } = solution;
			if (completion === request.prefill.slice(0, completion.length) && (stop === 'policy' || stop === 'scorer')) {
				// A prompt that the policy cannot process is a client error: it contains characters outside the vocabulary, or
				// is too long.
				if (fault === 'invalid') {
					const param = { chat: 'messages', completion: 'prompt', response: 'input' }[request.kind];
					throw new ApiError(400, 'invalid_prompt', message ?? 'The policy cannot process this prompt.', param);
				}
				throw new ApiError(502, `${stop}_failed`, message ?? `The ${stop} failed.`);
			}
			return { solution, calls: [], offered: turn?.solution ?? null, events };
		}
	}

	async #stream(
		stream: SSEStreamingApi,
		work: Work,
		done: (status: number, solved: readonly Solved[], error: unknown) => void,
	): Promise<void> {
		const { request, facts, gone } = work;
		const { reasoner, limits, now } = this.#options;
		// Write chunks one at a time, in the order they were created.
		let tail: Promise<unknown> = Promise.resolve();
		const write = (text: string) => {
			tail = tail.then(() => (stream.aborted || stream.closed ? undefined : stream.write(text)));
		};
		const say = (chunks: readonly object[]) => {
			for (const chunk of chunks) {
				// Events in the Responses API have names.
				const name = 'type' in chunk ? `event: ${chunk.type}\n` : '';
				write(`${name}data: ${JSON.stringify(chunk)}\n\n`);
			}
		};
		let nodes = 0;
		const began = now();
		const comment = () => write(`: ${nodes} nodes after ${Math.round((now() - began) / 1000)} s\n\n`);
		const alive = setInterval(comment, limits.keepAliveMs);
		comment();
		try {
			const choices = work.texts.map((_, i) =>
				request.kind === 'response'
					? new ResponseStream(facts, request, reasoner.tags)
					: new ChoiceStream(facts, request, i, reasoner.tags),
			);
			const searches = this.#searches(
				work,
				(index, text) => say(choices[index]?.text(text) ?? []),
				() => {
					nodes++;
				},
			);
			const solved = await Promise.all(
				searches.map(async (search, index) => {
					const one = await search;
					say(choices[index]?.end(one) ?? []);
					return one;
				}),
			);
			if (request.usageInStream) say([usageChunk(facts, request, solved)]);
			if (request.kind !== 'response') write('data: [DONE]\n\n');
			await tail;
			done(gone.signal.aborted ? 503 : 200, solved, gone.signal.aborted ? gone.signal.reason : null);
		} catch (error) {
			const failure = this.#reported(error);
			say([request.kind === 'response' ? { ...failure.body.error, type: 'error' } : failure.body]);
			await tail.catch(() => undefined);
			done(failure.status, [], error);
		} finally {
			clearInterval(alive);
			// The results of choices that are still running are no longer needed.
			gone.abort(new ApiError(503, 'cancelled', 'The request has ended.'));
		}
	}

	#reported(error: unknown): ApiError {
		const failure = ApiError.from(error);
		if (failure.code === 'internal') this.#options.onFault?.(error);
		return failure;
	}

	#fail(c: Context, thrown: unknown): Response {
		const error = thrown instanceof Recorded ? thrown.cause : thrown;
		const failure = this.#reported(error);
		if (!(thrown instanceof Recorded)) {
			this.#record(c, failure.status, this.#options.now(), { strategy: null, tokens: 0, error });
		}
		if (failure.status === 401) c.header('WWW-Authenticate', 'Bearer');
		if (failure.status === 429 || failure.status === 503) {
			c.header('Retry-After', String(this.admission.retryAfter));
		}
		return c.json(failure.body, failure.status);
	}

	#record(
		c: Context,
		status: number,
		began: number,
		{ strategy, tokens, error }: { strategy: string | null; tokens: number; error: unknown },
	): void {
		this.#options.onRequest?.({
			path: c.req.path,
			status,
			strategy,
			tokens,
			seconds: (this.#options.now() - began) / 1000,
			message: error === null ? null : ApiError.from(error).message,
		});
	}
}

interface Work {
	readonly request: ApiRequest;
	/** The problem for each choice. */
	readonly texts: readonly string[];
	readonly solve: SolveOptions;
	readonly facts: ReplyFacts;
	/** Whether text is sent as it is generated. */
	readonly streams: boolean;
	readonly gone: AbortController;
}

/** An error that has already been recorded. */
class Recorded extends Error {
	constructor(cause: unknown) {
		super('recorded', { cause });
	}
}
