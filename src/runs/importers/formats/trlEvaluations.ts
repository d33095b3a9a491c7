import type { MetricsLine } from '../../../protocol/metricsLine.ts';
import { type Fields, numberOf } from '../foreignValues.ts';
import type { RunEvidence } from '../runFormat.ts';
import { keyOfPrompt, promptOf, scoresIn } from './trlRows.ts';
import {
	completionsOf,
	isNear,
	maxEvaluations,
	maxTables,
	meanOf,
	rowsOf,
	type Tables,
	type TrlEvaluation,
} from './trlTables.ts';

/* Evaluations */

/** Number of prompts from one dataset in an evaluation, derived from the rate and time that transformers logs. */
interface LoggedEvaluation {
	readonly name: string;
	readonly prompts: number | null;
}

/**
 * TRL logs evaluation completions under the step's file name as well, after the training completions. At an evaluation
 * step, the file therefore contains the last rows of both, as many as fit in a generation batch.
 */
export async function evaluationsOf(
	lines: readonly MetricsLine[],
	names: ReadonlySet<string>,
	tables: Tables,
	evidence: RunEvidence,
): Promise<{ readonly evaluations: Map<string, TrlEvaluation>; readonly notes: string[] }> {
	const evaluations = new Map<string, TrlEvaluation>();
	const steps = new Map<number, MetricsLine>();
	for (const line of lines) {
		if (Object.keys(line.values).some((name) => name.startsWith('eval_') || name.startsWith('eval/'))) {
			steps.set(line.step, line);
		}
	}
	const places = await placesOf([...steps.keys()], tables, evidence);
	let mixed = 0;
	for (const [i, [step, path]] of places.entries()) {
		const rows = i < maxEvaluations ? await rowsOf(path, evidence) : [];
		const found = evaluationIn(rows, steps.get(step)?.values ?? {}, names);
		// A missing or unreadable file has no rows to distinguish.
		if (found === null && (rows.length > 0 || i >= maxEvaluations)) mixed++;
		evaluations.set(path, found ?? { from: 0, datasets: [] });
	}
	const notes =
		mixed === 0
			? []
			: [
					`${mixed === 1 ? 'The completions of 1 evaluation' : `The completions of ${mixed} evaluations`} may include training completions, which cannot be distinguished.`,
				];
	return { evaluations, notes };
}

/**
 * Returns the files written by evaluations. If a step has several tables, the last one is used, because training logs a
 * step only once.
 */
async function placesOf(
	steps: readonly number[],
	tables: Tables,
	evidence: RunEvidence,
): Promise<(readonly [step: number, path: string])[]> {
	if (tables.whole.length === 0) return steps.map((step) => [step, completionsOf(step)] as const);
	const evaluated = new Set(steps);
	const last = new Map<number, string>();
	for (const path of tables.whole.slice(0, maxTables)) {
		const step = Number((await rowsOf(path, evidence))[0]?.step ?? Number.NaN);
		if (last.has(step)) evaluated.add(step);
		last.set(step, path);
	}
	return [...last].filter(([step]) => evaluated.has(step));
}

/** Returns which rows in a file belong to the evaluation, or null if that cannot be determined. */
function evaluationIn(
	rows: readonly Fields[],
	values: Readonly<Record<string, number | null>>,
	names: ReadonlySet<string>,
): TrlEvaluation | null {
	const logged = loggedEvaluations(values);
	if (logged.length === 0 || logged.some(({ prompts }) => prompts === null)) return null;
	const keys = rows.map((row) => keyOfPrompt(promptOf(row.prompt) ?? ''));
	let run = 1;
	while (run < keys.length && keys[keys.length - 1 - run] === keys.at(-1)) run++;
	// Two prompts with the same text can be adjacent, in which case the last run covers several groups.
	for (let size = run; size > 0; size--) {
		if (run % size !== 0) continue;
		const all = logged.map(({ name, prompts }) => ({ name, rows: (prompts ?? 0) * size }));
		const datasets = lastOf(all, rows.length);
		const from = rows.length - datasets.reduce((sum, one) => sum + one.rows, 0);
		const whole = from + ((rows.length - from) % size);
		let ofOnePrompt = true;
		for (let i = whole; i < rows.length; i++) ofOnePrompt &&= (i - whole) % size === 0 || keys[i] === keys[i - 1];
		if (!ofOnePrompt) continue;
		const lastRows = all.at(-1)?.rows ?? 0;
		// The evaluation had more rows than the file can contain, so no training rows are left, and the means include rows
		// that are no longer in the file.
		if (lastRows > rows.length || fitsMeans(rows.slice(rows.length - lastRows), values, names))
			return { from, datasets };
	}
	return null;
}

/** Returns how many rows of each dataset remain in a file that keeps only the last rows. */
function lastOf(datasets: TrlEvaluation['datasets'], rows: number): TrlEvaluation['datasets'] {
	let left = rows;
	return datasets
		.toReversed()
		.map(({ name, rows: count }) => {
			const kept = Math.min(left, count);
			left -= kept;
			return { name, rows: kept };
		})
		.filter((one) => one.rows > 0)
		.reverse();
}

function loggedEvaluations(values: Readonly<Record<string, number | null>>): LoggedEvaluation[] {
	const found: LoggedEvaluation[] = [];
	for (const [key, value] of Object.entries(values)) {
		const match = /^eval[_/](?:(.+)_)?runtime$/.exec(key);
		if (match === null) continue;
		const rate = numberOf(values[key.replace(/runtime$/, 'samples_per_second')]);
		const seconds = numberOf(value);
		const prompts = rate === null || seconds === null ? null : Math.round(rate * seconds);
		found.push({ name: match[1] ?? '', prompts: prompts !== null && prompts > 0 ? prompts : null });
	}
	return found;
}

/** Returns whether the rows match the logged means of the last evaluated dataset. */
function fitsMeans(
	rows: readonly Fields[],
	values: Readonly<Record<string, number | null>>,
	names: ReadonlySet<string>,
): boolean {
	const list = [...names];
	const scored = rows.map((row) => scoresIn(row, list));
	return list.every((name, k) => {
		const logged = numberOf(values[`eval/rewards/${name}/mean`]);
		return logged === null || isNear(meanOf(scored, k), logged);
	});
}
