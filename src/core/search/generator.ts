import { Failure, type Reason } from '../../base/failure.ts';
import { hashText, mix32 } from '../../base/random.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import type { StopReason } from '../../protocol/treeLog.ts';
import type { BudgetMeter, Reserved, SearchTotals } from './budgetMeter.ts';
import { turnsOf } from './episodeTurns.ts';
import type { NodePrefixes } from './nodePrefixes.ts';
import { noPrefix } from './nodePrefixes.ts';
import type { Generated, Generation, Policy } from './policy.ts';
import type { PolicyQueue } from './policyQueue.ts';
import { priorsOf } from './priors.ts';
import { generationUpTo, joined, readGeneration } from './readGeneration.ts';
import { RunningMean } from './runningMean.ts';
import type { AskOptions, GenerateOptions, Sampling } from './search.ts';
import { isBudget, SearchStop } from './searchStop.ts';
import type { SearchTree } from './searchTree.ts';
import type { StepRule } from './stepRule.ts';
import type { TreeNode } from './treeNode.ts';

/** Number of consecutive failed requests after which the policy is considered unavailable. */
const maxFailures = 20;
/** Maximum number of generations per request, and of such requests in flight. */
const maxPortion = 256;
const maxPortions = 64;
/** Maximum number of attempts to continue past an empty step. */
const maxBlanks = 6;

/**
 * Minimum number of tokens requested per generation when the budget runs low; also used before the first generation.
 */
const minShare = 32;
const firstShare = 256;

/** A generation that will become a node. */
export interface Child {
	readonly generation: Generation;
	readonly prior: number;
	/** Whether the completion is finished. */
	readonly final: boolean;
}

export interface GeneratorSettings {
	readonly tree: SearchTree;
	readonly policy: Policy;
	readonly queue: PolicyQueue;
	readonly meter: BudgetMeter;
	readonly prefixes: NodePrefixes;
	readonly sampling: Sampling;
	/** null if a step extends to the end of the completion. */
	readonly rule: StepRule | null;
	/** Text that closes an answer; null if there is none. */
	readonly answerEnd: string | null;
	readonly problem: readonly ChatMessage[];
	readonly seed: number;
	readonly concurrency: number;
	readonly totals: SearchTotals;
	readonly fault: (node: number | null, message: string) => void;
	/** Adds the generation to the tree as one or more nodes; returns the last one. */
	readonly grow: (child: Child, parents: readonly number[], before: string, options: GenerateOptions) => TreeNode;
}

/** State shared by all generations of one call. */
interface Job {
	readonly node: number;
	readonly before: string;
	readonly messages: readonly ChatMessage[];
	readonly sampling: Sampling;
	readonly maxTokens: number;
	/** Number of tokens left for the completion. */
	readonly left: number;
	readonly rule: StepRule | null;
	readonly options: GenerateOptions;
}

interface Used {
	nodes: number;
	tokens: number;
	cost: number;
}

/** Requests generations from the policy within the budget and splits them into steps. */
export class Generator {
	/** Why fewer generations were returned than requested; null if none are missing. */
	cutShort: StopReason | null = null;
	readonly #settings: GeneratorSettings;
	/** Number of generations requested below each node. */
	readonly #asked: (number | undefined)[] = [];
	readonly #asks = new Map<number, number>();
	#failures = 0;
	readonly #steps = new RunningMean();
	readonly #wholes = new RunningMean();
	/** Message from the last failure; null if there was none. */
	lastFault: string | null = null;
	/** Reason for the last failure; null if the policy did not report one. */
	lastReason: Reason | null = null;

	constructor(settings: GeneratorSettings) {
		this.#settings = settings;
	}

	async generate(node: number, options: GenerateOptions): Promise<readonly TreeNode[]> {
		const job = this.#job(node, options);
		if (job.maxTokens < 1) return [];
		const n = options.n ?? 1;
		const { meter, tree, policy, concurrency } = this.#settings;
		// Whole episodes need a node per turn, but only one node is reserved for each episode.
		const episodes = policy.plays === true && job.rule === null;
		let ordinal = this.#asked[node] ?? (tree.node(node) as TreeNode).children.length;
		this.#asked[node] = ordinal + n;
		const parts: Promise<readonly TreeNode[]>[] = [];
		const underWay = new Set<Promise<unknown>>();
		for (let left = n; left > 0; ) {
			// Limits requests in flight, so a stop or time limit takes effect soon, even with many generations.
			if (underWay.size >= (episodes ? concurrency : maxPortions)) await Promise.race(underWay);
			let reserved: Reserved;
			try {
				const portion = episodes ? 1 : Math.min(left, maxPortion);
				const room = meter.reserve(portion, job.maxTokens, true, this.#share(job));
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

	/** Returns one reply per request; '' for failed generations. */
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
		const { policy, prefixes, sampling: own, problem } = this.#settings;
		const before = options.fresh ? noPrefix : prefixes.of(node);
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
				// Returns unused tokens to the budget, because other requests may need them, then shares the remainder.
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

	/**
	 * Returns the number of tokens to request per generation when the budget runs low: most generations need fewer than
	 * the limit, and the rest are continued later.
	 */
	#share(job: Job): number {
		if (!this.#continues) return job.maxTokens;
		return Math.min(job.maxTokens, Math.max(minShare, Math.ceil(2 * (this.#sizes(job).mean ?? firstShare / 2))));
	}

	/** Whether a generation can be continued within a step. */
	get #continues(): boolean {
		const { capabilities, plays } = this.#settings.policy;
		return capabilities.prefix && plays !== true;
	}

	#sizes({ rule }: Job): RunningMean {
		return rule === null ? this.#wholes : this.#steps;
	}

	/** Continues generations that were truncated by their share of the budget, as long as any budget remains. */
	async #further(job: Job, first: Generation, reserved: Reserved, ordinal: number): Promise<Further> {
		const { meter } = this.#settings;
		let [whole, last, share] = [first, first, reserved];
		for (let i = 1; isCut(last, share); i++) {
			const left = job.maxTokens - whole.tokens;
			if (!this.#continues || left < 1) return { whole, cut: left > 0 };
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

	/** Requests generations that continue from `more`, each up to the end of its step. */
	async #ask(job: Job, more: string, n: number, maxTokens: number, ordinal: number, used: Used): Promise<Generation[]> {
		const { sampling, options, rule } = job;
		const { policy, tree } = this.#settings;
		const stops = rule?.stops ?? [];
		const generated = await this.#settings.queue.submit({
			messages: job.messages,
			prefix: job.before + more,
			n,
			temperature: sampling.temperature,
			topP: sampling.topP,
			maxTokens,
			stop: options.stop === undefined ? stops : [...stops, ...options.stop],
			seed: mix32(this.#settings.prefixes.place(job.node) ^ mix32(ordinal + 1)),
			tokens: options.cut === undefined ? sampling.tokens : Math.max(1, sampling.tokens),
			...(policy.plays === true ? { turns: turnsOf(tree, job.node) } : {}),
		});
		const whole = this.#received(generated, n, job.node, used);
		if (rule !== null) for (let i = 0; i < whole.length; i++) whole[i] = oneStep(whole[i] as Generation, rule, options);
		return whole;
	}

	/** Continues a generation whose step is empty, and joins it with the next step. */
	async #pastBlank(job: Job, first: Generation, reserved: Reserved, ordinal: number, used: Used): Promise<Generation> {
		let whole = first;
		for (let i = 0; i < maxBlanks && isEmptyStep(whole, job); i++) {
			const left = reserved.maxTokens - whole.tokens;
			if (left < 1) break;
			// Uses ordinals far from those of siblings, so that random streams differ.
			const [next] = await this.#ask(job, whole.text, 1, left, ordinal + 0x10000 * (i + 1), used);
			if (next === undefined) break;
			whole = joined(whole, next);
		}
		return whole;
	}

	/** Counts the valid generations in a reply and records its errors. */
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
		const message = generated instanceof Failure ? generated.toString() : 'The policy returned no generations.';
		if (generated instanceof Failure && generated.reason === 'cancelled') throw new SearchStop('stopped');
		this.lastFault = message;
		this.lastReason = generated instanceof Failure ? generated.reason : null;
		fault(node, message);
		if (++this.#failures >= maxFailures) {
			throw new SearchStop('policy', `${maxFailures} consecutive requests failed. Last error: ${message}`);
		}
		return sound;
	}

	/**
	 * @param cut whether the generation was truncated by the budget; such a generation can be continued with another
	 * budget, unlike one that was truncated by the context or by its own limit
	 */
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
		// A policy with its own stop rule can continue text that has not reached it.
		if (finish === 'length' && text === '') return true;
		if (options.stop === undefined && (rule === null || tokens >= job.left)) return true;
		return rule !== null && answered();
	}
}

interface Further {
	readonly whole: Generation;
	/** Whether the budget was exhausted. */
	readonly cut: boolean;
}

/** Returns whether a step is empty and did not end at a requested stop string. */
const isEmptyStep = ({ finish, text, stopText }: Generation, { rule, options }: Job): boolean =>
	rule !== null && finish === 'stop' && rule.empty(text) && options.stop?.includes(stopText ?? '') !== true;

/** Returns whether a generation ended because it was allotted fewer tokens than the maximum. */
const isCut = ({ finish, tokens }: Generation, { cut, maxTokens }: Reserved): boolean =>
	cut && finish === 'length' && tokens >= maxTokens;

/** Splits one step, including the text that ends it, off a generation that may be longer. */
function oneStep(given: Generation, rule: StepRule, { stop }: GenerateOptions): Generation {
	const end = rule.end(given.text);
	if (end >= 0 && end < given.text.length) return { ...generationUpTo(given, end), finish: 'stop' };
	if (given.finish !== 'stop') return given;
	const stopText = given.stopText ?? rule.stops[0] ?? '';
	if (!rule.stops.includes(stopText) || stop?.includes(stopText)) return given;
	return { ...given, text: given.text + stopText };
}

export const cannotGoOn = (policy: string): string =>
	`Policy ${policy} cannot continue a given prefix, which step-level search requires. Choose a strategy that samples whole completions, or the split "completion".`;
