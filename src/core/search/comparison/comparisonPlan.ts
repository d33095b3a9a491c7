import { Failure } from '../../../base/failure.ts';
import type { ScorerSpec } from '../../../protocol/searchSpec.ts';
import type { ComparedStrategy, ComparisonSpec } from '../../../protocol/strategyComparison.ts';
import type { SearchBudget } from '../../../protocol/treeLog.ts';
import type { ScorerScope } from '../scorer.ts';
import { type AnyStrategy, strategyOf, strategyParams } from '../strategies.ts';
import { needsOf } from '../strategy.ts';
import { chooserName, scorerLabel } from './scorerLabel.ts';

/** How a configuration's result is computed from the independent samples. */
export interface SharedChoice {
	readonly how: 'best' | 'weighted' | 'majority';
	readonly k: number;
	/** Index of the selecting scorer in the plan's `sampleScorers`; null if there is none. */
	readonly scorer: number | null;
}

/** A strategy with specific parameters and a budget. */
export interface ComparisonPoint {
	/** Identifier in results and folder names. */
	readonly id: string;
	/** Index of the strategy in the specification. */
	readonly strategy: number;
	readonly definition: AnyStrategy;
	readonly name: string;
	readonly label: string;
	/** Validated parameters, including defaults. */
	readonly params: Readonly<Record<string, unknown>>;
	readonly budget: SearchBudget;
	readonly guide: ScorerSpec | null;
	readonly judge: ScorerSpec | null;
	readonly oracle: boolean;
	/** null if the result requires a separate search. */
	readonly shared: SharedChoice | null;
}

export interface ComparisonPlan {
	readonly points: readonly ComparisonPoint[];
	/** Number of independent samples per problem: the maximum required by the specification or any shared point. */
	readonly samples: number;
	/** Scorers applied to the independent samples. */
	readonly sampleScorers: readonly ScorerSpec[];
}

/** Returns the points of a comparison. Throws `invalid` with the names of unknown strategies or parameters. */
export function planComparison(spec: ComparisonSpec): ComparisonPlan {
	const scorers = new Map<string, ScorerSpec>();
	const placeOf = (scorer: ScorerSpec): number => {
		const key = JSON.stringify(scorer);
		scorers.set(key, scorer);
		return [...scorers.keys()].indexOf(key);
	};
	const points = spec.strategies.flatMap((compared, at) => pointsOf(spec, compared, at, placeOf));
	const samples = Math.max(spec.samples, ...points.map(({ shared }) => shared?.k ?? 0));
	return { points: withOwnNames(points, spec), samples, sampleScorers: [...scorers.values()] };
}

function pointsOf(
	spec: ComparisonSpec,
	compared: ComparedStrategy,
	at: number,
	placeOf: (scorer: ScorerSpec) => number,
): ComparisonPoint[] {
	const definition = strategyOf(compared.strategy);
	const { judge } = compared;
	const labels = labelsOf(compared);
	return compared.points.map(({ params: own, budget }, i) => {
		let params: Record<string, unknown>;
		try {
			params = strategyParams(definition, { ...compared.params, ...own });
		} catch (error) {
			const failure = Failure.from(error);
			throw new Failure('invalid', `Strategy ${at + 1}, configuration ${i + 1}: ${failure.message}`, failure.action);
		}
		const guide = guideOf(spec, compared, needsOf(definition, params).scorer);
		return {
			id: `s${at}p${i}`,
			strategy: at,
			definition,
			name: compared.name ?? nameOf(definition, params, judge ?? guide),
			label: labels[i] as string,
			params,
			budget,
			guide,
			judge,
			oracle: isOracle(guide) || isOracle(judge),
			shared: sharedChoice(spec, { ...compared, guide }, params, budget, placeOf),
		};
	});
}

/** Returns a strategy's guide. By default, finished episodes are scored by their environment's reward. */
function guideOf(
	{ environment }: ComparisonSpec,
	{ guide, judge }: ComparedStrategy,
	need: ScorerScope | undefined,
): ScorerSpec | null {
	if (environment === undefined || guide !== null || judge !== null || need !== 'final') return guide;
	return { use: 'environment' };
}

/** An environment's reward can use every column of the row, including the gold answer. */
const isOracle = (scorer: ScorerSpec | null): boolean =>
	scorer?.use === 'environment' || (scorer?.use === 'reward' && scorer.gold);

function nameOf(definition: AnyStrategy, params: Readonly<Record<string, unknown>>, scorer: ScorerSpec | null): string {
	const weighted = params.weighted === true ? 'weighted ' : '';
	return `${weighted}${definition.name}${scorer === null ? '' : ` by ${scorerLabel(scorer)}`}`;
}

/** Numbers strategies that have the same name. */
function withOwnNames(points: readonly ComparisonPoint[], spec: ComparisonSpec): ComparisonPoint[] {
	const owners = new Map<string, Set<number>>();
	for (const { name, strategy } of points) owners.set(name, (owners.get(name) ?? new Set()).add(strategy));
	return points.map((point) => {
		const several = (owners.get(point.name)?.size ?? 1) > 1 && spec.strategies[point.strategy]?.name === undefined;
		return several ? { ...point, name: `${point.name} (${point.strategy + 1})` } : point;
	});
}

/**
 * Labels configurations by the parameters that differ between them, or by the specified parameters if none differ:
 * `n=16`, `tokens<=2000`.
 */
function labelsOf({ params, points }: ComparedStrategy): string[] {
	const parts = points.map((point) => [
		...Object.entries({ ...params, ...point.params }).map(([name, value]) => `${name}=${shown(value)}`),
		...Object.entries(point.budget).map(([name, value]) => `${name}<=${value}`),
	]);
	const common =
		points.length < 2 ? [] : (parts[0] as string[]).filter((one) => parts.every((all) => all.includes(one)));
	return parts.map((all) => all.filter((one) => !common.includes(one)).join(' ') || 'defaults');
}

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * Returns how to derive a configuration from k of the independent samples. This requires the same sampling settings, no
 * separate budget, and a choice that depends only on those k samples.
 */
function sharedChoice(
	{ sampling }: ComparisonSpec,
	{ strategy, guide, judge }: ComparedStrategy,
	params: Readonly<Record<string, unknown>>,
	budget: SearchBudget,
	placeOf: (scorer: ScorerSpec) => number,
): SharedChoice | null {
	if (Object.keys(budget).length > 0) return null;
	const { n, temperature, weighted, ...others } = params;
	if (typeof n !== 'number' || Object.keys(others).length > 0) return null;
	if (temperature !== undefined && temperature !== sampling.temperature) return null;
	// Greedy completions are not samples.
	if (sampling.temperature === 0) return null;
	if (strategy === 'self-consistency') return { how: 'majority', k: n, scorer: null };
	const scorer = judge ?? guide;
	if (strategy !== 'best-of-n' || scorer === null || chooserName(scorer) === null) return null;
	return { how: weighted === true ? 'weighted' : 'best', k: n, scorer: placeOf(scorer) };
}
