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

/** Choices of one request at most. */
const maxChoices = 64;
/** Prime to 2^31, so that the seeds of a request's generations differ. */
const seedStep = 0x1e3779b1;

/** A model on an OpenAI-compatible server. */
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

	/** Needs `/v1/completions` of a server that repeats what it is given, with its log-probabilities. */
	get read(): OpenPolicy['read'] {
		if (!this.capabilities.score) return undefined;
		return (request, signal) => this.#conversation.read(request, AbortSignal.any([signal, this.#gone.signal]));
	}

	/** Needs a chat. Whether the model calls tools is found out by offering them. */
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

	/** Rejects with `cancelled`, and where no other request would fare better: the key is wrong, or nobody is there. */
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
		// Greedy texts are alike: servers that do several at once refuse that.
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
		// What there is, is kept; nothing at all is a failure.
		if (failed !== undefined && (made.length === 0 || signal.aborted)) throw failed.reason;
		return made;
	}

	/** One request, and, where its answer is interrupted, others that continue from what there is. */
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

	/** From where a connection was lost, as far as the server can continue and tries are left; else what came so far. */
	async #goOn(
		request: GenerateRequest,
		begun: Generation,
		options: AskOptions,
		index: number,
		broken: Failure,
	): Promise<Generation> {
		let text = begun;
		let lost: Failure | null = begun.finish === 'length' ? broken : null;
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

/** A text and what was added to it; the beginning's input is known where the server counts at all. */
function continued(begun: Generation, more: Generation): Generation {
	const told = begun.promptTokens !== null || more.promptTokens !== null;
	return {
		...joined(begun, more),
		promptTokens: told ? (begun.promptTokens ?? 0) + (more.promptTokens ?? 0) : null,
	};
}
