import * as v from 'valibot';
import type { ComparisonPlan, ComparisonPoint } from '../../core/search/comparison/comparisonPlan.ts';
import { r1Tags, type TraceTags } from '../../core/trace/trace.ts';
import { type SearchSpec, type SearchSpecInput, searchSpecSchema } from '../../protocol/searchSpec.ts';
import type { ComparisonSpec, ComparisonSummary } from '../../protocol/strategyComparison.ts';
import type { OpenEpisodes } from '../episodes/openEpisodes.ts';
import { OpenSearch } from '../openSearch.ts';
import type { ProblemFault } from '../problemSet.ts';
import { openScorer } from '../scorers/openScorer.ts';
import type { OpenScorer } from '../scorers/scorerContext.ts';
import type { SearchContext } from '../searchContext.ts';

export interface ComparisonProgress {
	/** Number of finished searches, and the total. */
	readonly done: number;
	readonly total: number;
	readonly tokens: number;
	readonly seconds: number;
}

export interface CompareOptions {
	readonly spec: ComparisonSpec;
	/** Comparison folder, created if missing; an existing comparison is continued. */
	readonly folder: string;
	readonly context: SearchContext;
	/** Ends the comparison with the results so far; it can be continued later. */
	readonly signal?: AbortSignal;
	/** Called after each finished search. */
	readonly onProgress?: (progress: ComparisonProgress) => void;
	/** Called for each problem that is skipped because it cannot be read. */
	readonly onFault?: (fault: ProblemFault) => void;
	/** Called after each summary is written. */
	readonly onSummary?: (summary: ComparisonSummary) => void;
	/** Interval between summaries during the comparison, in milliseconds. Default 5000. */
	readonly summaryMs?: number;
}

export interface Searches {
	readonly policy: string;
	readonly tags: TraceTags;
	readonly samples: OpenSearch;
	readonly scorers: readonly OpenScorer[];
	/** Searches, keyed by the strategy's index in the specification. */
	readonly strategies: ReadonlyMap<number, OpenSearch>;
	dispose(): void;
}

/**
 * Opens the policy and every scorer that the specification names, each only once.
 * @param episodes the specification's environment, already open; null if there is none
 */
export async function openSearches(
	{ spec, context, signal }: CompareOptions,
	plan: ComparisonPlan,
	episodes: OpenEpisodes | null,
): Promise<Searches> {
	const opened: { dispose(): void }[] = [];
	const keep = <T extends { dispose(): void }>(one: T): T => {
		opened.push(one);
		return one;
	};
	const dispose = () => {
		for (const one of opened.toReversed()) one.dispose();
	};
	try {
		const open = (of: SearchSpec) => OpenSearch.open(of, context, signal, episodes);
		const samples = keep(await open(samplingSpec(spec, plan)));
		const scorers: OpenScorer[] = [];
		for (const scorer of plan.sampleScorers) {
			const of = { policy: samples.policy, search: context, spec: samples.spec };
			const played = scorer.use === 'environment' ? samples.environmentScorer : null;
			scorers.push(keep(played ?? (await openScorer(scorer, of, signal))));
		}
		const strategies = new Map<number, OpenSearch>();
		for (const point of plan.points) {
			if (point.shared !== null || strategies.has(point.strategy)) continue;
			strategies.set(point.strategy, keep(await open(strategySpec(spec, point))));
		}
		const tags = spec.tags ?? samples.policy.tags ?? r1Tags;
		return { policy: samples.policy.name, tags, samples, scorers, strategies, dispose };
	} catch (error) {
		dispose();
		throw error;
	}
}

function samplingSpec(spec: ComparisonSpec, plan: ComparisonPlan): SearchSpec {
	return searchSpec(spec, { strategy: 'self-consistency', params: { n: plan.samples } });
}

function strategySpec(
	spec: ComparisonSpec,
	{ definition, params, guide, judge, strategy }: ComparisonPoint,
): SearchSpec {
	const split = spec.strategies[strategy]?.split ?? spec.split;
	return searchSpec(spec, { split, strategy: definition.name, params: { ...params }, guide, judge });
}

function searchSpec(
	spec: ComparisonSpec,
	own: Pick<SearchSpecInput, 'strategy'> & Partial<SearchSpecInput>,
): SearchSpec {
	const { policy, sampling, split, tags, concurrency, seed, environment } = spec;
	const given = { ...(tags === undefined ? {} : { tags }), ...(environment === undefined ? {} : { environment }) };
	const all = { policy, sampling, split, ...given, concurrency, seed, ...own };
	return v.parse(searchSpecSchema, all);
}
