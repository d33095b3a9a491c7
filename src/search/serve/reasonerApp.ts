import { randomBytes } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import type { TreeEvent } from '../../protocol/treeLog.ts';
import { Admission } from './admission.ts';
import { ApiError } from './apiError.ts';
import { chatReply, completionReply, type ReplyFacts, type Solved } from './apiReply.ts';
import { type ApiRequest, readChatRequest, readCompletionRequest } from './apiRequest.ts';
import { ChoiceStream, usageChunk } from './apiStream.ts';
import { type GuardOptions, guard } from './guard.ts';
import type { Reasoner, SolveOptions } from './reasoner.ts';

export interface ReasonerLimits {
	/** Bytes of a request's body. */
	readonly bodyBytes: number;
	/** Requests that search at a time, and that wait for a place. */
	readonly running: number;
	readonly waiting: number;
	/** Between two comments that keep a stream alive, in milliseconds. */
	readonly keepAliveMs: number;
	/** How long the headers and the whole of a request may take to arrive, in milliseconds. */
	readonly headersMs: number;
	readonly requestMs: number;
}

export const defaultReasonerLimits: ReasonerLimits = {
	bodyBytes: 1 << 20,
	running: 8,
	waiting: 64,
	keepAliveMs: 5000,
	headersMs: 15_000,
	requestMs: 60_000,
};

/** What is said of a request when it is over; nothing of its texts. */
export interface RequestRecord {
	readonly path: string;
	readonly status: number;
	readonly strategy: string | null;
	readonly tokens: number;
	readonly seconds: number;
	/** Why it failed. */
	readonly message: string | null;
}

export interface ReasonerAppOptions {
	readonly reasoner: Reasoner;
	/** Name of the model that clients ask for. */
	readonly model: string;
	/** Of the server that listens; asked anew with each request, as the port is known late. */
	readonly access: () => GuardOptions;
	readonly limits: ReasonerLimits;
	/** Fires when what runs is to end with what it has. */
	readonly ending: AbortSignal;
	/** Unix milliseconds. */
	readonly now: () => number;
	readonly onRequest?: (record: RequestRecord) => void;
	/** What nobody's input explains. */
	readonly onFault?: (error: unknown) => void;
}

/** The Reasoner API: routes, and what a request goes through on its way to a search and back. */
export class ReasonerApp {
	readonly admission: Admission;
	readonly #options: ReasonerAppOptions;
	readonly #hono = new Hono();
	readonly #created: number;

	constructor(options: ReasonerAppOptions) {
		this.#options = options;
		this.admission = new Admission(options.limits.running, options.limits.waiting);
		this.#created = Math.floor(options.now() / 1000);
		this.#route();
	}

	/** Every request settles: with a reply, or an error in OpenAI's form. */
	readonly fetch = (request: Request): Response | Promise<Response> => this.#hono.fetch(request);

	#route(): void {
		const { access, limits } = this.#options;
		const app = this.#hono;
		app.use('*', async (c, next) => {
			const options = access();
			const { headers } = c.req.raw;
			const preflight = c.req.method === 'OPTIONS';
			// A browser asks without the token first whether it may ask with it.
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
				throw new ApiError(413, 'body_too_large', `A request has at most ${limits.bodyBytes} bytes.`);
			},
		});
		app.post('/v1/chat/completions', limit, (c) => this.#answer(c, readChatRequest));
		app.post('/v1/completions', limit, (c) => this.#answer(c, readCompletionRequest));
		app.notFound((c) => this.#fail(c, new ApiError(404, 'unknown_url', 'There is nothing at this address.')));
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
			`There is no model ${JSON.stringify(id.slice(0, 200))}: /v1/models lists those that there are.`,
			'model',
		);
	}

	/** The strategy that a model's name says; null: the reasoner's own. */
	#strategyOf(id: string | null): string | null {
		const { model, reasoner } = this.#options;
		if (id === null || id === model) return null;
		const strategy = reasoner.strategies.find(({ name }) => id === `${model}:${name}`);
		if (strategy === undefined) throw this.#noModel(id);
		return strategy.name;
	}

	async #answer(c: Context, read: (body: unknown) => ApiRequest): Promise<Response> {
		const { reasoner, model, now } = this.#options;
		const began = now();
		const gone = new AbortController();
		// Asked for now: the server tells of a client that goes away only to whom has asked.
		const { signal: client } = c.req.raw;
		const leave = () => gone.abort(new ApiError(503, 'cancelled', 'The client went away.'));
		if (client.aborted) leave();
		else client.addEventListener('abort', leave, { once: true });
		const request = read(await this.#body(c));
		const solve = this.#solveOptions(request);
		const { strategy, streams } = reasoner.check(solve);
		const exit = await this.admission.enter(gone.signal);
		const facts: ReplyFacts = {
			id: `${request.kind === 'chat' ? 'chatcmpl' : 'cmpl'}-${randomBytes(12).toString('hex')}`,
			created: Math.floor(now() / 1000),
			model: request.model ?? model,
		};
		const done = (status: number, solved: readonly Solved[], error: unknown) => {
			exit();
			client.removeEventListener('abort', leave);
			const tokens = solved.reduce((sum, { solution }) => sum + solution.tokens, 0);
			this.#record(c, status, began, { strategy, tokens, error });
		};
		const work: Work = { request, solve, facts, streams, gone };
		if (request.stream) {
			return streamSSE(c, async (stream) => {
				stream.onAbort(leave);
				await this.#stream(stream, work, done);
			});
		}
		try {
			const solved = await Promise.all(this.#searches(work, () => undefined));
			gone.signal.throwIfAborted();
			const reply =
				request.kind === 'chat'
					? chatReply(facts, request, solved, reasoner.tags)
					: completionReply(facts, request, solved);
			done(200, solved, null);
			return c.json(reply);
		} catch (error) {
			done(ApiError.from(error).status, [], error);
			throw new Recorded(error);
		}
	}

	async #body(c: Context): Promise<unknown> {
		const type = c.req.header('content-type') ?? '';
		if (!/^application\/json\b/i.test(type)) {
			throw new ApiError(415, 'unsupported_media_type', 'Send JSON, with Content-Type: application/json.');
		}
		const text = await c.req.text().catch((error: unknown) => {
			if (c.req.raw.signal.aborted) throw new ApiError(503, 'cancelled', 'The client went away.');
			throw error;
		});
		try {
			return JSON.parse(text);
		} catch {
			throw new ApiError(400, 'invalid_json', 'The body is not JSON.');
		}
	}

	#solveOptions(request: ApiRequest): SolveOptions {
		const { search, temperature, topP, maxTokens } = request;
		const strategy = search.strategy ?? this.#strategyOf(request.model);
		if (search.strategy !== null) this.#strategyOf(request.model);
		return {
			history: request.history,
			budget: search.budget,
			sampling: {
				...(temperature === null ? {} : { temperature }),
				...(topP === null ? {} : { topP }),
				...(maxTokens === null ? {} : { maxTokens }),
			},
			...(strategy === null ? {} : { strategy }),
			...(search.params === null ? {} : { params: search.params }),
		};
	}

	/** One search a choice, each with a seed of its own. */
	#searches(work: Work, onText: (index: number, text: string) => void, onNode = () => undefined): Promise<Solved>[] {
		const { request, solve, gone } = work;
		const { ending, reasoner } = this.#options;
		const first = request.seed ?? Number.parseInt(work.facts.id.slice(-7), 16);
		return Array.from({ length: request.n }, async (_, index) => {
			const events: TreeEvent[] | null = request.search.return === 'events' ? [] : null;
			const solution = await reasoner.solve(
				{ prompt: request.prompt, answer: null, row: {} },
				{
					...solve,
					seed: first + index,
					signal: AbortSignal.any([gone.signal, ending]),
					onEvent: (event) => {
						events?.push(event);
						if (event.t === 'node') onNode();
					},
					...(work.streams && request.stream ? { onText: (text: string) => onText(index, text) } : {}),
				},
			);
			const { completion, stop, message } = solution;
			if (completion === '' && (stop === 'policy' || stop === 'scorer')) {
				throw new ApiError(502, `${stop}_failed`, message ?? `The ${stop} failed.`);
			}
			return { solution, events };
		});
	}

	async #stream(
		stream: SSEStreamingApi,
		work: Work,
		done: (status: number, solved: readonly Solved[], error: unknown) => void,
	): Promise<void> {
		const { request, facts, gone } = work;
		const { reasoner, limits, now } = this.#options;
		// One chunk after the other, in the order in which they were made.
		let tail: Promise<unknown> = Promise.resolve();
		const write = (text: string) => {
			tail = tail.then(() => (stream.aborted || stream.closed ? undefined : stream.write(text)));
		};
		const say = (chunks: readonly object[]) => {
			for (const chunk of chunks) write(`data: ${JSON.stringify(chunk)}\n\n`);
		};
		let nodes = 0;
		const began = now();
		const comment = () => write(`: ${nodes} nodes after ${Math.round((now() - began) / 1000)} s\n\n`);
		const alive = setInterval(comment, limits.keepAliveMs);
		comment();
		try {
			const choices = Array.from({ length: request.n }, (_, i) => new ChoiceStream(facts, request, i, reasoner.tags));
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
			write('data: [DONE]\n\n');
			await tail;
			done(gone.signal.aborted ? 503 : 200, solved, gone.signal.aborted ? gone.signal.reason : null);
		} catch (error) {
			const failure = this.#told(error);
			say([failure.body]);
			await tail.catch(() => undefined);
			done(failure.status, [], error);
		} finally {
			clearInterval(alive);
			// What still runs for other choices has nobody to go to.
			gone.abort(new ApiError(503, 'cancelled', 'The request is over.'));
		}
	}

	#told(error: unknown): ApiError {
		const failure = ApiError.from(error);
		if (failure.code === 'internal') this.#options.onFault?.(error);
		return failure;
	}

	#fail(c: Context, thrown: unknown): Response {
		const error = thrown instanceof Recorded ? thrown.cause : thrown;
		const failure = this.#told(error);
		if (!(thrown instanceof Recorded)) {
			this.#record(c, failure.status, this.#options.now(), { strategy: null, tokens: 0, error });
		}
		if (failure.status === 401) c.header('WWW-Authenticate', 'Bearer');
		if (failure.status === 429 || failure.status === 503) c.header('Retry-After', '5');
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
	readonly solve: SolveOptions;
	readonly facts: ReplyFacts;
	/** Text comes while it is written. */
	readonly streams: boolean;
	readonly gone: AbortController;
}

/** An error of which the record is made already. */
class Recorded extends Error {
	constructor(cause: unknown) {
		super('recorded', { cause });
	}
}
