import { Failure } from '../../base/failure.ts';
import { Random } from '../../base/random.ts';

/** A recipe key with the values to try. */
export interface VariedKey {
	readonly path: readonly string[];
	readonly values: readonly unknown[];
}

/** A configuration in a sweep: a value for each key, and a seed. */
export interface SweepConfiguration {
	readonly set: readonly { readonly path: readonly string[]; readonly value: unknown }[];
	/** null to use the recipe's seed. */
	readonly seed: number | null;
	/** For example, "beta=0.1 seed=2". */
	readonly label: string;
}

/** Maximum number of configurations before a budget reduces them. */
const maxConfigurations = 10_000;

/** Parses `KEY=VALUE,VALUE,...`. Values are JSON or, if that is invalid, plain text. Fails with `invalid`. */
export function parseVariedKey(text: string): VariedKey {
	const sign = text.indexOf('=');
	const path = text.slice(0, Math.max(0, sign)).split('.');
	const values = sign < 1 ? [] : splitValues(text.slice(sign + 1));
	if (sign < 1 || path.some((part) => part === '') || values.some((value) => value === '')) {
		throw new Failure('invalid', `"${text}" is not KEY=VALUE,VALUE.`, 'Use the form stages.1.beta=0,0.02.');
	}
	return { path, values: values.map(parsedValue) };
}

/** Splits at commas outside brackets and quotes. */
function splitValues(text: string): string[] {
	const parts = [''];
	let depth = 0;
	let quoted = false;
	const letters = [...text];
	for (const [i, letter] of letters.entries()) {
		if (letter === '"' && letters[i - 1] !== '\\') quoted = !quoted;
		if (!quoted && (letter === '[' || letter === '{')) depth++;
		if (!quoted && (letter === ']' || letter === '}')) depth--;
		if (letter === ',' && depth === 0 && !quoted) parts.push('');
		else parts[parts.length - 1] += letter;
	}
	return parts.map((part) => part.trim());
}

function parsedValue(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}

/** Returns all combinations of values and seeds, seeds last. Fails with `invalid` if there are none or too many. */
export function sweepGrid(keys: readonly VariedKey[], seeds: readonly number[]): SweepConfiguration[] {
	const count = keys.reduce((product, { values }) => product * values.length, Math.max(1, seeds.length));
	if (keys.length === 0 && seeds.length < 2) {
		throw new Failure('invalid', 'There is nothing to vary.', 'Add --vary KEY=VALUE,VALUE or --seeds N.');
	}
	if (count > maxConfigurations) {
		throw new Failure('invalid', `Too many combinations: ${count}.`, `The maximum is ${maxConfigurations}.`);
	}
	let grid: SweepConfiguration['set'][] = [[]];
	for (const { path, values } of keys) grid = grid.flatMap((set) => values.map((value) => [...set, { path, value }]));
	const names = shortNames(keys.map(({ path }) => path));
	return grid.flatMap((set) =>
		(seeds.length === 0 ? [null] : seeds).map((seed) => ({ set, seed, label: labelOf(names, set, seed) })),
	);
}

/** Returns the last part of each path, or the whole path if others end with the same part. */
function shortNames(paths: readonly (readonly string[])[]): string[] {
	const same = (path: readonly string[]) => paths.filter((other) => other.at(-1) === path.at(-1)).length;
	return paths.map((path) => (same(path) === 1 ? (path.at(-1) as string) : path.join('.')));
}

function labelOf(names: readonly string[], set: SweepConfiguration['set'], seed: number | null): string {
	const parts = set.map(({ value }, i) => `${names[i]}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
	return [...parts, ...(seed === null ? [] : [`seed=${seed}`])].join(' ');
}

export interface SweepPlan {
	/** Steps at which runs are compared, ending with the whole run. */
	readonly rungs: readonly number[];
	/** Number of runs that reach each rung. */
	readonly counts: readonly number[];
	/** Maximum total number of steps. */
	readonly cost: number;
}

/**
 * Returns a plan of successive halving (Jamieson and Talwalkar 2016, Algorithm 1): all runs train up to the first rung,
 * the best 1/eta of them up to the next one, which is eta times as far, and so on. Without halving, all runs are
 * trained to the end.
 * @param count number of configurations
 * @param steps steps of a whole run
 * @param halving null for none; `first`: steps until the first rung
 */
export function sweepPlan(
	count: number,
	steps: number,
	halving: { readonly eta: number; readonly first: number } | null,
): SweepPlan {
	const rungs = [steps];
	const counts = [count];
	if (halving !== null) {
		for (let rung = Math.floor(steps / halving.eta); rung >= halving.first; rung = Math.floor(rung / halving.eta)) {
			rungs.unshift(rung);
		}
		for (let i = 1; i < rungs.length; i++) counts.push(Math.max(1, Math.floor(count / halving.eta ** i)));
	}
	const cost = rungs.reduce((sum, rung, i) => sum + (counts[i] as number) * (rung - (rungs[i - 1] ?? 0)), 0);
	return { rungs, counts, cost };
}

/**
 * Returns the configurations that fit into a budget of steps: all of them, or a random subset in the given order. Fails
 * with `invalid` if not even one fits.
 * @param planOf plan for a number of configurations
 * @param seed seed of the random choice
 */
export function withinBudget(
	configurations: readonly SweepConfiguration[],
	planOf: (count: number) => SweepPlan,
	budget: number | null,
	seed: number,
): SweepConfiguration[] {
	if (budget === null) return [...configurations];
	let count = configurations.length;
	while (count > 0 && planOf(count).cost > budget) count--;
	if (count === 0) {
		throw new Failure('invalid', `One run costs ${planOf(1).cost} steps, which exceeds the budget.`, 'Raise --budget.');
	}
	const random = Random.of(seed, 'sweep');
	const chosen = new Set(
		configurations
			.map((_, index) => ({ index, key: random.next() }))
			.sort((a, b) => a.key - b.key)
			.slice(0, count)
			.map(({ index }) => index),
	);
	return configurations.filter((_, index) => chosen.has(index));
}

/** Returns the indices of the best scores, best first; runs without a score are last. Ties keep their order. */
export function survivors(scores: readonly (number | null)[], count: number): number[] {
	return scores
		.map((score, index) => ({ score: score ?? Number.NEGATIVE_INFINITY, index }))
		.sort((a, b) => (a.score === b.score ? a.index - b.index : b.score - a.score))
		.slice(0, count)
		.map(({ index }) => index);
}
