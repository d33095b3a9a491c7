import { setTimeout as sleep } from 'node:timers/promises';
import { unlessAborted } from '../../base/async.ts';
import { Disposable, type IDisposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import type {
	Generated,
	GenerateRequest,
	Generation,
	Policy,
	PolicyCapabilities,
	PolicyText,
} from '../../core/search/policy.ts';
import { bosToken, eosToken, padToken } from '../../core/text/specialTokens.ts';
import { renderPrompt } from '../../core/text/template.ts';
import type { Tokenizer } from '../../core/text/tokenizer.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import {
	type ControlMethod,
	type ControlParams,
	type ControlResult,
	controlExtensions,
	type HeadName,
	headNames,
} from '../../protocol/control.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import type { ControlClient } from '../../rpc/controlClient.ts';
import { ContextOverflow, endOfContext } from '../contextOverflow.ts';
import { firstTurnNotes } from '../firstTurnNotes.ts';
import type {
	BindOptions,
	EpisodeForm,
	OpenPolicy,
	PolicyTokenizer,
	PolicyTotals,
	ReadRequest,
	ReadText,
} from '../openedPolicy.ts';
import { problemOf } from '../problemOf.ts';
import { TotalsCounter } from '../totals.ts';
import { generationOf } from './engineAnswers.ts';
import { batchesOf, maxAlternatives, named, type Part, sharedOf, wholeSeed } from './engineRequests.ts';
import { episodeForm } from './episodeForm.ts';
import type { PolicyTemplate } from './policyTemplate.ts';

export interface EnginePolicyOptions {
	readonly name: string;
	readonly model: string;
	readonly template: PolicyTemplate;
	/** Whether to send problems verbatim and use the template only for its tags. Default: false. */
	readonly raw?: boolean;
	/** Context length in tokens, or null if unknown. */
	readonly context: number | null;
	/** Checkpoint tokenizer, or null if not available. */
	readonly tokenizer?: Tokenizer | null;
	/** Maximum number of completions per engine request. Training pauses while the engine serves a request. */
	readonly rows: number;
	/** Connects to the engine. Called again after the connection is lost. */
	connect(signal?: AbortSignal): Promise<{ readonly client: ControlClient; readonly lease: IDisposable }>;
}

type Connection = Awaited<ReturnType<EnginePolicyOptions['connect']>>;

/** How long to retry while an engine reports that it is not ready, and the delay between attempts, in milliseconds. */
const startMs = 60_000;

const pauseMs = 300;

/** Seed increment, chosen so that the parts of one request do not share seeds with neighboring requests. */
const seedStep = 0x1e3779b1;

/**
 * Policy that runs on an engine through the control contract (docs/engine-contract.md). Older engines are supported.
 */
export class EnginePolicy extends Disposable implements OpenPolicy {
	readonly name: string;
	readonly model: string;
	readonly capabilities: PolicyCapabilities;
	readonly tags: TraceTags | null;
	readonly context: number | null;
	readonly notes: readonly string[];
	readonly tokenizer: PolicyTokenizer | null;
	readonly episodes: EpisodeForm | null;
	readonly environment: string | null;
	readonly #options: EnginePolicyOptions;
	readonly #totals = new TotalsCounter();
	readonly #gone = new AbortController();
	/** Whether the engine accepts lists with one entry per prompt. */
	readonly #many: boolean;
	#connection: Connection;
	/** Pending reconnection attempt. */
	#again: Promise<Connection> | null = null;

	private constructor(options: EnginePolicyOptions, connection: Connection) {
		super();
		this.#options = options;
		this.#connection = connection;
		this.name = options.name;
		this.model = options.model;
		this.context = options.context;
		const { tokenizer = null } = options;
		this.tokenizer =
			tokenizer === null ? null : { decode: (ids) => tokenizer.decode(ids), special: [padToken, bosToken, eosToken] };
		const { template } = options.template;
		this.tags = template === null ? null : { think: template.think, answer: template.answer };
		this.episodes = episodeForm(template, tokenizer);
		this.environment = options.template.environment ?? null;
		const { capabilities } = connection.client.engine;
		const has = (what: string) => capabilities.includes(what);
		this.#many = has(controlExtensions.many);
		this.capabilities = {
			logprobs: true,
			alternatives: has(controlExtensions.distribution) ? maxAlternatives : 0,
			distribution: true,
			prefix: true,
			seed: true,
			instructions: false,
			score: has('policy/score'),
			heads: has('policy/value') ? headNames.filter((name) => has(controlExtensions.head(name))) : [],
		};
		this.notes = [
			...firstTurnNotes(this.environment),
			...(template === null ? ['The recipe has no template, so problems are sent without one.'] : []),
			...(this.#many ? [] : ['The engine is an older version, so requests with different seeds are sent one by one.']),
		];
		this.register({
			dispose: () => {
				this.#gone.abort();
				this.#connection.lease.dispose();
			},
		});
	}

	/** Fails with the same errors as `connect`, or with `unsupported` if the engine cannot generate. */
	static async open(options: EnginePolicyOptions, signal?: AbortSignal): Promise<EnginePolicy> {
		const connection = await options.connect(signal);
		if (connection.client.engine.capabilities.includes('policy/generate')) return new EnginePolicy(options, connection);
		connection.lease.dispose();
		throw new Failure(
			'unsupported',
			'This engine does not serve completions.',
			'Serve a checkpoint from the run instead.',
		);
	}

	get totals(): PolicyTotals {
		return this.#totals.snapshot();
	}

	bind({ signal, onText }: BindOptions): Policy {
		const ended = AbortSignal.any([signal, this.#gone.signal]);
		return {
			name: this.name,
			capabilities: this.capabilities,
			generate: async (requests) => {
				const generated = await this.#generate(requests, ended);
				for (const [i, request] of requests.entries()) {
					const one = generated[i];
					if (onText === undefined || one === undefined || one instanceof Failure) continue;
					for (const [index, { text }] of one.entries()) onText({ request, index, text });
				}
				return generated;
			},
			...(this.capabilities.score ? { score: (items: readonly PolicyText[]) => this.#score(items, ended) } : {}),
			...(this.capabilities.heads.length > 0
				? { value: (items: readonly PolicyText[], head: HeadName) => this.#value(items, head, ended) }
				: {}),
		};
	}

	/** Requires the tokenizer and an engine that accepts lists and can score text. */
	get read(): OpenPolicy['read'] {
		const { tokenizer = null } = this.#options;
		if (tokenizer === null || !this.#many || !this.capabilities.score) return undefined;
		return (request, signal) => this.#read(request, tokenizer, AbortSignal.any([signal, this.#gone.signal]));
	}

	/** Reads token alternatives by generating one token after each prefix. */
	async #read(request: ReadRequest, tokenizer: Tokenizer, signal: AbortSignal): Promise<ReadText> {
		const { text, alternatives, maxTokens } = request;
		const ids = tokenizer.encode(text);
		const symbols = ids.map((id) => tokenizer.symbols[id] as string);
		const prefixes = symbols.map((_, i) => symbols.slice(0, i).join(''));
		const shared = { topP: 1, stop: [], logprobs: true, alternatives: Math.min(alternatives, maxAlternatives) };
		const size = this.#options.rows;
		const batches = Array.from({ length: alternatives === 0 ? 0 : Math.ceil(prefixes.length / size) }, (_, k) =>
			prefixes.slice(k * size, (k + 1) * size),
		);
		const [scored, places, more] = await Promise.all([
			ids.length === 0
				? null
				: this.#request('policy/score', { prompts: [''], completions: [text], temperature: 1 }, signal),
			Promise.all(
				batches.map((prompts) =>
					this.#request('policy/generate', { ...shared, temperature: 1, prompts, n: 1, maxTokens: 1 }, signal),
				),
			),
			maxTokens === 0
				? null
				: this.#request(
						'policy/generate',
						{
							...shared,
							temperature: request.temperature,
							topP: request.topP,
							stop: [...request.stop],
							prompts: [text],
							n: 1,
							maxTokens,
							seed: wholeSeed(request.seed),
						},
						signal,
					),
		]);
		const logprobs = scored?.logprobs[0] ?? [];
		const top = places
			.flatMap(({ completions }) => completions)
			.map((made) => (made[0]?.tokens?.top?.[0] ?? []).map(([other, p]) => [other, p] as const));
		const made = more?.completions[0]?.[0];
		return {
			tokens: {
				text: symbols,
				// Scoring and sampling round differently, so use the sampled value for tokens that appear among the
				// alternatives.
				logprob: symbols.map((symbol, i) => top[i]?.find(([other]) => other === symbol)?.[1] ?? logprobs[i] ?? null),
				...(alternatives === 0 ? {} : { top }),
			},
			more:
				made === undefined
					? null
					: generationOf(made, { stop: request.stop, tokens: Math.max(1, alternatives) }, ids.length),
		};
	}

	#prompt(messages: readonly ChatMessage[]): string {
		const {
			raw = false,
			template: { template },
		} = this.#options;
		const problem = problemOf(messages);
		return raw || template === null ? problem : renderPrompt(template, problem);
	}

	/** Batches requests with equal parameters, up to the engine's limit. */
	async #generate(requests: readonly GenerateRequest[], signal: AbortSignal): Promise<Generated[]> {
		const results = requests.map((): Generation[] => []);
		const failures = new Map<number, Failure>();
		const groups = new Map<string, Part[]>();
		for (const [of, request] of requests.entries()) {
			for (let first = 0; first < request.n; first += this.#options.rows) {
				const n = Math.min(this.#options.rows, request.n - first);
				const part = { of, request, n, seed: wholeSeed(request.seed + first * seedStep) };
				const key = JSON.stringify(
					this.#many ? sharedOf(request) : [sharedOf(request), part.seed, n, request.maxTokens],
				);
				const group = groups.get(key);
				if (group === undefined) groups.set(key, [part]);
				else group.push(part);
			}
		}
		const batches = [...groups.values()].flatMap((group) => batchesOf(group, this.#options.rows));
		await Promise.all(
			batches.map((batch) =>
				this.#ask(batch, signal, (part, made) => {
					if (made instanceof Failure) failures.set(part.of, made);
					else results[part.of]?.push(...made);
				}),
			),
		);
		return results.map((made, i) => (made.length > 0 ? made : (failures.get(i) ?? made)));
	}

	/** Sends one engine request. If the engine rejects some prompts, resends the request without them. */
	async #ask(
		batch: readonly Part[],
		signal: AbortSignal,
		settle: (part: Part, made: Generated) => void,
	): Promise<void> {
		const [first] = batch as readonly [Part];
		const params: ControlParams<'policy/generate'> = {
			...sharedOf(first.request),
			prompts: batch.map(({ request }) => this.#prompt(request.messages) + request.prefix),
			...(this.#many
				? {
						n: batch.map(({ n }) => n),
						maxTokens: batch.map(({ request }) => request.maxTokens),
						seeds: batch.map(({ seed }) => seed),
					}
				: { n: first.n, maxTokens: first.request.maxTokens, seed: first.seed, logprobs: true }),
		};
		let answer: ControlResult<'policy/generate'>;
		try {
			answer = await this.#request('policy/generate', params, signal);
		} catch (error) {
			const failure = Failure.from(error);
			// `invalid` refers to one prompt. Any other failure affects all of them.
			if (failure.reason !== 'invalid') throw failure;
			if (batch.length === 1) {
				const refused = named(failure, this.name);
				return settle(
					first,
					refused instanceof ContextOverflow ? endOfContext(refused, first.request, first.n) : refused,
				);
			}
			const half = Math.ceil(batch.length / 2);
			await Promise.all([batch.slice(0, half), batch.slice(half)].map((some) => this.#ask(some, signal, settle)));
			return;
		}
		for (const [i, part] of batch.entries()) {
			const reported = answer.promptTokens?.[i];
			const made = answer.completions[i]?.map((completion, k) =>
				// Count prompt tokens once per request.
				generationOf(completion, part.request, reported === undefined ? null : k === 0 ? reported : 0),
			);
			if (made !== undefined) this.#totals.add(made);
			settle(part, made ?? new Failure('internal', `${this.name} returned too few completions.`));
		}
	}

	async #score(items: readonly PolicyText[], signal: AbortSignal): Promise<number[][]> {
		const answers = await this.#inBatches(items, (texts) => this.#request('policy/score', texts, signal));
		return answers.flatMap(({ logprobs }) => logprobs);
	}

	async #value(items: readonly PolicyText[], head: HeadName, signal: AbortSignal): Promise<number[]> {
		const answers = await this.#inBatches(items, (texts) => this.#request('policy/value', { ...texts, head }, signal));
		return answers.flatMap(({ values }) => values);
	}

	#inBatches<T>(
		items: readonly PolicyText[],
		ask: (texts: { prompts: string[]; completions: string[] }) => Promise<T>,
	): Promise<T[]> {
		const size = this.#options.rows;
		const batches = Array.from({ length: Math.ceil(items.length / size) }, (_, k) =>
			items.slice(k * size, (k + 1) * size),
		);
		return Promise.all(
			batches.map((batch) =>
				ask({
					prompts: batch.map(({ messages }) => this.#prompt(messages)),
					completions: batch.map(({ completion }) => completion),
				}),
			),
		);
	}

	/**
	 * Sends a request. Retries while the engine is starting, and retries once on a new connection if the old one was
	 * lost.
	 */
	async #request<M extends ControlMethod>(
		method: M,
		params: ControlParams<M>,
		signal: AbortSignal,
	): Promise<ControlResult<M>> {
		const until = performance.now() + startMs;
		for (let connection = this.#connection, again = false; ; ) {
			try {
				return await connection.client.request(method, params, signal);
			} catch (error) {
				if (signal.aborted) throw new Failure('cancelled', 'Canceled.');
				if (Failure.from(error).reason !== 'unavailable') throw error;
				if (connection.client.closed) {
					if (again) throw error;
					again = true;
					connection = await unlessAborted(this.#reconnect(connection), signal);
				} else {
					if (performance.now() > until) throw error;
					await sleep(pauseMs, undefined, { signal }).catch(() => {
						throw new Failure('cancelled', 'Canceled.');
					});
				}
			}
		}
	}

	/** Reconnects on behalf of all affected callers. Canceling one caller does not abort the others. */
	#reconnect(lost: Connection): Promise<Connection> {
		if (this.#connection !== lost) return Promise.resolve(this.#connection);
		this.#again ??= this.#options
			.connect(this.#gone.signal)
			.then((connection) => {
				lost.lease.dispose();
				this.#connection = connection;
				if (this.disposed) connection.lease.dispose();
				return connection;
			})
			.finally(() => {
				this.#again = null;
			});
		return this.#again;
	}
}
