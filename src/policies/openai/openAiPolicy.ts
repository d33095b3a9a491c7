import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../base/failure.ts';
import type {
	Generated,
	GenerateRequest,
	Generation,
	Policy,
	PolicyCapabilities,
	PolicyText,
} from '../../core/search/policy.ts';
import { joined } from '../../core/search/readGeneration.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import { ContextOverflow, endOfContext } from '../contextOverflow.ts';
import type { BindOptions, OpenPolicy, PolicyTotals } from '../openedPolicy.ts';
import { type Price, TotalsCounter } from '../totals.ts';
import { capabilitiesOf, type OpenAiAbilities } from './abilities.ts';
import { type AskOptions, Conversation } from './conversation.ts';
import type { OpenAiServer } from './openAiServer.ts';
import type { OpenAiSpec } from './requestBody.ts';
import { askWithTools } from './toolReply.ts';

/** Maximum number of choices per request. */
const maxChoices = 64;
/** Coprime to 2^31, so the generations of a request get different seeds. */
const seedStep = 0x1e3779b1;

/** Policy backed by a model on an OpenAI-compatible server. */
export class OpenAiPolicy implements OpenPolicy {
	readonly name: string;
	readonly model: string;
	readonly capabilities: PolicyCapabilities;
	readonly tags: TraceTags | null = null;
	readonly context = null;
	readonly notes: readonly string[];
	readonly sample: string;
	readonly schemas: boolean;
	readonly #spec: OpenAiSpec;
	readonly #server: OpenAiServer;
	readonly #abilities: OpenAiAbilities;
	readonly #conversation: Conversation;
	readonly #totals: TotalsCounter;
	readonly #gone = new AbortController();

	constructor(spec: OpenAiSpec, server: OpenAiServer, abilities: OpenAiAbilities) {
		this.name = spec.name;
		this.model = spec.model;
		this.capabilities = capabilitiesOf(abilities, spec.api);
		this.notes = abilities.notes;
		this.sample = abilities.sample;
		this.schemas = abilities.schema;
		this.#spec = spec;
		this.#server = server;
		this.#abilities = abilities;
		this.#conversation = new Conversation(server, spec, abilities);
		this.#totals = new TotalsCounter((spec.price as Price | undefined) ?? null);
	}

	get totals(): PolicyTotals {
		return { ...this.#totals.snapshot(), retries: this.#totals.retries + this.#server.retries };
	}

	bind(options: BindOptions): Policy {
		const signal = AbortSignal.any([options.signal, this.#gone.signal]);
		return {
			name: this.name,
			capabilities: this.capabilities,
			generate: (requests) => Promise.all(requests.map((request) => this.#generate(request, signal, options))),
			...(this.capabilities.score
				? {
						score: (items: readonly PolicyText[]) =>
							Promise.all(items.map((item) => this.#conversation.score(item, signal))),
					}
				: {}),
		};
	}

	/** Requires `/v1/completions` on a server that can echo its input with log-probabilities. */
	get read(): OpenPolicy['read'] {
		if (!this.capabilities.score) return undefined;
		return (request, signal) => this.#conversation.read(request, AbortSignal.any([signal, this.#gone.signal]));
	}

	/** Requires a chat API. Offering tools reveals whether the model can call them. */
	get callTools(): OpenPolicy['callTools'] {
		if (this.#spec.api !== 'chat') return undefined;
		return async (request, signal) => {
			const either = AbortSignal.any([signal, this.#gone.signal]);
			const reply = await askWithTools(this.#server, this.#spec, this.#abilities, request, either);
			this.#totals.add([reply.generation]);
			return { ...reply, generation: this.#priced(reply.generation) };
		};
	}

	dispose(): void {
		this.#gone.abort();
	}

	/**
	 * Rejects with `cancelled`, or if no other request could succeed because the key is wrong or the server is
	 * unreachable.
	 */
	async #generate(request: GenerateRequest, signal: AbortSignal, bound: BindOptions): Promise<Generated> {
		try {
			const generations = await this.#generations(request, signal, bound);
			return generations.map((one) => this.#priced(one));
		} catch (error) {
			const failure = Failure.from(error);
			if (failure.reason === 'cancelled' || failure.reason === 'denied') throw failure;
			return failure instanceof ContextOverflow ? endOfContext(failure, request, request.n) : failure;
		}
	}

	async #generations(request: GenerateRequest, signal: AbortSignal, bound: BindOptions): Promise<Generation[]> {
		// Greedy completions are identical, so servers that support `n` reject n > 1 at temperature 0.
		const together = this.#abilities.many && request.n > 1 && request.temperature > 0 ? maxChoices : 1;
		const parts: { first: number; n: number }[] = [];
		for (let first = 0; first < request.n; first += together) {
			parts.push({ first, n: Math.min(together, request.n - first) });
		}
		const answers = await Promise.allSettled(
			parts.map(({ first, n }) => this.#answer(request, first, n, signal, bound)),
		);
		const made = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
		const failed = answers.find((answer) => answer.status === 'rejected');
		// Keep partial results. Fail only if there are none.
		if (failed !== undefined && (made.length === 0 || signal.aborted)) throw failed.reason;
		return made;
	}

	/**
	 * Sends one request. If the response is interrupted, sends follow-up requests that continue from the partial text.
	 */
	async #answer(
		request: GenerateRequest,
		first: number,
		n: number,
		signal: AbortSignal,
		{ onText, think }: BindOptions,
	): Promise<Generation[]> {
		const options: AskOptions = {
			signal,
			n,
			seed: request.seed + first * seedStep,
			...(think === undefined || think === null ? {} : { think }),
			...(onText === undefined ? {} : { onText: (index, text) => onText({ request, index: first + index, text }) }),
		};
		const { generations, broken } = await this.#conversation.ask(request, options);
		this.#totals.add(generations);
		if (broken === null) return [...generations];
		return Promise.all(generations.map((one, k) => this.#goOn(request, one, { ...options, n: 1 }, first + k, broken)));
	}

	/**
	 * Continues after a lost connection if the server supports it and retries are left. Otherwise returns the partial
	 * result.
	 */
	async #goOn(
		request: GenerateRequest,
		first: Generation,
		options: AskOptions,
		index: number,
		broken: Failure,
	): Promise<Generation> {
		let text = first;
		let lost: Failure | null = first.finish === 'length' ? broken : null;
		const { onText } = options;
		for (let tries = this.#spec.retries ?? 4; lost !== null && tries > 0 && this.capabilities.prefix; tries--) {
			const left = request.maxTokens - text.tokens;
			if (left <= 0) break;
			this.#totals.retries++;
			await sleep(500 * (0.75 + Math.random() / 2), undefined, { signal: options.signal }).catch(() => {
				throw new Failure('cancelled', 'Canceled.');
			});
			try {
				const more = await this.#conversation.ask(request, {
					...options,
					seed: request.seed + index * seedStep + tries,
					prefix: request.prefix + text.text,
					maxTokens: left,
					...(onText === undefined ? {} : { onText: (_, part) => onText(index, part) }),
				});
				this.#totals.add(more.generations);
				const next = more.generations[0];
				if (next === undefined) break;
				text = continued(text, next);
				lost = more.broken;
			} catch (error) {
				const failure = Failure.from(error);
				if (failure.reason === 'cancelled') throw failure;
				break;
			}
		}
		return text;
	}

	#priced(generation: Generation): Generation {
		const cost = this.#totals.costOf(generation.promptTokens ?? 0, generation.tokens);
		return cost === null ? generation : { ...generation, cost };
	}
}

/**
 * Joins generated text and its continuation. The prompt token count comes from the first part, if the server reports
 * counts.
 */
function continued(first: Generation, more: Generation): Generation {
	const counted = first.promptTokens !== null || more.promptTokens !== null;
	return {
		...joined(first, more),
		promptTokens: counted ? (first.promptTokens ?? 0) + (more.promptTokens ?? 0) : null,
	};
}
