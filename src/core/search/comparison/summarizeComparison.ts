import { Random } from '../../../base/random.ts';
import type {
	ComparisonSpec,
	ComparisonSummary,
	Curve,
	Interval,
	PointSummary,
	SampleResult,
} from '../../../protocol/strategyComparison.ts';
import { differenceInterval } from '../../evaluation/differenceInterval.ts';
import { meanInterval } from '../../evaluation/meanInterval.ts';
import { passAtK } from '../../evaluation/passAtK.ts';
import type { ComparisonPlan, ComparisonPoint, SharedChoice } from './comparisonPlan.ts';
import type { ComparisonTable, ResultFacts } from './comparisonTable.ts';
import { type DifficultyBand, difficultyBands } from './difficultyBands.ts';
import { bestOfK, type Sampled, voteOfK } from './subsets.ts';

/** A configuration's success rate per problem, from 0 to 1, by problem number. */
type Successes = ReadonlyMap<number, number>;

export type SummaryNumbers = Pick<ComparisonSummary, 'bands' | 'points' | 'curves'>;

/**
 * Summarizes the results so far. Intervals are over problems, using all results for each problem (`meanInterval`). Gains
 * are relative to the mean over the independent samples for the same problems (`differenceInterval`).
 */
export function summarizeComparison(
	spec: ComparisonSpec,
	plan: ComparisonPlan,
	table: ComparisonTable,
): SummaryNumbers {
	const samples = judged(table.samples('samples'));
	const single = new Map([...samples].map(([problem, list]) => [problem, meanOf(list.map(rightOf))]));
	const bands = spec.bandSamples === 0 ? [] : bandsOf(table, spec.bands);
	const context: Context = { spec, table, samples, single, bands };
	return {
		bands: bands.map(({ problems, low, high, mean }) => ({ problems: problems.length, low, high, mean })),
		points: [singlePoint(context, plan), ...plan.points.map((point) => pointSummary(context, point))],
		curves: curvesOf(context, plan.samples),
	};
}

interface Context {
	readonly spec: ComparisonSpec;
	readonly table: ComparisonTable;
	/** Samples for problems that have a gold answer. */
	readonly samples: ReadonlyMap<number, readonly SampleResult[]>;
	readonly single: Successes;
	readonly bands: readonly DifficultyBand[];
}

const rightOf = ({ correct }: { readonly correct: 0 | 1 | null }): number => (correct === 1 ? 1 : 0);

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function judged(samples: ReadonlyMap<number, readonly SampleResult[]>): Map<number, readonly SampleResult[]> {
	return new Map([...samples].filter(([, list]) => list.length > 0 && list.every(({ correct }) => correct !== null)));
}

function bandsOf(table: ComparisonTable, count: number): DifficultyBand[] {
	const rates: (number | null)[] = Array.from({ length: table.problems }, () => null);
	for (const [problem, list] of judged(table.samples('bands'))) rates[problem] = meanOf(list.map(rightOf));
	return difficultyBands(rates, count);
}

/** Returns values in problem order, so the summary does not depend on the order of results. */
function chosen(values: Successes, among: ReadonlySet<number> | null): number[] {
	return [...values]
		.filter(([problem]) => among?.has(problem) ?? true)
		.sort(([a], [b]) => a - b)
		.map(([, value]) => value);
}

/** Returns null if there are no problems. */
function estimate(values: Successes, among: ReadonlySet<number> | null = null): Interval | null {
	const own = chosen(values, among);
	if (own.length === 0) return null;
	const { accuracy, low, high } = meanInterval(own);
	return { mean: accuracy, low, high };
}

function gainOf(gains: Successes, among: ReadonlySet<number> | null = null): Interval | null {
	const own = chosen(gains, among);
	return own.length === 0 ? null : differenceInterval(own);
}

function differences(values: Successes, single: Successes): Successes {
	const pairs: [number, number][] = [];
	for (const [problem, value] of values) {
		const other = single.get(problem);
		if (other !== undefined) pairs.push([problem, value - other]);
	}
	return new Map(pairs);
}

function singlePoint(context: Context, plan: ComparisonPlan): PointSummary {
	const { table, samples, single } = context;
	const facts = table.facts('samples');
	const tokens = [...samples.values()].map((list) => meanOf(list.map((one) => one.tokens)));
	return {
		id: 'samples',
		strategy: null,
		name: 'single sample',
		label: `mean of ${plan.samples}`,
		oracle: false,
		shared: false,
		...counts(table, 'samples', single.size),
		...estimates(context, single, false),
		any: null,
		tokens: tokens.length === 0 ? null : meanOf(tokens),
		nodes: samples.size === 0 ? null : 1,
		seconds: null,
		cost: meanCost(facts, plan.samples),
		stops: stopsOf(facts),
		trees: treesOf(context, 'samples', facts),
	};
}

function pointSummary(context: Context, { id, strategy, name, label, oracle, shared }: ComparisonPoint): PointSummary {
	const source = shared === null ? id : 'samples';
	const facts = context.table.facts(source);
	return {
		...{ id, strategy, name, label, oracle, shared: shared !== null },
		...(shared === null ? searched(context, id, facts) : sharedResults(context, id, shared, facts)),
		trees: treesOf(context, source, facts),
	};
}

type Measured = Omit<PointSummary, 'id' | 'strategy' | 'name' | 'label' | 'oracle' | 'shared' | 'trees'>;
type Facts = ReadonlyMap<number, ResultFacts>;

function searched(context: Context, id: string, facts: Facts): Measured {
	const { table } = context;
	const successes = new Map<number, number>();
	for (const [problem, result] of facts) if (result.correct !== null) successes.set(problem, rightOf(result));
	const known = [...facts.values()].filter(({ any }) => any !== null);
	const mean = (of: (result: ResultFacts) => number) => (facts.size === 0 ? null : meanOf([...facts.values()].map(of)));
	return {
		...counts(table, id, successes.size),
		...estimates(context, successes, true),
		any: known.length === 0 ? null : meanOf(known.map(({ any }) => any as number)),
		tokens: mean(({ tokens }) => tokens),
		nodes: mean(({ nodes }) => nodes),
		seconds: mean(({ seconds }) => seconds),
		cost: meanCost(facts, 1),
		stops: stopsOf(facts),
	};
}

function sharedResults(context: Context, id: string, shared: SharedChoice, facts: Facts): Measured {
	const { table, samples, spec } = context;
	const { how, k, scorer } = shared;
	const successes = new Map<number, number>();
	const any: number[] = [];
	const tokens: number[] = [];
	let n = 0;
	for (const [problem, list] of samples) {
		const sampled = list.map((one) => sampledOf(one, scorer));
		const random = Random.of(spec.seed, 'subsets', id, problem);
		const success = how === 'best' ? bestOfK(sampled, k) : voteOfK(sampled, k, how === 'weighted', random);
		if (Number.isNaN(success)) continue;
		successes.set(problem, success);
		any.push(passAtK(list.length, list.filter(({ correct, final }) => correct === 1 && final).length, k));
		tokens.push(k * meanOf(list.map((one) => one.tokens)));
		n = Math.max(n, list.length);
	}
	const whole = n === k && facts.size > 0;
	return {
		...counts(table, 'samples', successes.size),
		...estimates(context, successes, true),
		any: any.length === 0 ? null : meanOf(any),
		tokens: tokens.length === 0 ? null : meanOf(tokens),
		nodes: successes.size === 0 ? null : k,
		// Fewer samples would have been faster, but by an unknown amount.
		seconds: whole ? meanOf([...facts.values()].map(({ seconds }) => seconds)) : null,
		cost: meanCost(facts, n / k),
		stops: stopsOf(facts),
	};
}

const sampledOf = ({ correct, class: answer, final, scores }: SampleResult, scorer: number | null): Sampled => ({
	right: correct === 1,
	class: answer,
	final,
	score: scorer === null ? null : (scores?.[scorer] ?? null),
});

function counts(table: ComparisonTable, id: string, problems: number) {
	return { problems, failed: table.failed(id), unjudged: Math.max(0, table.facts(id).size - problems) };
}

function estimates(context: Context, successes: Successes, gains: boolean) {
	const { single, bands } = context;
	const gain = gains ? differences(successes, single) : null;
	return {
		accuracy: estimate(successes),
		gain: gain === null ? null : gainOf(gain),
		bands: bands.map(({ problems }) => {
			const among = new Set(problems);
			return {
				problems: [...successes.keys()].filter((problem) => among.has(problem)).length,
				accuracy: estimate(successes, among),
				gain: gain === null ? null : gainOf(gain, among),
			};
		}),
	};
}

function meanCost(facts: Facts, parts: number): number | null {
	const costs = [...facts.values()].flatMap(({ cost }) => (cost === null ? [] : [cost]));
	return costs.length === 0 || parts === 0 ? null : meanOf(costs) / parts;
}

function stopsOf(facts: Facts): Record<string, number> {
	const stops: Record<string, number> = {};
	for (const { stop } of facts.values()) stops[stop] = (stops[stop] ?? 0) + 1;
	return stops;
}

function treesOf({ spec }: Context, point: string, facts: ReadonlyMap<number, unknown>): string | null {
	return spec.trees && facts.size > 0 ? point : null;
}

/** Returns 1, 2, 4, ... and the maximum. */
function powers(limit: number): number[] {
	const ks: number[] = [];
	for (let k = 1; k < limit; k *= 2) ks.push(k);
	return [...ks, limit];
}

function curvesOf(context: Context, limit: number): Curve[] {
	const { spec, samples, bands } = context;
	let n = limit;
	for (const list of samples.values()) n = Math.min(n, list.length);
	if (samples.size === 0 || n < 1) return [];
	const groups = [null, ...bands.map((_, band) => band)];
	const among = groups.map((band) => (band === null ? null : new Set(bands[band]?.problems)));
	const curves: Curve[] = [];
	// Episodes usually state no answers, and without answers, there is no majority.
	const answered = [...samples.values()].some((list) => list.some((one) => one.class !== null));
	for (const measure of answered ? (['pass', 'cons'] as const) : (['pass'] as const)) {
		const points = powers(n).map((k) => {
			const values = new Map<number, number>();
			for (const [problem, list] of samples) values.set(problem, curveValue(measure, list, k, spec.seed, problem));
			return {
				k,
				of: groups.map((_, i) => estimate(values, among[i] ?? null)),
			};
		});
		for (const [i, band] of groups.entries()) {
			const known = points.flatMap(({ k, of }) => {
				const one = of[i];
				return one === null || one === undefined ? [] : [{ k, ...one }];
			});
			curves.push({ measure, band, points: known });
		}
	}
	return curves;
}

function curveValue(
	measure: 'pass' | 'cons',
	list: readonly SampleResult[],
	k: number,
	seed: number,
	problem: number,
): number {
	if (measure === 'pass') return passAtK(list.length, list.filter(({ correct }) => correct === 1).length, k);
	const random = Random.of(seed, 'subsets', 'cons', k, problem);
	return voteOfK(
		list.map((one) => sampledOf(one, null)),
		k,
		false,
		random,
	);
}
