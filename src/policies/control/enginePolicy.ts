import { Disposable, type IDisposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import type { Generated, GenerateRequest, Policy, PolicyCapabilities, PolicyText } from '../../core/search/policy.ts';
import { renderPrompt } from '../../core/text/template.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import type { ControlParams } from '../../protocol/control.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import type { ControlClient } from '../../rpc/controlClient.ts';
import { contextOverflow } from '../contextOverflow.ts';
import type { BindOptions, OpenPolicy, PolicyTotals } from '../openedPolicy.ts';
import { TotalsCounter } from '../totals.ts';
import { generationOf } from './engineAnswers.ts';
import { type PolicyTemplate, problemOf } from './policyTemplate.ts';

export interface EnginePolicyOptions {
	readonly name: string;
	readonly model: string;
	readonly template: PolicyTemplate;
	/** Completions of one request to the engine at most: one that trains waits meanwhile. */
	readonly rows: number;
	/** A connection to the engine; called again after one was lost. */
	connect(signal?: AbortSignal): Promise<{ readonly client: ControlClient; readonly lease: IDisposable }>;
}

type Connection = Awaited<ReturnType<EnginePolicyOptions['connect']>>;
type Parameters = Omit<ControlParams<'policy/generate'>, 'prompts'>;

/** The policy of an engine, by the control contract (docs/engine-contract.md). */
export class EnginePolicy extends Disposable implements OpenPolicy {
	readonly name: string;
	readonly model: string;
	readonly capabilities: PolicyCapabilities;
	readonly tags: TraceTags | null;
	readonly notes: readonly string[] = [];
	readonly #options: EnginePolicyOptions;
	readonly #totals = new TotalsCounter();
	readonly #gone = new AbortController();
	#connection: Connection;
	/** While a lost connection is made anew. */
	#again: Promise<Connection> | null = null;

	private constructor(options: EnginePolicyOptions, connection: Connection) {
		super();
		this.#options = options;
		this.#connection = connection;
		this.name = options.name;
		this.model = options.model;
		const { template } = options.template;
		this.tags = template === null ? null : { think: template.think, answer: template.answer };
		const { capabilities } = connection.client.engine;
		if (!capabilities.includes('policy/generate')) {
			connection.lease.dispose();
			throw new Failure('unsupported', 'This engine does not generate for others.', 'Serve a checkpoint of the run.');
		}
		this.capabilities = {
			logprobs: true,
			alternatives: 0,
			distribution: true,
			prefix: true,
			seed: true,
			instructions: false,
			score: capabilities.includes('policy/score'),
			heads: [],
		};
		this.register({
			dispose: () => {
				this.#gone.abort();
				this.#connection.lease.dispose();
			},
		});
	}

	/** Fails as `connect`, and with `unsupported` when the engine does not generate. */
	static async open(options: EnginePolicyOptions, signal?: AbortSignal): Promise<EnginePolicy> {
		return new EnginePolicy(options, await options.connect(signal));
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
		};
	}

	#prompt(messages: readonly ChatMessage[]): string {
		const { template } = this.#options.template;
		const problem = problemOf(messages);
		return template === null ? problem : renderPrompt(template, problem);
	}

	/** Requests of equal parameters go together, as far as the engine takes them. */
	async #generate(requests: readonly GenerateRequest[], signal: AbortSignal): Promise<Generated[]> {
		const results = new Array<Generated>(requests.length);
		const groups = new Map<string, number[]>();
		for (const [i, request] of requests.entries()) {
			const key = JSON.stringify(parametersOf(request));
			groups.set(key, [...(groups.get(key) ?? []), i]);
		}
		const work = [...groups.values()].flatMap((group) => {
			const { n } = requests[group[0] as number] as GenerateRequest;
			const size = Math.max(1, Math.floor(this.#options.rows / n));
			const parts = Math.ceil(group.length / size);
			return Array.from({ length: parts }, (_, part) => group.slice(part * size, (part + 1) * size));
		});
		await Promise.all(work.map((part) => this.#ask(part, requests, results, signal)));
		return results;
	}

	/** One request to the engine; where it refuses some of the prompts, the others are asked for without them. */
	async #ask(
		part: readonly number[],
		requests: readonly GenerateRequest[],
		results: Generated[],
		signal: AbortSignal,
	): Promise<void> {
		const own = part.map((i) => requests[i] as GenerateRequest);
		const params = {
			...parametersOf(own[0] as GenerateRequest),
			prompts: own.map(({ messages, prefix }) => this.#prompt(messages) + prefix),
		};
		try {
			const { completions } = await this.#request('policy/generate', params, signal);
			for (const [k, i] of part.entries()) {
				const made = completions[k]?.map((completion) => generationOf(completion, own[k] as GenerateRequest));
				if (made !== undefined) this.#totals.add(made);
				results[i] = made ?? new Failure('internal', `${this.name} answered with too few completions.`);
			}
		} catch (error) {
			const failure = Failure.from(error);
			// What an engine says of a prompt is about that prompt; anything else is about all of them.
			if (failure.reason !== 'invalid') throw failure;
			if (part.length === 1) {
				results[part[0] as number] = named(failure, this.name);
				return;
			}
			const half = Math.ceil(part.length / 2);
			await Promise.all(
				[part.slice(0, half), part.slice(half)].map((some) => this.#ask(some, requests, results, signal)),
			);
		}
	}

	async #score(items: readonly PolicyText[], signal: AbortSignal): Promise<number[][]> {
		const size = this.#options.rows;
		const parts = Array.from({ length: Math.ceil(items.length / size) }, (_, k) =>
			items.slice(k * size, (k + 1) * size),
		);
		const results = await Promise.all(
			parts.map((part) =>
				this.#request(
					'policy/score',
					{
						prompts: part.map(({ messages }) => this.#prompt(messages)),
						completions: part.map(({ completion }) => completion),
					},
					signal,
				),
			),
		);
		return results.flatMap(({ logprobs }) => logprobs);
	}

	/** A request; once more, on a new connection, when the old one was lost. */
	async #request<M extends 'policy/generate' | 'policy/score'>(
		method: M,
		params: ControlParams<M>,
		signal: AbortSignal,
	) {
		const connection = this.#connection;
		try {
			return await connection.client.request(method, params, signal);
		} catch (error) {
			if (signal.aborted) throw new Failure('cancelled', 'Cancelled.');
			if (Failure.from(error).reason !== 'unavailable') throw error;
			const { client } = await this.#reconnect(connection, signal);
			return client.request(method, params, signal);
		}
	}

	#reconnect(lost: Connection, signal: AbortSignal): Promise<Connection> {
		if (this.#connection !== lost) return Promise.resolve(this.#connection);
		this.#again ??= this.#options
			.connect(signal)
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

/** What may differ between the prompts of one request to the engine, and what may not. */
function parametersOf(request: GenerateRequest): Parameters {
	const { n, temperature, topP, maxTokens, stop, seed } = request;
	return { n, temperature, topP, maxTokens, stop: [...stop], seed: wholeSeed(seed), logprobs: true };
}

function wholeSeed(seed: number): number {
	return Math.abs(Math.trunc(seed)) % 2 ** 31;
}

function named(failure: Failure, policy: string): Failure {
	const full = /does not fit the context of (\d+) tokens/.exec(failure.message);
	if (full !== null) return contextOverflow(policy, null, Number(full[1]));
	return new Failure(failure.reason, `${policy}: ${failure.message}`, failure.action, { cause: failure });
}
