import { setTimeout as delay } from 'node:timers/promises';
import { Disposable } from '../base/disposable.ts';
import type { SearchResume } from '../core/search/continueSearch.ts';
import type { GenerateRequest, Policy } from '../core/search/policy.ts';
import type { Scorer } from '../core/search/scorer.ts';
import { beginSearch, type OutsideStop, type SearchHandle, type SearchResult } from '../core/search/searchRun.ts';
import { reflexion } from '../core/search/strategies/reflexion.ts';
import { type AnyStrategy, strategyOf, strategyParams } from '../core/search/strategies.ts';
import type { GeneratedText, OpenPolicy } from '../policies/openedPolicy.ts';
import type { SearchSpec } from '../protocol/searchSpec.ts';
import type { SearchBudget, SearchProblem, TreeEvent } from '../protocol/treeLog.ts';
import type { PolicyLease } from './policyPool.ts';
import { openScorer } from './scorers/openScorer.ts';
import type { OpenScorer } from './scorers/scorerContext.ts';
import { absoluteSpec, type SearchContext } from './searchContext.ts';
import { type OpenTools, openTools } from './tools/openTools.ts';

export interface RunOptions {
	readonly problem: SearchProblem;
	/** Of the search, in its log. */
	readonly id?: string;
	/** Every event in its order; what it throws ends the search. */
	readonly onEvent?: (event: TreeEvent) => void;
	/** Hears texts while they are written. */
	readonly onText?: (text: GeneratedText) => void;
	readonly signal?: AbortSignal;
	readonly resume?: SearchResume;
	/** Instead of the specification's. */
	readonly budget?: SearchBudget;
	readonly seed?: number;
	readonly spec?: Partial<Pick<SearchSpec, 'strategy' | 'params' | 'sampling' | 'split' | 'concurrency'>>;
	/** A strategy that has no name, in its place. */
	readonly strategy?: AnyStrategy;
	/** What the search asks of the policy goes through it. */
	readonly wrap?: (policy: Policy) => Policy;
	/** Whether two answers are the same; default: by mathematics. */
	readonly sameAnswer?: (a: string, b: string) => boolean;
	/** Is awaited before each call of the policy: holds a search up that is faster than who writes it down. */
	readonly beforeCall?: () => Promise<void> | undefined;
}

export interface RunHandle {
	/** Rejects as `beginSearch`, and with what `onEvent` has thrown. */
	readonly result: Promise<SearchResult>;
	/** Ends the search; what is under way is cancelled. */
	stop(reason?: OutsideStop): void;
}

/** The strategy that has tools. */
const agent = reflexion().name;

/** How long a search may keep the event loop to itself, in milliseconds: a policy that answers at once never lets go of it. */
const stretchMs = 15;

/** How long scorers may take to value what there is when the time of a search is over, in milliseconds. */
const graceMs = 10_000;

/**
 * A search's specification with all that it names opened: policy and scorers. Any number of problems can be run with it, one
 * after the other or at a time. Who has it disposes of it.
 */
export class OpenSearch extends Disposable {
	/** Its paths are absolute. */
	readonly spec: SearchSpec;
	readonly policy: OpenPolicy;
	readonly guide: OpenScorer | null;
	readonly judge: OpenScorer | null;
	readonly #lease: PolicyLease;
	/** Of an agent; null: the strategy is none. */
	readonly #tools: OpenTools | null;

	private constructor(
		spec: SearchSpec,
		lease: PolicyLease,
		guide: OpenScorer | null,
		judge: OpenScorer | null,
		tools: OpenTools | null,
	) {
		super();
		this.spec = spec;
		this.policy = lease.policy;
		this.guide = guide;
		this.judge = judge;
		this.#tools = tools;
		this.#lease = this.register(lease);
		if (guide !== null) this.register(guide);
		if (judge !== null) this.register(judge);
	}

	/**
	 * Fails with `invalid` for a strategy or parameters that are not right, and as `openPolicy`, `openScorer` and `openTools` do;
	 * nothing is left open then.
	 */
	static async open(given: SearchSpec, context: SearchContext, signal?: AbortSignal): Promise<OpenSearch> {
		strategyParams(strategyOf(given.strategy), given.params);
		const spec = absoluteSpec(given, context.policies.folder);
		const environment = { ...context.policies.environment, ...context.environment };
		const tools = spec.strategy === agent ? await openTools(spec.tools, { environment }) : null;
		const lease = await context.pool.lease(spec.policy, {
			...context.policies,
			...(signal === undefined ? {} : { signal }),
		});
		const opened: OpenScorer[] = [];
		const open = async (scorer: SearchSpec['guide']) => {
			if (scorer === null) return null;
			const one = await openScorer(scorer, { policy: lease.policy, search: context, spec }, signal);
			opened.push(one);
			return one;
		};
		try {
			const guide = await open(spec.guide);
			return new OpenSearch(spec, lease, guide, await open(spec.judge), tools);
		} catch (error) {
			for (const one of opened) one.dispose();
			lease.dispose();
			throw error;
		}
	}

	/** The policy is out of order: who opens it next gets a new one. */
	discardPolicy(): void {
		this.#lease.discard();
	}

	/** An agent has the tools that were opened; they end with the search. */
	#strategyOf(name: string, signal: AbortSignal): string | AnyStrategy {
		return name === agent && this.#tools !== null ? reflexion(this.#tools.bind({ signal })) : name;
	}

	run(options: RunOptions): RunHandle {
		const { policy } = this;
		const spec: SearchSpec = { ...this.spec, ...options.spec };
		const cancel = new AbortController();
		const bound = policy.bind({
			signal: cancel.signal,
			...(options.onText === undefined ? {} : { onText: options.onText }),
		});
		const scoring = new AbortController();
		const scorerOf = (scorer: OpenScorer | null): Scorer | null => scorer?.bind({ signal: scoring.signal }) ?? null;
		const guide = scorerOf(this.guide);
		const judge = spec.judge === null ? guide : apartFrom(guide, scorerOf(this.judge));
		const budget = options.budget ?? spec.budget;
		const { maxTokens = mostTokens(policy.context), ...sampling } = spec.sampling;
		// Some scorers look at tokens.
		const tokens = Math.max(sampling.tokens, this.guide?.tokens ?? 0, this.judge?.tokens ?? 0);
		const tags = spec.tags ?? policy.tags;
		const breathe = breathing(options.beforeCall);
		const handle: SearchHandle = beginSearch({
			id: options.id ?? '',
			strategy: options.strategy ?? this.#strategyOf(spec.strategy, cancel.signal),
			params: spec.params,
			problem: options.problem,
			policy: unhurried(options.wrap?.(bound) ?? bound, breathe, options.beforeCall),
			breathe,
			model: policy.model,
			guide,
			judge,
			sampling: { ...sampling, maxTokens, tokens },
			split: spec.split as NonNullable<Parameters<typeof beginSearch>[0]['split']>,
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
			// When the time is over, what there is is still valued, so that the best of it can be the result.
			if (reason === 'stopped') scoring.abort();
			else afterwards(graceMs, () => scoring.abort());
		};
		const abort = () => stop();
		if (options.signal?.aborted) abort();
		options.signal?.addEventListener('abort', abort, { once: true });
		if (budget.seconds !== undefined) {
			// Longer ones would be cut to nothing by the timer; nobody waits for them.
			afterwards(Math.min(budget.seconds * 1000, 2 ** 31 - 1), () => stop('seconds'));
		}
		const result = handle.result.finally(() => {
			ended.abort();
			// Nothing that was asked for is waited for any more.
			cancel.abort();
			scoring.abort();
			options.signal?.removeEventListener('abort', abort);
		});
		result.catch(() => undefined);
		return { result, stop };
	}
}

/** Values are known by their scorer's name: that of a judge is another one than that of a guide, whatever they are called. */
function apartFrom(guide: Scorer | null, judge: Scorer | null): Scorer | null {
	if (judge === null || judge.name !== guide?.name) return judge;
	const { scope, oracle } = judge;
	return { name: `${judge.name} (judge)`, scope, oracle, score: (items) => judge.score(items) };
}

/** Tokens of a completion where nobody says: what the context allows, within reason. */
export function mostTokens(context: number | null): number {
	return Math.min(4096, context ?? 4096);
}

/** Lets other work of the process in after a stretch of the search's own, and what it wrote get away. */
function breathing(beforeCall: RunOptions['beforeCall']): () => Promise<void> | null {
	let last = performance.now();
	const breath = async () => {
		await new Promise((resolve) => setImmediate(resolve));
		await beforeCall?.();
		last = performance.now();
	};
	return () => (performance.now() - last > stretchMs ? breath() : null);
}

/** Breathes between calls, where a policy answers without waiting for anything. */
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
