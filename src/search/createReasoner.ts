import { Failure } from '../base/failure.ts';
import type { Policy, PolicyCapabilities, TokenDetail } from '../core/search/policy.ts';
import type { SearchResult } from '../core/search/searchRun.ts';
import type { SearchTree } from '../core/search/searchTree.ts';
import { type AnyStrategy, strategies, strategyOf, strategyParams } from '../core/search/strategies.ts';
import { needsOf } from '../core/search/strategy.ts';
import { r1Tags, type TraceTags } from '../core/trace/trace.ts';
import type { OfferedTools, PolicyTokenizer } from '../policies/openedPolicy.ts';
import type { SearchSpec } from '../protocol/searchSpec.ts';
import type { SearchBudget, SearchProblem, TreeEvent } from '../protocol/treeLog.ts';
import { OpenSearch, tokenLimit } from './openSearch.ts';
import { withHistory, withSchema } from './policyHistory.ts';
import type { SearchContext } from './searchContext.ts';
import type { CalledTools, OfferedStrategy, Reasoner, Solution, SolutionStep, SolveOptions } from './serve/reasoner.ts';
import { startedWith } from './startedWith.ts';

export interface ReasonerOptions {
	/** Policy, strategy, scorers, sampling and budget, used wherever a problem does not override them. */
	readonly spec: SearchSpec;
	readonly context: SearchContext;
	/** Cancels opening the policy and the scorers. */
	readonly signal?: AbortSignal;
}

const thinkTags = ['<think>', '</think>'] as const;
/** Maximum timer delay, in seconds. */
const maxSeconds = 2_000_000;

/**
 * Opens a policy and its scorers, and solves problems with any strategy that they support. Used by `solve` and the
 * Reasoner API. Fails with `unsupported` for an environment, and with the same errors as `OpenSearch.open`.
 */
export async function createReasoner({ spec, context, signal }: ReasonerOptions): Promise<Reasoner> {
	if (spec.environment !== undefined) {
		throw new Failure(
			'unsupported',
			'Problems given as text do not have a dataset row for an environment.',
			'Use search.',
		);
	}
	const search = await OpenSearch.open(spec, context, signal);
	try {
		return new SearchReasoner(search);
	} catch (error) {
		search.dispose();
		throw error;
	}
}

class SearchReasoner implements Reasoner {
	readonly name: string;
	readonly model: string;
	readonly capabilities: PolicyCapabilities;
	readonly tags: TraceTags;
	readonly strategy: string;
	readonly strategies: readonly OfferedStrategy[];
	readonly budget: SearchBudget;
	readonly schemas: boolean;
	readonly tokenizer: PolicyTokenizer | null;
	readonly read: Reasoner['read'];
	readonly tools: boolean;
	readonly #search: OpenSearch;

	constructor(search: OpenSearch) {
		const { spec, policy } = search;
		this.#search = search;
		this.name = policy.name;
		this.model = policy.model;
		this.capabilities = policy.capabilities;
		this.tags = spec.tags ?? policy.tags ?? r1Tags;
		this.strategy = spec.strategy;
		this.budget = spec.budget;
		this.schemas = policy.schemas ?? false;
		this.tokenizer = policy.tokenizer ?? null;
		this.read = policy.read ?? null;
		this.tools = policy.callTools !== undefined;
		this.#require(strategyOf(spec.strategy), strategyParams(strategyOf(spec.strategy), spec.params));
		this.strategies = strategies
			.filter((one) => this.#lacks(one, this.#defaults(one)) === null)
			.map(({ name, title, description }) => ({ name, title, description }));
	}

	check(options: SolveOptions) {
		const { strategy, params } = this.#checked(options);
		return { strategy: strategy.name, streams: streaming(strategy, params) !== null };
	}

	async solve(problem: SearchProblem, options: SolveOptions = {}): Promise<Solution> {
		const { strategy, params, budget } = this.#checked(options);
		const { spec } = this.#search;
		const seed = options.seed ?? spec.seed;
		const how = options.onText === undefined ? null : streaming(strategy, params);
		const chain = how === 'nodes' ? new ChainText(options.onText as (text: string) => void) : null;
		const { history = [], exchange = [], onText, onEvent, prefill = '', schema, alternatives } = options;
		const details = new Map<number, TokenDetail>();
		const tokens = alternatives === undefined ? spec.sampling.tokens : Math.max(1, alternatives);
		const wraps = [
			...(history.length + exchange.length === 0
				? []
				: [(policy: Policy) => withHistory(policy, { history, problem: problem.prompt, exchange })]),
			...(schema === undefined ? [] : [(policy: Policy) => withSchema(policy, schema)]),
		];
		const started =
			prefill === ''
				? null
				: startedWith(problem, prefill, { policy: this.name, strategy: strategy.name, seed, budget });
		for (const event of started?.events ?? []) onEvent?.(event);
		const run = this.#search.run({
			problem,
			budget,
			seed,
			spec: { strategy: strategy.name, params, sampling: { ...spec.sampling, ...options.sampling, tokens } },
			...(started === null ? {} : { resume: started }),
			...(options.signal === undefined ? {} : { signal: options.signal }),
			...(wraps.length === 0 ? {} : { wrap: (policy) => wraps.reduce((inner, wrap) => wrap(inner), policy) }),
			...(how === 'tokens' ? { onText: ({ text }) => onText?.(text) } : {}),
			onEvent: (event) => {
				chain?.hear(event);
				if (event.t === 'tokens') details.set(event.id, event as TokenDetail & typeof event);
				onEvent?.(event);
			},
		});
		const result = await run.result;
		if (result.outcome.stop === 'policy') this.#search.discardPolicy();
		return solutionOf(result, { strategy: strategy.name, params, seed }, details);
	}

	async callTools(problem: SearchProblem, offered: OfferedTools, options: SolveOptions = {}): Promise<CalledTools> {
		const { strategy, params, budget } = this.#checked(options);
		const { spec, policy } = this.#search;
		const { history = [], exchange = [], signal } = options;
		const { temperature, topP, maxTokens = tokenLimit(policy.context) } = { ...spec.sampling, ...options.sampling };
		if (policy.callTools === undefined) {
			throw new Failure('unsupported', `The policy ${this.name} does not support tool calls.`, 'Omit "tools".');
		}
		const seed = options.seed ?? spec.seed;
		const seconds = budget.seconds ?? maxSeconds;
		const late = AbortSignal.timeout(Math.min(seconds, maxSeconds) * 1000);
		const began = performance.now();
		try {
			const { calls, generation } = await policy.callTools(
				{
					...offered,
					messages: [...history, { role: 'user', content: problem.prompt }, ...exchange],
					...{ temperature, topP, seed },
					maxTokens: Math.max(1, Math.min(maxTokens, budget.tokens ?? maxTokens)),
					think: this.tags.think ?? thinkTags,
				},
				signal === undefined ? late : AbortSignal.any([signal, late]),
			);
			const took = (performance.now() - began) / 1000;
			const { text, finish, tokens, promptTokens, cost = null } = generation;
			const used = { tokens, seconds: took, cost: cost ?? 0 };
			return {
				calls,
				solution: {
					...{ strategy: strategy.name, params, seed, completion: text, finish, tokens, promptTokens, cost },
					...{ answer: null, value: null, stop: 'complete', message: null, fault: null, detail: null },
					...{ nodes: 0, simulations: 0, seconds: took, path: [] },
				},
				left: {
					...budget,
					...Object.fromEntries(
						(['tokens', 'seconds', 'cost'] as const).flatMap((name) => {
							const limit = budget[name];
							return limit === undefined ? [] : [[name, Math.max(0, limit - used[name])]];
						}),
					),
				},
			};
		} catch (error) {
			if (!late.aborted || signal?.aborted === true) throw error;
			throw new Failure(
				'timeout',
				`The policy ${this.name} did not respond within ${seconds} s.`,
				'Increase the time limit.',
			);
		}
	}

	dispose(): void {
		this.#search.dispose();
	}

	#checked({ strategy: name, params: given, budget: asked = {}, history = [], exchange = [], ...how }: SolveOptions) {
		const { spec } = this.#search;
		const strategy = strategyOf(name ?? spec.strategy);
		// The specification's parameters apply only to its own strategy.
		const own = strategy.name === spec.strategy ? spec.params : {};
		const params = strategyParams(strategy, { ...own, ...given }) as Record<string, unknown>;
		this.#require(strategy, params);
		if (history.length + exchange.length > 0 && !this.capabilities.instructions) {
			throw new Failure(
				'invalid',
				`The policy ${this.name} accepts a single problem, not a conversation.`,
				'Send one message with role user, or use "serve --system-messages" to prepend or drop system messages.',
			);
		}
		const lacking =
			(how.prefill ?? '') !== '' && !this.capabilities.prefix
				? 'continue a prefix'
				: how.alternatives !== undefined && !this.capabilities.logprobs
					? 'report log-probabilities'
					: how.schema !== undefined && !this.schemas
						? 'follow a JSON Schema'
						: null;
		if (lacking !== null) {
			throw new Failure('unsupported', `The policy ${this.name} does not ${lacking}.`, 'Choose another policy.');
		}
		return { strategy, params, budget: this.#allowed(asked) };
	}

	/**
	 * Returns the allowed budget with the requested entries applied. Fails with `invalid` if an entry exceeds its
	 * maximum.
	 */
	#allowed(asked: SearchBudget): SearchBudget {
		const allowed: Record<string, number | undefined> = { ...this.budget };
		for (const [name, value] of Object.entries(asked)) {
			if (value === undefined) continue;
			const limit = allowed[name];
			if (limit !== undefined && value > limit) {
				throw new Failure('invalid', `The ${name} budget is ${value}; the maximum is ${limit}.`, 'Lower it.');
			}
			allowed[name] = value;
		}
		return allowed;
	}

	#defaults(strategy: AnyStrategy): unknown {
		return strategyParams(strategy, strategy.name === this.strategy ? this.#search.spec.params : {});
	}

	#require(strategy: AnyStrategy, params: unknown): void {
		const lacking = this.#lacks(strategy, params);
		if (lacking !== null) {
			throw new Failure('invalid', `The strategy ${strategy.name} needs ${lacking}.`, 'Choose another strategy.');
		}
	}

	/** Returns what the strategy needs but the request lacks; null if nothing is missing. */
	#lacks(strategy: AnyStrategy, params: unknown): string | null {
		const { guide, judge } = this.#search;
		const needs = needsOf(strategy, params);
		if (needs.scorer === 'final' && guide === null && judge === null) return 'a scorer';
		const scope = guide?.bind({ signal: new AbortController().signal }).scope;
		if (needs.scorer === 'step' && scope !== 'step') return 'a guide that scores prefixes';
		for (const need of needs.policy ?? []) {
			const value = this.capabilities[need];
			const there = typeof value === 'boolean' ? value : typeof value === 'number' ? value > 0 : value.length > 0;
			if (!there) return `a policy with ${need}`;
		}
		return null;
	}
}

/**
 * Returns how to stream a strategy whose completion only grows: token by token if it samples a single completion,
 * otherwise node by node. Returns null for all other strategies.
 */
function streaming(strategy: AnyStrategy, params: unknown): 'tokens' | 'nodes' | null {
	const { n } = params as { readonly n?: unknown };
	if ((strategy.name === 'best-of-n' || strategy.name === 'self-consistency') && n === 1) return 'tokens';
	return strategy.name === 'budget-forcing' ? 'nodes' : null;
}

/** Collects the text of a chain as its nodes arrive. */
class ChainText {
	readonly #onText: (text: string) => void;
	#tip = 0;

	constructor(onText: (text: string) => void) {
		this.#onText = onText;
	}

	hear(event: TreeEvent): void {
		// The client already has the prefix it provided.
		if (event.t === 'node' && event.by === 'person') this.#tip = event.id;
		if (event.t === 'node' && event.by === 'person') return;
		if (event.t !== 'node' || event.parents[0] !== this.#tip) return;
		this.#tip = event.id;
		if (event.text !== '') this.#onText(event.text);
	}
}

function solutionOf(
	{ outcome, totals, tree, message, fault }: SearchResult,
	of: Pick<Solution, 'strategy' | 'params' | 'seed'>,
	details: ReadonlyMap<number, TokenDetail>,
): Solution {
	const end = outcome.best?.at(-1);
	const node = end === undefined ? undefined : tree.node(end);
	const { nodes, tokens, promptTokens, simulations, seconds, cost } = totals;
	return {
		...of,
		completion: end === undefined ? '' : tree.textOf(end),
		answer: outcome.answer,
		value: outcome.value,
		stop: outcome.stop,
		finish: node?.finish ?? null,
		...{ nodes, tokens, promptTokens, simulations, seconds, cost, message, fault },
		detail: details.size === 0 || end === undefined ? null : detailOf(tree, end, details),
		path: (outcome.best ?? []).flatMap((id): SolutionStep[] => {
			const step = tree.node(id);
			if (step === undefined) return [];
			return [{ id, role: step.role, text: step.text, value: tree.q(id) ?? step.score, visits: step.visits }];
		}),
	};
}

/**
 * Returns the tokens on the path to a node, excluding any prefix provided by the client; null if no tokens were
 * reported.
 */
function detailOf(tree: SearchTree, end: number, details: ReadonlyMap<number, TokenDetail>): Solution['detail'] {
	const text: string[] = [];
	const logprob: (number | null)[] = [];
	const top: (readonly (readonly [string, number])[])[] = [];
	for (const part of tree.partsOf(end)) {
		const node = tree.node(part);
		if (node === undefined || node.parents.length === 0 || node.by === 'person') continue;
		// Text inserted by a strategy has no log-probability.
		const detail = details.get(part) ?? { text: [node.text], logprob: [null] };
		text.push(...detail.text);
		logprob.push(...detail.logprob);
		top.push(...(detail.top ?? detail.text.map(() => [])));
	}
	return { text, logprob, top };
}
