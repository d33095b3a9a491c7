import type { AbortSignalLike } from '../../base/async.ts';
import { Failure, type Reason } from '../../base/failure.ts';
import type { SearchBudget, SearchProblem, StopReason, TreeEvent } from '../../protocol/treeLog.ts';
import { treeLogFormat } from '../../protocol/treeLog.ts';
import { loadLatexParser } from '../math/latexParser.ts';
import { r1Tags, type TraceTags } from '../trace/trace.ts';
import { equivalentAnswers } from './answerClasses.ts';
import { BudgetMeter, type SearchTotals } from './budgetMeter.ts';
import { bestFinal, chooser, judgeFinals, votedFinal } from './choice.ts';
import { continuationEvents, type ReadLog, readLog, type SearchResume } from './continueSearch.ts';
import { cannotGoOn } from './generator.ts';
import { SearchOperators } from './operators.ts';
import type { Policy, PolicyCapabilities } from './policy.ts';
import type { Scorer } from './scorer.ts';
import type { Sampling, StepSplit } from './search.ts';
import { isBudget, SearchStop } from './searchStop.ts';
import { SearchTree } from './searchTree.ts';
import { stepRuleOf } from './stepRule.ts';
import { type AnyStrategy, strategyOf, strategyParams } from './strategies.ts';
import { type Conclusion, needsOf, type StrategyEnd } from './strategy.ts';
import type { SearchOutcome } from './treeNode.ts';

export interface SearchOptions {
	/** Search id, written to the log. Default: ''. */
	readonly id?: string;
	/** Name of a strategy in `strategies`, or a custom strategy. */
	readonly strategy: string | AnyStrategy;
	readonly params?: Readonly<Record<string, unknown>>;
	readonly problem: SearchProblem;
	readonly policy: Policy;
	/** Name of the policy's model, written to the log. */
	readonly model?: string;
	/** Scorer that guides the search by scoring prefixes. */
	readonly guide?: Scorer | null;
	/** Scorer that selects among final nodes. Default: the guide. */
	readonly judge?: Scorer | null;
	/** Default: temperature 1, top-p 1, 4096 tokens per completion, 256 per step, no token details. */
	readonly sampling?: Partial<Sampling>;
	/** Default: `lines`. */
	readonly split?: StepSplit;
	/** Default: `<think>`, `<answer>`. */
	readonly tags?: TraceTags;
	/** Search budget. When continuing, it applies only to the new part. */
	readonly budget?: SearchBudget;
	/** Maximum number of policy requests in flight. Default: 8. */
	readonly concurrency?: number;
	readonly seed?: number;
	/** Monotonic clock in milliseconds, such as `performance.now`. */
	readonly now: () => number;
	/** Called in order for every event after it is applied to the tree. An exception ends the search and is rethrown. */
	readonly onEvent?: (event: TreeEvent) => void;
	/** Periodically yields to other work in the process; null if no yield is due. */
	readonly breathe?: () => Promise<void> | null;
	/** Checked before each operator; `SearchHandle.stop` is faster. */
	readonly signal?: AbortSignalLike;
	/** Data needed to continue the search, written to the log. */
	readonly spec?: unknown;
	/** Log of a search to continue. */
	readonly resume?: SearchResume;
	/** Returns whether two answers are equal. Default: `equivalentAnswers`, which has no time limit. */
	readonly sameAnswer?: (a: string, b: string) => boolean;
}

export interface SearchResult {
	readonly outcome: SearchOutcome;
	/** Totals over all parts of the search. */
	readonly totals: Readonly<SearchTotals>;
	/** Details if the stop reason alone is not sufficient. */
	readonly message: string | null;
	/**
	 * Reason for the policy failure that ended the search; null if the search ended for another reason or the failure
	 * reason is unknown.
	 */
	readonly fault: Reason | null;
	readonly tree: SearchTree;
}

/** Why a search was ended externally. */
export type OutsideStop = 'stopped' | 'seconds';

export interface SearchHandle {
	/** Rejects with a `Failure` if the search cannot start (`invalid`, `unsupported`), and on programming errors. */
	readonly result: Promise<SearchResult>;
	/** Ends the search without waiting for requests in flight. Callers with their own timer pass `seconds`. */
	stop(reason?: OutsideStop): void;
}

export const defaultSampling: Sampling = { temperature: 1, topP: 1, maxTokens: 4096, maxStepTokens: 256, tokens: 0 };

/** Grace period after the time limit during which answers can still be compared mathematically. */
const graceSeconds = 2;

/** Begins a search. Its log gets an `end` event even if the policy or a scorer fails. */
export function beginSearch(options: SearchOptions): SearchHandle {
	const run = new SearchRun(options);
	return { result: run.run(), stop: (reason = 'stopped') => run.stop(new SearchStop(reason)) };
}

class SearchRun {
	readonly #options: SearchOptions;
	readonly #tree = new SearchTree();
	readonly #began: number;
	#totals: SearchTotals = { nodes: 0, tokens: 0, promptTokens: null, simulations: 0, cost: null, seconds: 0 };
	#before = 0;
	#operators: SearchOperators | null = null;
	#stop: SearchStop | null = null;
	#ended = false;

	constructor(options: SearchOptions) {
		this.#options = options;
		this.#began = options.now();
	}

	stop(stop: SearchStop): void {
		this.#stop ??= stop;
		this.#operators?.stop(this.#stop);
	}

	async run(): Promise<SearchResult> {
		const { resume, seed: givenSeed, sameAnswer } = this.#options;
		const strategy =
			typeof this.#options.strategy === 'string' ? strategyOf(this.#options.strategy) : this.#options.strategy;
		const params = strategyParams(strategy, this.#options.params);
		const rule = stepRuleOf(this.#options.split ?? 'lines', this.#options.tags ?? r1Tags);
		this.#checkNeeds(strategy, params, rule === null);
		const log = resume === undefined ? null : readLog(resume.events, this.#tree);
		if (log !== null) {
			this.#totals = log.totals;
			this.#before = log.totals.seconds;
		}
		const seed = givenSeed ?? this.#tree.start?.seed ?? 0;
		if (sameAnswer === undefined) await loadLatexParser();
		const root =
			resume === undefined
				? this.#start(strategy, params, seed)
				: this.#continuationEvents(resume, strategy, params, log);
		const operators = this.#makeOperators(root, rule, seed, log, partOf(resume, log));
		this.#operators = operators;
		if (this.#stop !== null) operators.stop(this.#stop);
		const made = this.#totals.nodes;
		let end: StrategyEnd | null = null;
		let stop: SearchStop | null = null;
		try {
			const none = Object.entries(this.#options.budget ?? {}).find(([, limit]) => limit === 0)?.[0];
			if (none !== undefined) throw new SearchStop(none as StopReason);
			// The user's text may already complete the node.
			end = this.#tree.node(root)?.final ? { stop: 'complete' } : await strategy.run(operators, params);
		} catch (error) {
			if (!(error instanceof SearchStop)) {
				operators.stop(new SearchStop('stopped'));
				throw error;
			}
			stop = error;
		}
		await operators.settled();
		if (stop === null && operators.cutShort !== null) stop = new SearchStop(operators.cutShort);
		if (stop === null && this.#totals.nodes === made && operators.lastFault !== null) {
			stop = new SearchStop('policy', operators.lastFault);
		}
		return this.#end(await this.#conclude(strategy, params, operators, end, stop), end?.stop ?? 'complete', stop);
	}

	#checkNeeds(strategy: AnyStrategy, params: unknown, wholeSteps: boolean): void {
		const { guide, judge, policy } = this.#options;
		const needs = needsOf(strategy, params);
		if (needs.scorer === 'step' && guide?.scope !== 'step') {
			throw new Failure(
				'invalid',
				`Strategy ${strategy.name} requires a guide that scores steps, but none is set.`,
				'Choose a guide that scores prefixes: process-reward, value, self-evaluation or mean-logprob.',
			);
		}
		if (needs.scorer === 'final' && (judge ?? guide ?? null) === null) {
			throw new Failure(
				'invalid',
				`Strategy ${strategy.name} selects completions by value, but no scorer is set.`,
				'Choose a judge, such as a reward.',
			);
		}
		for (const need of needs.policy ?? []) {
			if (has(policy.capabilities, need) || (need === 'prefix' && wholeSteps)) continue;
			throw need === 'prefix'
				? new Failure('unsupported', cannotGoOn(policy.name))
				: new Failure('unsupported', `Strategy ${strategy.name} requires ${needed[need]}.`, otherwise(strategy, need));
		}
	}

	#start(strategy: AnyStrategy, params: Record<string, unknown>, seed: number): number {
		const { id = '', problem, policy, model, guide, judge, budget = {}, spec } = this.#options;
		const scorers = [...new Set([guide, judge])].filter((one): one is Scorer => one !== null && one !== undefined);
		this.#emit({
			t: 'start',
			at: 0,
			format: treeLogFormat,
			id,
			strategy: strategy.name,
			params,
			problem,
			policy: model === undefined ? { name: policy.name } : { name: policy.name, model },
			scorers: scorers.map(({ name, oracle }) => ({ name, oracle })),
			budget,
			seed,
			backup: params.backup === 'max' ? 'max' : 'mean',
			structure: strategy.structure,
			...(spec === undefined ? {} : { spec }),
		});
		const { prompt } = problem;
		this.#emit({
			t: 'node',
			at: this.#at(),
			id: 0,
			parents: [],
			text: prompt,
			role: 'problem',
			final: false,
			answer: null,
			by: 'policy',
		});
		return 0;
	}

	#continuationEvents(
		resume: SearchResume,
		strategy: AnyStrategy,
		params: Record<string, unknown>,
		log: ReadLog | null,
	) {
		const { budget = {} } = this.#options;
		const same = this.#tree.start?.strategy === strategy.name;
		const events = continuationEvents(this.#tree, resume, log?.details ?? new Map(), {
			at: this.#at(),
			budget,
			...(same ? {} : { strategy: strategy.name }),
			params,
			tags: this.#options.tags ?? r1Tags,
		});
		for (const event of events) {
			this.#emit(event);
			if (event.t === 'node') this.#totals.nodes++;
		}
		const last = events.at(-1);
		return last?.t === 'node' ? last.id : (resume.node ?? 0);
	}

	#makeOperators(
		root: number,
		rule: ReturnType<typeof stepRuleOf>,
		seed: number,
		log: ReadLog | null,
		part: number,
	): SearchOperators {
		const { problem, policy, guide = null, judge, sampling, tags, budget = {}, concurrency, now } = this.#options;
		const atOnce = Math.max(1, Math.floor(concurrency ?? 8));
		return new SearchOperators({
			problem,
			tree: this.#tree,
			root,
			isCut: log?.isCut === true && this.#options.resume?.action === 'more',
			policy,
			guide,
			judge: judge ?? guide,
			sampling: { ...defaultSampling, ...sampling },
			tags: tags ?? r1Tags,
			rule,
			concurrency: atOnce,
			seed,
			meter: new BudgetMeter(budget, () => (now() - this.#began) / 1000, atOnce),
			totals: this.#totals,
			details: log?.details ?? new Map(),
			part,
			sameAnswer: this.#options.sameAnswer,
			emit: (event) => this.#emit(event),
			at: () => this.#at(),
			check: () => this.#check(),
			breathe: this.#options.breathe,
			hurried: () => this.#isHurried(),
		});
	}

	async #conclude(
		strategy: AnyStrategy,
		params: unknown,
		operators: SearchOperators,
		end: StrategyEnd | null,
		stop: SearchStop | null,
	): Promise<Conclusion> {
		if (end?.best !== undefined) return end;
		const conclude = async (evaluating: boolean): Promise<Conclusion> => {
			operators.conclude(evaluating);
			if (strategy.conclude !== undefined) return strategy.conclude(operators, params);
			const finals = await judgeFinals(operators);
			return chooser(operators) === null ? votedFinal(operators, finals, false) : bestFinal(operators, finals);
		};
		// Does not wait for scorers if the user stops the search. A failed scorer is not called again.
		if (stop !== null && !isBudget(stop.reason)) return conclude(false);
		try {
			return await conclude(true);
		} catch (error) {
			if (!(error instanceof SearchStop)) throw error;
			this.#stop ??= error;
			return conclude(false);
		}
	}

	#end(conclusion: Conclusion, completed: StopReason, stop: SearchStop | null): SearchResult {
		// Includes a stop that arrived while the result was being selected.
		const ended = stop ?? this.#stop;
		const best = conclusion.best ?? null;
		const node = best === null ? undefined : this.#tree.node(best);
		const outcome: SearchOutcome = {
			best: best === null ? null : this.#tree.pathTo(best),
			answer: conclusion.answer === undefined ? (node?.answer ?? null) : conclusion.answer,
			value: conclusion.value ?? null,
			stop: ended?.reason ?? completed,
		};
		const message = ended === null || ended.message === '' ? null : ended.message;
		this.#totals.seconds = this.#at();
		const { tokens, promptTokens, simulations, cost, seconds } = this.#totals;
		this.#emit({
			t: 'end',
			at: seconds,
			best: outcome.best as number[] | null,
			answer: outcome.answer,
			value: outcome.value,
			stop: outcome.stop,
			tokens,
			promptTokens,
			simulations,
			cost,
			seconds,
			correct: this.#isCorrect(outcome.answer),
			...(message === null ? {} : { message }),
		});
		this.#ended = true;
		const fault = outcome.stop === 'policy' ? (this.#operators?.lastReason ?? null) : null;
		return { outcome, totals: this.#totals, message, fault, tree: this.#tree };
	}

	/** null if there is no gold answer. */
	#isCorrect(answer: string | null): boolean | null {
		const { problem, sameAnswer = equivalentAnswers } = this.#options;
		if (problem.answer === null) return null;
		return answer !== null && sameAnswer(problem.answer, answer);
	}

	#emit(event: TreeEvent): void {
		if (this.#ended) return;
		this.#tree.apply(event);
		this.#options.onEvent?.(event);
	}

	#at(): number {
		return this.#before + (this.#options.now() - this.#began) / 1000;
	}

	/** Returns whether the search was stopped, or the grace period after its time limit has passed. */
	#isHurried(): boolean {
		const { seconds = Number.POSITIVE_INFINITY } = this.#options.budget ?? {};
		return this.#stop?.reason === 'stopped' || (this.#options.now() - this.#began) / 1000 > seconds + graceSeconds;
	}

	#check(): void {
		if (this.#stop === null && this.#options.signal?.aborted) this.stop(new SearchStop('stopped'));
		if (this.#stop !== null) throw this.#stop;
	}
}

/**
 * Returns the index of the new part in the log: 0 for a new search or for one continued from an interrupted log.
 * Repeating a request in a different part produces different text.
 */
const partOf = (resume: SearchResume | undefined, log: ReadLog | null): number =>
	(log?.parts ?? 0) + (resume === undefined || resume.action === 'more' ? 0 : 1);

const has = (capabilities: PolicyCapabilities, need: keyof PolicyCapabilities): boolean => {
	const value = capabilities[need];
	return typeof value === 'boolean' ? value : typeof value === 'number' ? value > 0 : value.length > 0;
};

/**
 * Suggests what to do if the policy lacks a capability. Some capabilities are unnecessary with different parameters.
 */
const otherwise = (strategy: AnyStrategy, need: keyof PolicyCapabilities): string =>
	strategy.needs.policy?.includes(need)
		? 'Choose a different policy.'
		: 'Choose a different policy, or choose strategy parameters that do not require this capability.';

const needed: Readonly<Record<keyof PolicyCapabilities, string>> = {
	logprobs: 'a policy that returns token log-probabilities',
	alternatives: 'a policy that returns alternatives for each token',
	distribution: 'a policy that returns distribution statistics for each token',
	prefix: 'a policy that can continue a given prefix',
	seed: 'a policy with reproducible sampling (the same seed gives the same text)',
	instructions: 'a policy that follows instructions',
	score: 'a policy that returns the log-probability of existing text',
	heads: 'a policy with a value head',
};
