import { Failure } from '../../base/failure.ts';
import { hashText, mix32 } from '../../base/random.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import type { StopReason } from '../../protocol/treeLog.ts';
import type { Beginnings } from './beginnings.ts';
import { noBeginning } from './beginnings.ts';
import type { BudgetMeter, Reserved, SearchTotals } from './budgetMeter.ts';
import type { Generated, Generation, Policy } from './policy.ts';
import type { PolicyQueue } from './policyQueue.ts';
import { priorsOf } from './priors.ts';
import { generationUpTo, joined, readGeneration } from './readGeneration.ts';
import type { AskOptions, GenerateOptions, Sampling } from './search.ts';
import { SearchStop } from './searchStop.ts';
import type { SearchTree, TreeNode } from './searchTree.ts';
import type { StepRule } from './stepRule.ts';

/** Requests in a row that gave nothing, after which the policy is taken to be gone. */
const mostFailures = 20;
/** A step that is white space alone is gone on with so often. */
const mostBlanks = 4;

/** One generation as it becomes a node. */
export interface Child {
	readonly generation: Generation;
	readonly prior: number;
	/** Nothing can follow it. */
	readonly final: boolean;
}

export interface GeneratorSettings {
	readonly tree: SearchTree;
	readonly policy: Policy;
	readonly queue: PolicyQueue;
	readonly meter: BudgetMeter;
	readonly beginnings: Beginnings;
	readonly sampling: Sampling;
	/** null: a step is all that is left. */
	readonly rule: StepRule | null;
	/** What closes an answer; null: nothing does. */
	readonly answerEnd: string | null;
	readonly problem: readonly ChatMessage[];
	readonly seed: number;
	readonly totals: SearchTotals;
	readonly fault: (node: number | null, message: string) => void;
	/** Makes nodes of it; returns the last. */
	readonly grow: (child: Child, parents: readonly number[], before: string, options: GenerateOptions) => TreeNode;
}

/** What is the same for all generations of one call. */
interface Job {
	readonly node: number;
	readonly before: string;
	readonly messages: readonly ChatMessage[];
	readonly sampling: Sampling;
	readonly maxTokens: number;
	/** Tokens that the completion has left. */
	readonly left: number;
	readonly rule: StepRule | null;
	readonly options: GenerateOptions;
}

interface Used {
	nodes: number;
	tokens: number;
	cost: number;
}

/** Asks the policy within the budget, and makes steps of what comes. */
export class Generator {
	/** Why less was made than was asked for; null: all was. */
	cutShort: StopReason | null = null;
	readonly #settings: GeneratorSettings;
	/** Generations that were asked for below each node. */
	readonly #asked: (number | undefined)[] = [];
	readonly #asks = new Map<number, number>();
	#failures = 0;
	/** What went wrong last; null: nothing. */
	lastFault: string | null = null;

	constructor(settings: GeneratorSettings) {
		this.#settings = settings;
	}

	async generate(node: number, options: GenerateOptions): Promise<readonly TreeNode[]> {
		const job = this.#job(node, options);
		if (job.maxTokens < 1) return [];
		const n = options.n ?? 1;
		const { meter, tree } = this.#settings;
		let ordinal = this.#asked[node] ?? (tree.node(node) as TreeNode).children.length;
		this.#asked[node] = ordinal + n;
		const parts: Promise<readonly TreeNode[]>[] = [];
		for (let left = n; left > 0; ) {
			let reserved: Reserved;
			try {
				const room = meter.reserve(left, job.maxTokens, true);
				reserved = room instanceof Promise ? await room : room;
			} catch (stop) {
				if (parts.length === 0 || !(stop instanceof SearchStop)) throw stop;
				this.cutShort = stop.reason;
				break;
			}
			const part = this.#children(job, reserved, ordinal);
			if (reserved.n === n) return part;
			part.catch(() => undefined);
			parts.push(part);
			ordinal += reserved.n;
			left -= reserved.n;
		}
		return (await Promise.all(parts)).flat();
	}

	/** '' for what gave nothing. */
	async ask(messages: readonly ChatMessage[], options: AskOptions): Promise<readonly string[]> {
		const { meter, queue, sampling, seed } = this.#settings;
		const n = options.n ?? 1;
		const maxTokens = options.maxTokens ?? sampling.maxTokens;
		const place = hashText(JSON.stringify(messages), seed);
		let ordinal = this.#asks.get(place) ?? 0;
		this.#asks.set(place, ordinal + n);
		const texts: string[] = [];
		while (texts.length < n) {
			const room = meter.reserve(n - texts.length, maxTokens, false);
			const reserved = room instanceof Promise ? await room : room;
			const used: Used = { nodes: 0, tokens: 0, cost: 0 };
			try {
				const generated = await queue.submit({
					messages,
					prefix: '',
					n: reserved.n,
					temperature: options.temperature ?? sampling.temperature,
					topP: sampling.topP,
					maxTokens: reserved.maxTokens,
					stop: options.stop ?? [],
					seed: mix32(place ^ mix32(ordinal + 1)),
					tokens: 0,
					...(options.schema === undefined ? {} : { schema: options.schema }),
				});
				const got = this.#received(generated, reserved.n, null, used);
				for (let i = 0; i < reserved.n; i++) texts.push(got[i]?.text ?? '');
			} finally {
				meter.settle(reserved, used);
			}
			ordinal += reserved.n;
		}
		return texts;
	}

	#job(node: number, options: GenerateOptions): Job {
		const { policy, beginnings, sampling: own, problem } = this.#settings;
		const before = options.fresh ? noBeginning : beginnings.of(node);
		if (before.text !== '' && !policy.capabilities.prefix) throw new SearchStop('policy', cannotGoOn(policy.name));
		const sampling = options.sampling === undefined ? own : { ...own, ...options.sampling };
		const rule = options.unit === 'step' ? this.#settings.rule : null;
		const left = sampling.maxTokens - before.tokens;
		return {
			node,
			before: before.text,
			messages: options.messages ?? problem,
			sampling,
			maxTokens: rule === null ? left : Math.min(left, rule.tokens ?? sampling.maxStepTokens),
			left,
			rule,
			options,
		};
	}

	async #children(job: Job, reserved: Reserved, ordinal: number): Promise<readonly TreeNode[]> {
		const { grow, meter } = this.#settings;
		const used: Used = { nodes: 0, tokens: 0, cost: 0 };
		try {
			const whole = await this.#ask(job, '', reserved.n, reserved.maxTokens, ordinal, used);
			for (let i = 0; i < whole.length; i++) {
				const generation = whole[i] as Generation;
				if (job.rule !== null && generation.finish === 'stop' && generation.text.trim() === '') {
					whole[i] = await this.#pastBlank(job, generation, reserved, ordinal + i, used);
				}
			}
			const priors = priorsOf(whole);
			const { options, before } = job;
			const parents = options.parents ?? [job.node];
			return whole.map((generation, i) => {
				used.nodes++;
				const final = this.#isFinal(job, generation, reserved);
				return grow({ generation, prior: priors[i] as number, final }, parents, before, options);
			});
		} finally {
			meter.settle(reserved, used);
		}
	}

	/** Generations of a job that go on from `more`, each up to the end of its step. */
	async #ask(job: Job, more: string, n: number, maxTokens: number, ordinal: number, used: Used): Promise<Generation[]> {
		const { sampling, options, rule } = job;
		const stops = rule?.stops ?? [];
		const generated = await this.#settings.queue.submit({
			messages: job.messages,
			prefix: job.before + more,
			n,
			temperature: sampling.temperature,
			topP: sampling.topP,
			maxTokens,
			stop: options.stop === undefined ? stops : [...stops, ...options.stop],
			seed: mix32(this.#settings.beginnings.place(job.node) ^ mix32(ordinal + 1)),
			tokens: options.cut === undefined ? sampling.tokens : Math.max(1, sampling.tokens),
		});
		const whole = this.#received(generated, n, job.node, used);
		if (rule !== null) for (let i = 0; i < whole.length; i++) whole[i] = oneStep(whole[i] as Generation, rule, options);
		return whole;
	}

	async #pastBlank(job: Job, blank: Generation, reserved: Reserved, ordinal: number, used: Used): Promise<Generation> {
		let whole = blank;
		for (let i = 0; i < mostBlanks && whole.finish === 'stop' && whole.text.trim() === ''; i++) {
			const left = reserved.maxTokens - whole.tokens;
			if (left < 1) break;
			// Far from the ordinals of siblings, so that their streams are others.
			const [next] = await this.#ask(job, whole.text, 1, left, ordinal + 0x10000 * (i + 1), used);
			if (next === undefined) break;
			whole = joined(whole, next);
		}
		return whole;
	}

	/** The sound generations of a request, counted; what is wrong with it is noted. */
	#received(generated: Generated, n: number, node: number | null, used: Used): Generation[] {
		const { fault, totals } = this.#settings;
		const sound: Generation[] = [];
		if (Array.isArray(generated)) {
			for (const given of generated as readonly Generation[]) {
				const generation = readGeneration(given);
				if (generation === null) continue;
				used.tokens += generation.tokens;
				totals.tokens += generation.tokens;
				if (generation.promptTokens !== null)
					totals.promptTokens = (totals.promptTokens ?? 0) + generation.promptTokens;
				if (typeof generation.cost === 'number' && Number.isFinite(generation.cost)) {
					used.cost += generation.cost;
					totals.cost = (totals.cost ?? 0) + generation.cost;
				}
				if (sound.length < n) sound.push(generation);
			}
		}
		if (sound.length > 0) {
			this.#failures = 0;
			return sound;
		}
		const message = generated instanceof Failure ? generated.toString() : 'The policy gave nothing.';
		if (generated instanceof Failure && generated.reason === 'cancelled') throw new SearchStop('stopped');
		this.lastFault = message;
		fault(node, message);
		if (++this.#failures >= mostFailures) {
			throw new SearchStop('policy', `${mostFailures} requests in a row gave nothing. The last: ${message}`);
		}
		return sound;
	}

	#isFinal(job: Job, { finish, text, tokens }: Generation, reserved: Reserved): boolean {
		if (finish === 'end' || finish === 'refusal') return true;
		const { answerEnd } = this.#settings;
		const { before, rule, options } = job;
		// Where the budget cut it, it can go on with another; where its context or its own limit did, it cannot.
		if (reserved.cut && tokens >= reserved.maxTokens) {
			if (finish === 'length') this.cutShort = 'tokens';
			return false;
		}
		// Who says where it is to stop goes on from what has not got there.
		if (finish === 'length' && text === '') return true;
		if (options.stop === undefined && (rule === null || tokens >= job.left)) return true;
		if (rule === null || answerEnd === null) return false;
		return text.includes(answerEnd) || `${before.slice(1 - answerEnd.length)}${text}`.includes(answerEnd);
	}
}

/** One step of what may be more, with what ends it. */
function oneStep(given: Generation, rule: StepRule, { stop }: GenerateOptions): Generation {
	const end = rule.end(given.text);
	if (end >= 0 && end < given.text.length) return { ...generationUpTo(given, end), finish: 'stop' };
	if (given.finish !== 'stop') return given;
	const stopText = given.stopText ?? rule.stops[0] ?? '';
	if (!rule.stops.includes(stopText) || stop?.includes(stopText)) return given;
	return { ...given, text: given.text + stopText };
}

export const cannotGoOn = (policy: string): string =>
	`The policy ${policy} cannot go on from a given beginning, which a search over steps needs. Choose a strategy of whole completions, or the split "completion".`;
