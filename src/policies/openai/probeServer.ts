import { Failure } from '../../base/failure.ts';
import type { GenerateRequest, Generation } from '../../core/search/policy.ts';
import type { ServerAbilities } from '../../protocol/policySpec.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import type { OpenAiAbilities, PrefixStyle } from './abilities.ts';
import { Conversation, type Exchange } from './conversation.ts';
import { type AskableServer, type OpenAiServer, Refused } from './openAiServer.ts';
import type { OpenAiSpec } from './requestBody.ts';

const counting = 'Count from 1 to 30 in digits, separated by spaces, and write nothing else.';
const counted = { prefix: '1 2 3 4 5 6 7 8', next: /^\s*9\b/ };
/** Token limit for prefix continuation tests. */
const fewTokens = 6;
const inventing = 'Invent a name for a small sailing boat. Say the name alone.';

/** Baseline capabilities of all OpenAI-compatible servers. Anything beyond them is probed. */
const plain: OpenAiAbilities = {
	lengthField: 'max_tokens',
	temperature: true,
	topP: true,
	stream: 'no',
	logprobs: null,
	many: false,
	seed: false,
	refusesSeed: true,
	prefix: null,
	echoesPrefix: false,
	schema: false,
	stops: 'kept',
	score: false,
	reasoning: false,
	sample: '',
	notes: [],
};

interface Tried {
	readonly abilities: Partial<OpenAiAbilities>;
	readonly note?: string;
}

/**
 * Detects a model's capabilities with about a dozen small requests. If the server rejects all requests, fails like
 * `OpenAiServer.ask`. Unsupported features are recorded in the notes.
 */
export async function probeServer(
	server: OpenAiServer,
	spec: OpenAiSpec,
	signal: AbortSignal,
): Promise<OpenAiAbilities> {
	const { abilities: base, generation } = await firstAnswer(server, spec, signal);
	const probe = new Probe(server.once, spec, base, generation, signal);
	const given = spec.abilities ?? {};
	const unless = async (known: unknown, ask: () => Promise<Tried>): Promise<Tried> =>
		known === undefined ? ask() : { abilities: {} };
	const tried = await Promise.all([
		unless(given.stream, () => probe.streaming()),
		unless(given.logprobs, () => probe.logprobs()),
		unless(given.many, () => probe.many()),
		unless(given.seed, () => probe.seeds()),
		unless(given.stops, () => probe.stops()),
		unless(given.schema, () => probe.schema()),
		unless(given.prefix, () => probe.prefix()),
		unless(given.score, () => probe.score()),
	]);
	const found: OpenAiAbilities = Object.assign({}, base, ...tried.map(({ abilities }) => abilities), givenOf(given));
	return { ...found, notes: tried.flatMap(({ note }) => (note === undefined ? [] : [note])) };
}

/** Returns the server capabilities declared in the policy. */
function givenOf({ prefix, logprobs, seed, ...same }: ServerAbilities): Partial<OpenAiAbilities> {
	return {
		...(Object.fromEntries(
			Object.entries(same).filter(([, value]) => value !== undefined),
		) as Partial<OpenAiAbilities>),
		...(prefix === undefined ? {} : { prefix: prefix === false ? null : prefix }),
		...(logprobs === undefined ? {} : { logprobs: logprobs === false ? null : logprobs }),
		...(seed === undefined ? {} : { seed, refusesSeed: !seed }),
	};
}

/** Requests the first greedy completion, trying parameter variants until the server accepts one. */
async function firstAnswer(server: OpenAiServer, spec: OpenAiSpec, signal: AbortSignal) {
	const dialects: Partial<OpenAiAbilities>[] = [
		{},
		{ topP: false },
		{ lengthField: 'max_completion_tokens' },
		{ lengthField: 'max_completion_tokens', temperature: false, topP: false },
		{ temperature: false, topP: false },
	];
	let first: unknown;
	for (const dialect of dialects) {
		const abilities = { ...plain, ...dialect };
		try {
			const { generations, reasoned } = await new Conversation(server, spec, abilities).ask(
				requestOf(counting, { maxTokens: 48 }),
				{ signal },
			);
			const generation = generations[0] as Generation;
			return { generation, abilities: { ...abilities, reasoning: reasoned, sample: generation.text.slice(0, 400) } };
		} catch (error) {
			first ??= error;
			// For any other error, changing the parameters would not help.
			if (!(error instanceof Refused) || ![400, 422].includes(error.status)) throw error;
		}
	}
	throw first;
}

function requestOf(prompt: string, more: Partial<GenerateRequest> = {}): GenerateRequest {
	return {
		messages: [{ role: 'user', content: prompt }],
		prefix: '',
		n: 1,
		temperature: 0,
		topP: 1,
		maxTokens: 16,
		stop: [],
		seed: 1,
		tokens: 0,
		...more,
	};
}

/** Tests one feature at a time, leaving everything else unchanged. */
class Probe {
	readonly #server: AskableServer;
	readonly #spec: OpenAiSpec;
	readonly #base: OpenAiAbilities;
	/** Greedy completion of `counting`. */
	readonly #text: string;
	readonly #first: Generation;
	readonly #signal: AbortSignal;

	constructor(server: AskableServer, spec: OpenAiSpec, base: OpenAiAbilities, first: Generation, signal: AbortSignal) {
		this.#server = server;
		this.#spec = spec;
		this.#base = base;
		this.#text = first.text;
		this.#first = first;
		this.#signal = signal;
	}

	async streaming(): Promise<Tried> {
		for (const stream of ['usage', 'plain'] as const) {
			const got = await this.#try({ stream }, requestOf(counting, { maxTokens: 8 }));
			if (got instanceof Failure || !got.streamed) continue;
			return { abilities: { stream: got.counted || stream === 'plain' ? stream : 'plain' } };
		}
		return { abilities: {}, note: 'The server does not stream, so text appears only when complete.' };
	}

	async logprobs(): Promise<Tried> {
		for (const logprobs of [20, 5, 0]) {
			const got = await this.#try({ logprobs }, requestOf(counting, { maxTokens: 8, tokens: 20 }));
			if (got instanceof Failure) continue;
			const [generation] = got.generations;
			if (generation?.logprob === null || generation === undefined) break;
			const alternatives = Math.max(0, ...(generation.detail?.top ?? []).map((top) => top.length));
			return { abilities: { logprobs: Math.min(logprobs, alternatives) } };
		}
		return { abilities: {}, note: 'The server does not return log-probabilities.' };
	}

	async many(): Promise<Tried> {
		const request = requestOf(inventing, { n: 2, temperature: 1, maxTokens: 8 });
		const got = await this.#try({ many: true }, request);
		if (!(got instanceof Failure) && got.generations.length === 2) return { abilities: { many: true } };
		return { abilities: {}, note: 'The server returns one completion per request, so n completions take n requests.' };
	}

	async seeds(): Promise<Tried> {
		const texts: string[] = [];
		for (const seed of [11, 11, 12, 13]) {
			const request = requestOf(inventing, { temperature: 1, seed });
			const got = await this.#try({ refusesSeed: false }, request);
			if (got instanceof Failure) return { abilities: {}, note: 'The server does not support seeds.' };
			texts.push(got.generations[0]?.text ?? '');
		}
		const same = texts[0] === texts[1];
		if (same && texts.some((text) => text !== texts[0])) return { abilities: { seed: true, refusesSeed: false } };
		const note = same
			? 'Seeds could not be tested because all completions were identical.'
			: 'The same seed produces different completions.';
		return { abilities: { refusesSeed: false }, note };
	}

	async stops(): Promise<Tried> {
		const stop = stopWithin(this.#text);
		if (stop === null) return { abilities: { stops: 'untold' } };
		const got = await this.#try({}, requestOf(counting, { maxTokens: 48, stop: [stop] }), true);
		const note = 'The server does not support stop strings, so Reasoning Lab truncates the steps itself.';
		if (got instanceof Failure) return { abilities: { stops: 'refused' }, note };
		const [generation] = got.generations;
		if (generation?.finish !== 'stop') return { abilities: { stops: 'untold' } };
		if (got.matchedStop) return { abilities: { stops: 'told' } };
		// The server ignored the stop string and continued.
		if (generation.tokens >= this.#first.tokens) return { abilities: { stops: 'refused' }, note };
		return { abilities: { stops: 'kept' } };
	}

	async schema(): Promise<Tried> {
		const schema = {
			type: 'object',
			properties: { ready: { type: 'boolean' } },
			required: ['ready'],
			additionalProperties: false,
		};
		const got = await this.#try({ schema: true }, requestOf('Say yes or no.', { maxTokens: 32, schema }));
		if (!(got instanceof Failure)) {
			const text = (got.generations[0]?.text ?? '').replace(/^\s*<think>[\s\S]*?<\/think>/, '');
			try {
				if (typeof JSON.parse(text)?.ready === 'boolean') return { abilities: { schema: true } };
			} catch {
				// The text is not JSON, so the schema was not enforced.
			}
		}
		return { abilities: {}, note: 'The server does not enforce JSON schemas.' };
	}

	/**
	 * Tests whether the model continues its own greedy text when given a prefix of that text. If the text is inconclusive
	 * (repetitive, too short, or not deterministic), tests whether the model continues counting.
	 */
	async prefix(): Promise<Tried> {
		const styles: readonly PrefixStyle[] =
			this.#spec.api === 'completions' ? ['prompt'] : ['continue', 'assistant', 'flag'];
		const split = splitOf(this.#text);
		for (const style of styles) {
			const prefix = split?.prefix ?? counted.prefix;
			// The limit is too small to restate the prefix, so a completion that still contains it was echoed without using
			// tokens.
			const request = requestOf(counting, { maxTokens: fewTokens, prefix });
			const got = await this.#try({ prefix: style }, request);
			if (got instanceof Failure) continue;
			const text = got.generations[0]?.text ?? '';
			const begins = (this.#first.tokens * prefix.length) / Math.max(1, this.#text.length);
			const echoes = text.startsWith(prefix) && begins > 2 * fewTokens;
			const rest = echoes ? text.slice(prefix.length) : text;
			const goesOn = split === null ? counted.next.test(rest) : sameStart(rest, split.rest);
			// With the completions API, the model always continues the prompt, even if it miscounts.
			if (goesOn || style === 'prompt') return { abilities: { prefix: style, echoesPrefix: echoes } };
		}
		if (this.#spec.api === 'completions') return { abilities: { prefix: 'prompt' } };
		return {
			abilities: {},
			note: 'The server cannot continue from a prefix, so steps cannot be continued. If it actually can, set "abilities": {"prefix": "continue"}.',
		};
	}

	async score(): Promise<Tried> {
		if (this.#spec.api === 'chat') return { abilities: {} };
		const conversation = new Conversation(this.#server, this.#spec, this.#base);
		const messages: readonly ChatMessage[] = [{ role: 'user', content: counting }];
		try {
			const scored = await conversation.score({ messages, completion: ' 1 2 3' }, this.#signal);
			if (scored.length > 0) return { abilities: { score: true } };
		} catch (error) {
			if (Failure.from(error).reason === 'cancelled') throw error;
		}
		return { abilities: {}, note: 'The server cannot score existing text.' };
	}

	async #try(
		abilities: Partial<OpenAiAbilities>,
		request: GenerateRequest,
		reportsStops = false,
	): Promise<Exchange | Failure> {
		const conversation = new Conversation(this.#server, this.#spec, { ...this.#base, ...abilities });
		try {
			return await conversation.ask(request, { signal: this.#signal, sendStops: reportsStops });
		} catch (error) {
			const failure = Failure.from(error);
			// A rejected key or a lost connection says nothing about the feature.
			if (failure.reason === 'cancelled' || failure.reason === 'denied') throw failure;
			return failure;
		}
	}
}

/** Returns a word from the middle of the text, for use as a stop string. */
function stopWithin(text: string): string | null {
	const words = [...text.matchAll(/\S+/g)].filter(({ index, 0: word }) => index > 0 && text.indexOf(word) === index);
	return words[Math.floor(words.length / 2)]?.[0].slice(0, 20) ?? null;
}

/**
 * Splits the text where continuing and starting over would look different. Returns null if there is no such position.
 */
function splitOf(text: string): { readonly prefix: string; readonly rest: string } | null {
	const places = [...text.matchAll(/(?<=\S)\s+(?=\S)/g)].map(({ index }) => index);
	const middle = text.length / 2;
	places.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
	for (const at of places) {
		const rest = text.slice(at);
		if (rest.trim().length >= 2 && !sameStart(rest, text)) return { prefix: text.slice(0, at), rest };
	}
	return null;
}

/** Returns whether both strings start with the same characters, ignoring leading whitespace. */
function sameStart(a: string, b: string): boolean {
	const [left, right] = [a.trimStart(), b.trimStart()];
	const length = Math.min(8, left.length, right.length);
	return length >= 2 && left.slice(0, length) === right.slice(0, length);
}
