import { setTimeout as delay } from 'node:timers/promises';
import { Disposable, type IDisposable } from '../base/disposable.ts';
import type { SearchResume } from '../core/search/continueSearch.ts';
import type { GenerateRequest, Policy } from '../core/search/policy.ts';
import type { Scorer } from '../core/search/scorer.ts';
import { beginSearch, type OutsideStop, type SearchHandle, type SearchResult } from '../core/search/searchRun.ts';
import { reflexion } from '../core/search/strategies/reflexion.ts';
import { type AnyStrategy, strategyOf, strategyParams } from '../core/search/strategies.ts';
import type { GeneratedText, OpenPolicy } from '../policies/openedPolicy.ts';
import type { EnvironmentDescription } from '../protocol/environmentHost.ts';
import type { SearchSpec } from '../protocol/searchSpec.ts';
import type { SearchBudget, SearchProblem, TreeEvent } from '../protocol/treeLog.ts';
import type { OpenEpisodes } from './episodes/openEpisodes.ts';
import { SearchEpisodes } from './episodes/searchEpisodes.ts';
import type { PolicyLease } from './policyPool.ts';
import { openScorer } from './scorers/openScorer.ts';
import type { OpenScorer } from './scorers/scorerContext.ts';
import { absoluteSpec, type SearchContext } from './searchContext.ts';
import { type OpenTools, openTools } from './tools/openTools.ts';

export interface RunOptions {
	readonly problem: SearchProblem;
	/** Id of the search in its log. */
	readonly id?: string;
	/** Receives every event in order; an exception ends the search. */
	readonly onEvent?: (event: TreeEvent) => void;
	/** Receives text as it is generated. */
	readonly onText?: (text: GeneratedText) => void;
	readonly signal?: AbortSignal;
	readonly resume?: SearchResume;
	/** Overrides the budget in the specification. */
	readonly budget?: SearchBudget;
	readonly seed?: number;
	readonly spec?: Partial<Pick<SearchSpec, 'strategy' | 'params' | 'sampling' | 'split' | 'concurrency'>>;
	/** Custom strategy to use instead of the one in the specification. */
	readonly strategy?: AnyStrategy;
	/** Wraps the policy; all of the search's calls go through the wrapper. */
	readonly wrap?: (policy: Policy) => Policy;
	/** Returns whether two answers are equal; default: mathematical equivalence. */
	readonly sameAnswer?: (a: string, b: string) => boolean;
	/** Awaited before each policy call, to slow down a search that is faster than its log writer. */
	readonly beforeCall?: () => Promise<void> | undefined;
}

export interface RunHandle {
	/** Rejects in the same cases as `beginSearch`, and with any exception thrown by `onEvent`. */
	readonly result: Promise<SearchResult>;
	/** Stops the search and cancels pending work. */
	stop(reason?: OutsideStop): void;
}

/** Name of the strategy that uses tools. */
const agent = reflexion().name;

/**
 * Maximum time a search can occupy the event loop before it yields, in milliseconds. Needed because a search whose
 * policy answers immediately would otherwise never yield.
 */
const stretchMs = 15;

/** How long scorers can take to score existing nodes after the search's time is up, in milliseconds. */
const graceMs = 10_000;

/**
 * A search specification together with its opened policy and scorers. It can be used for any number of problems, in
 * sequence or concurrently. The owner must dispose of it.
 */
export class OpenSearch extends Disposable {
	/** The specification, with absolute paths. */
	readonly spec: SearchSpec;
	readonly policy: OpenPolicy;
	readonly guide: OpenScorer | null;
	readonly judge: OpenScorer | null;
	readonly #lease: PolicyLease;
	/** The agent's tools; null if the strategy is not an agent. */
	readonly #tools: OpenTools | null;
	/** The environment; null unless the search is over episodes. */
	readonly #episodes: SearchEpisodes | null;

	private constructor(
		spec: SearchSpec,
		lease: PolicyLease,
		guide: OpenScorer | null,
		judge: OpenScorer | null,
		tools: OpenTools | null,
		episodes: SearchEpisodes | null,
	) {
		super();
		this.spec = spec;
		this.policy = lease.policy;
		this.guide = guide;
		this.judge = judge;
		this.#tools = tools;
		this.#episodes = episodes;
		this.#lease = this.register(lease);
		if (guide !== null) this.register(guide);
		if (judge !== null) this.register(judge);
		if (episodes !== null) this.register(episodes);
	}

	/**
	 * Fails with `invalid` for an invalid strategy or invalid parameters, and with the same errors as `openPolicy`,
	 * `openScorer` and `openTools`; on failure, nothing is left open.
	 * @param shared the specification's environment, if several searches use it. The caller disposes of it
	 */
	static async open(
		given: SearchSpec,
		context: SearchContext,
		signal?: AbortSignal,
		shared: OpenEpisodes | null = null,
	): Promise<OpenSearch> {
		strategyParams(strategyOf(given.strategy), given.params);
		const spec = absoluteSpec(given, context.policies.folder);
		const environment = { ...context.policies.environment, ...context.environment };
		const tools = spec.strategy === agent ? await openTools(spec.tools, { environment }) : null;
		const lease = await context.pool.lease(spec.policy, {
			...context.policies,
			...(signal === undefined ? {} : { signal }),
		});
		const opened: IDisposable[] = [];
		let episodes: SearchEpisodes | null = null;
		const open = async (scorer: SearchSpec['guide']) => {
			if (scorer === null) return null;
			if (scorer.use === 'environment' && episodes !== null) return episodes.scorer;
			const one = await openScorer(scorer, { policy: lease.policy, search: context, spec }, signal);
			opened.push(one);
			return one;
		};
		try {
			episodes = await SearchEpisodes.open(spec, lease.policy, context, shared);
			if (episodes !== null) opened.push(episodes);
			const guide = await open(spec.guide);
			return new OpenSearch(spec, lease, guide, await open(spec.judge), tools, episodes);
		} catch (error) {
			for (const one of opened) one.dispose();
			lease.dispose();
			throw error;
		}
	}

	/** The environment of a search over episodes; null for other searches. */
	get environment(): EnvironmentDescription | null {
		return this.#episodes?.description ?? null;
	}

	/** Returns the scorer that scores episodes by the environment's reward; null unless the search is over episodes. */
	get environmentScorer(): OpenScorer | null {
		return this.#episodes?.scorer ?? null;
	}

	/** Discards a broken policy, so that the next caller gets a new one. */
	discardPolicy(): void {
		this.#lease.discard();
	}

	/**
	 * Returns a problem in the form a search over episodes needs: with the text that the environment's `reset` returns for
	 * its row. Other problems are returned unchanged. Throws SearchStop if `reset` fails.
	 */
	async pose(problem: SearchProblem): Promise<SearchProblem> {
		return (await this.#episodes?.pose(problem)) ?? problem;
	}

	/**
	 * Returns the strategy to run. An agent receives the opened tools, whose calls are canceled together with the
	 * search.
	 */
	#strategyOf(name: string, signal: AbortSignal): string | AnyStrategy {
		return name === agent && this.#tools !== null ? reflexion(this.#tools.bind({ signal })) : name;
	}

	run(options: RunOptions): RunHandle {
		const { policy } = this;
		const spec: SearchSpec = { ...this.spec, ...options.spec };
		const cancel = new AbortController();
		const bound = policy.bind({
			signal: cancel.signal,
			// The turns of an episode are requested in parts, which do not appear in the tree.
			...(options.onText === undefined || this.#episodes !== null ? {} : { onText: options.onText }),
		});
		const scoring = new AbortController();
		const scorerOf = (scorer: OpenScorer | null): Scorer | null => scorer?.bind({ signal: scoring.signal }) ?? null;
		const guide = scorerOf(this.guide);
		const judge = spec.judge === null ? guide : apartFrom(guide, scorerOf(this.judge));
		const budget = options.budget ?? spec.budget;
		const { maxTokens = tokenLimit(policy.context), ...sampling } = spec.sampling;
		// Some scorers need token data.
		const tokens = Math.max(sampling.tokens, this.guide?.tokens ?? 0, this.judge?.tokens ?? 0);
		const tags = this.#episodes?.tags ?? spec.tags ?? policy.tags;
		const breathe = breathing(options.beforeCall);
		const unhurriedPolicy = unhurried(options.wrap?.(bound) ?? bound, breathe, options.beforeCall);
		const split = this.#episodes !== null && spec.split !== 'completion' ? 'turns' : spec.split;
		const handle: SearchHandle = beginSearch({
			id: options.id ?? '',
			strategy: options.strategy ?? this.#strategyOf(spec.strategy, cancel.signal),
			params: spec.params,
			problem: options.problem,
			policy: this.#episodes?.bind(unhurriedPolicy, options.problem, cancel.signal) ?? unhurriedPolicy,
			breathe,
			model: policy.model,
			guide,
			judge,
			sampling: { ...sampling, maxTokens, tokens },
			split: split as NonNullable<Parameters<typeof beginSearch>[0]['split']>,
			...(tags === null ? {} : { tags }),
			budget,
			concurrency: spec.concurrency,
			seed: options.seed ?? spec.seed,
			now: () => performance.now(),
			spec,
			...(options.sameAnswer === undefined ? {} : { sameAnswer: options.sameAnswer }),
			...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
			...(options.resume === undefined ? {} : { resume: options.resume }),
		});
		const ended = new AbortController();
		const afterwards = (ms: number, then: () => void) => {
			delay(ms, undefined, { signal: ended.signal, ref: false }).then(then, () => undefined);
		};
		const stop = (reason: OutsideStop = 'stopped') => {
			handle.stop(reason);
			cancel.abort();
			// When the time is up, existing nodes are still scored, so that the best one can be selected.
			if (reason === 'stopped') scoring.abort();
			else afterwards(graceMs, () => scoring.abort());
		};
		const abort = () => stop();
		if (options.signal?.aborted) abort();
		options.signal?.addEventListener('abort', abort, { once: true });
		if (budget.seconds !== undefined) {
			// setTimeout treats delays above 2^31 - 1 ms as no delay at all, so longer limits are capped (at 24 days).
			afterwards(Math.min(budget.seconds * 1000, 2 ** 31 - 1), () => stop('seconds'));
		}
		const result = handle.result.finally(() => {
			ended.abort();
			// Stop waiting for pending requests.
			cancel.abort();
			scoring.abort();
			options.signal?.removeEventListener('abort', abort);
		});
		result.catch(() => undefined);
		return { result, stop };
	}
}

/** Gives the judge a distinct name, because values are stored by scorer name and the guide may have the same name. */
function apartFrom(guide: Scorer | null, judge: Scorer | null): Scorer | null {
	if (judge === null || judge.name !== guide?.name) return judge;
	const { scope, oracle } = judge;
	return { name: `${judge.name} (judge)`, scope, oracle, score: (items) => judge.score(items) };
}

/** Returns the default length of a completion in tokens: what the context allows, up to a reasonable limit. */
export function tokenLimit(context: number | null): number {
	return Math.min(4096, context ?? 4096);
}

/** Yields after the search has run for a while, so that other work can run and the search's output can be flushed. */
function breathing(beforeCall: RunOptions['beforeCall']): () => Promise<void> | null {
	let last = performance.now();
	const breath = async () => {
		await new Promise((resolve) => setImmediate(resolve));
		await beforeCall?.();
		last = performance.now();
	};
	return () => (performance.now() - last > stretchMs ? breath() : null);
}

/** Yields between calls if a policy answers without waiting for anything. */
function unhurried(policy: Policy, breathe: () => Promise<void> | null, beforeCall: RunOptions['beforeCall']): Policy {
	return {
		name: policy.name,
		capabilities: policy.capabilities,
		async generate(requests: readonly GenerateRequest[]) {
			await (breathe() ?? beforeCall?.());
			return policy.generate(requests);
		},
		...(policy.score === undefined ? {} : { score: policy.score.bind(policy) }),
		...(policy.value === undefined ? {} : { value: policy.value.bind(policy) }),
	};
}
