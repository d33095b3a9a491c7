import { Failure, type Reason } from '../../base/failure.ts';
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
import { isBudget, SearchStop } from './searchStop.ts';
import type { SearchTree, TreeNode } from './searchTree.ts';
import type { StepRule } from './stepRule.ts';

/** Requests in a row that gave nothing, after which the policy is taken to be gone. */
const mostFailures = 20;
/** Generations that are reserved and asked for together at most, and portions of so many that are under way at a time. */
const maxPortion = 256;
const maxPortions = 64;
/** A step that says nothing is gone on with so often. */
const mostBlanks = 6;

/** Tokens that a generation is asked for at once where a budget is short: at least, and before any was seen. */
const leastShare = 32;
const firstShare = 256;

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
	readonly #steps = new Sizes();
	readonly #wholes = new Sizes();
	/** What went wrong last; null: nothing. */
	lastFault: string | null = null;
	/** Reason of that failure; null: the policy did not name one. */
	lastReason: Reason | null = null;

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
		const underWay = new Set<Promise<unknown>>();
		for (let left = n; left > 0; ) {
			// However many are wanted, a stop and the end of the time are heard between portions.
			if (underWay.size >= maxPortions) await Promise.race(underWay);
			let reserved: Reserved;
			try {
				const room = meter.reserve(Math.min(left, maxPortion), job.maxTokens, true, this.#share(job));
				reserved = room instanceof Promise ? await room : room;
			} catch (stop) {
				if (parts.length === 0 || !(stop instanceof SearchStop)) throw stop;
				this.cutShort = stop.reason;
				break;
			}
			const part = this.#children(job, reserved, ordinal);
			if (reserved.n === n) return part;
			const over = part.finally(() => underWay.delete(over));
			over.catch(() => undefined);
			underWay.add(over);
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
			const room = meter.reserve(Math.min(n - texts.length, maxPortion), maxTokens, false);
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
		let cut: readonly boolean[] = [];
		let held = true;
		meter.enter();
		try {
			let whole = await this.#ask(job, '', reserved.n, reserved.maxTokens, ordinal, used);
			if (whole.some((one) => isEmptyStep(one, job))) {
				const filled = whole.map((one, i) => this.#pastBlank(job, one, reserved, ordinal + i, used));
				whole = await Promise.all(filled);
			}
			used.nodes = whole.length;
			for (const { tokens } of whole) this.#sizes(job).add(tokens);
			if (whole.some((one) => isCut(one, reserved))) {
				// Others may need what these did not; what is left then is shared anew.
				meter.settle(reserved, used);
				held = false;
				const further = await Promise.all(whole.map((one, i) => this.#further(job, one, reserved, ordinal + i)));
				whole = further.map((one) => one.whole);
				cut = further.map((one) => one.cut);
			}
			const priors = priorsOf(whole);
			const { options, before } = job;
			const parents = options.parents ?? [job.node];
			return whole.map((generation, i) => {
				const final = this.#isFinal(job, generation, cut[i] ?? false);
				return grow({ generation, prior: priors[i] as number, final }, parents, before, options);
			});
		} finally {
			if (held) meter.settle(reserved, used);
			meter.leave();
		}
	}

	/** Tokens that a generation is asked for at once where a budget is short: most need less, and the others go on. */
	#share(job: Job): number {
		if (!this.#settings.policy.capabilities.prefix) return job.maxTokens;
		return Math.min(job.maxTokens, Math.max(leastShare, Math.ceil(2 * (this.#sizes(job).mean ?? firstShare / 2))));
	}

	#sizes({ rule }: Job): Sizes {
		return rule === null ? this.#wholes : this.#steps;
	}

	/** Goes on with what its share of the budget has cut, as long as there is more of it. */
	async #further(job: Job, begun: Generation, reserved: Reserved, ordinal: number): Promise<Further> {
		const { meter, policy } = this.#settings;
		let [whole, last, share] = [begun, begun, reserved];
		for (let i = 1; isCut(last, share); i++) {
			const left = job.maxTokens - whole.tokens;
			if (!policy.capabilities.prefix || left < 1) return { whole, cut: left > 0 };
			try {
				const room = meter.reserve(1, left, false, this.#share(job));
				share = room instanceof Promise ? await room : room;
			} catch (stop) {
				if (!(stop instanceof SearchStop) || !isBudget(stop.reason)) throw stop;
				this.cutShort ??= stop.reason;
				return { whole, cut: true };
			}
			const used: Used = { nodes: 0, tokens: 0, cost: 0 };
			try {
				const seeded = ordinal + 0x1000000 * i;
				const [next] = await this.#ask(job, whole.text, 1, share.maxTokens, seeded, used);
				if (next === undefined) return { whole, cut: true };
				whole = joined(whole, next);
				last = next;
			} finally {
				meter.settle(share, used);
			}
			const end = job.rule?.end(whole.text) ?? -1;
			if (end >= 0 && end < whole.text.length)
				return { whole: { ...generationUpTo(whole, end), finish: 'stop' }, cut: false };
		}
		return { whole, cut: false };
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

	/** A step with what comes before it in its place, when that says nothing. */
	async #pastBlank(job: Job, begun: Generation, reserved: Reserved, ordinal: number, used: Used): Promise<Generation> {
		let whole = begun;
		for (let i = 0; i < mostBlanks && isEmptyStep(whole, job); i++) {
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
		const message = generated instanceof Failure ? generated.toString() : 'The policy returned nothing.';
		if (generated instanceof Failure && generated.reason === 'cancelled') throw new SearchStop('stopped');
		this.lastFault = message;
		this.lastReason = generated instanceof Failure ? generated.reason : null;
		fault(node, message);
		if (++this.#failures >= mostFailures) {
			throw new SearchStop('policy', `${mostFailures} requests in a row failed. The last error: ${message}`);
		}
		return sound;
	}

	/** @param cut the budget did: what it has cut can go on with another; what its context or its own limit did cannot */
	#isFinal(job: Job, { finish, text, tokens }: Generation, cut: boolean): boolean {
		if (finish === 'end' || finish === 'refusal') return true;
		const { answerEnd } = this.#settings;
		const { before, rule, options } = job;
		const answered = () =>
			answerEnd !== null &&
			(text.includes(answerEnd) || `${before.slice(1 - answerEnd.length)}${text}`.includes(answerEnd));
		if (cut) {
			this.cutShort ??= 'tokens';
			return options.stop === undefined && answered();
		}
		// Who says where it is to stop goes on from what has not got there.
		if (finish === 'length' && text === '') return true;
		if (options.stop === undefined && (rule === null || tokens >= job.left)) return true;
		return rule !== null && answered();
	}
}

interface Further {
	readonly whole: Generation;
	/** There was no more of the budget for it. */
	readonly cut: boolean;
}

/** Whether a step ended that says nothing, other than at a text that was asked for. */
const isEmptyStep = ({ finish, text, stopText }: Generation, { rule, options }: Job): boolean =>
	rule !== null && finish === 'stop' && rule.empty(text) && options.stop?.includes(stopText ?? '') !== true;

/** Whether a generation ended because it was given fewer tokens than it may have. */
const isCut = ({ finish, tokens }: Generation, { cut, maxTokens }: Reserved): boolean =>
	cut && finish === 'length' && tokens >= maxTokens;

/** How long generations were so far. */
class Sizes {
	#sum = 0;
	#count = 0;

	add(tokens: number): void {
		this.#sum += tokens;
		this.#count++;
	}

	/** null: there were none. */
	get mean(): number | null {
		return this.#count === 0 ? null : this.#sum / this.#count;
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
	`The policy ${policy} cannot continue a given prefix, which step-level search needs. Choose a strategy that samples whole completions, or the split "completion".`;
