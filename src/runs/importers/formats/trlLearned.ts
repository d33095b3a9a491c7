import {
	type RecordedGroup,
	type RecordedTotal,
	type RecordedWeights,
	recordedWeights,
} from '../../../core/reward/recordedWeights.ts';
import type { MetricsLine } from '../../../protocol/metricsLine.ts';
import type { FolderView } from '../folderView.ts';
import { type Fields, numberOf, scoreOf } from '../foreignValues.ts';
import { GroupSize } from '../groupNumbers.ts';
import type { RunEvidence } from '../runFormat.ts';
import { evaluationsOf } from './trlEvaluations.ts';
import { keyOfPrompt, promptOf, rewardColumns, scoresIn } from './trlRows.ts';
import { completionsPattern, isNear, meanOf, rowsOf, type Tables, type TrlEvaluation, tablesOf } from './trlTables.ts';

/** Facts that can only be inferred from TRL's files in combination, not from individual completions rows. */
export interface TrlLearned {
	readonly names: ReadonlySet<string>;
	readonly weights: ReadonlyMap<string, number>;
	/** Evaluations, keyed by file path. */
	readonly evaluations: ReadonlyMap<string, TrlEvaluation>;
	/** Tables that only repeat an earlier table. */
	readonly repeated: ReadonlySet<string>;
	/** For each step, whether all completions were truncated (true) or none (false); mixed steps are omitted. */
	readonly truncated: {
		readonly train: ReadonlyMap<number, boolean>;
		readonly validation: ReadonlyMap<number, boolean>;
	};
	/** Notes about this run, one sentence each. */
	readonly notes: readonly string[];
}

/**
 * Maximum number of completions files to read for weights and for evaluations, and maximum number of rows to read per
 * file.
 */
const maxFiles = 8;

/** Maximum number of metrics rows to read for weights. */
const maxTotals = 2000;

export async function learnTrl(folder: FolderView, evidence: RunEvidence): Promise<TrlLearned> {
	const lines = await evidence.metrics();
	const names = rewardNames(lines);
	const tables = await tablesOf(folder);
	const { evaluations, notes: about } = await evaluationsOf(lines, names, tables, evidence);
	const weighed = await weightsOf(folder, evidence, { lines, names, tables, evaluations });
	const any = tables.whole.length > 0 || (await folder.has(completionsPattern));
	const missing = any ? [] : [noCompletions];
	const { weights, notes } = weighed;
	const truncated = {
		train: truncatedSteps(lines, 'completions/clipped_ratio'),
		validation: truncatedSteps(lines, 'eval/completions/clipped_ratio'),
	};
	return { names, weights, evaluations, repeated: tables.repeated, truncated, notes: [...missing, ...notes, ...about] };
}

/**
 * Returns the steps where the logged fraction of truncated completions is exactly 0 or 1 and therefore applies to every
 * completion.
 */
function truncatedSteps(lines: readonly MetricsLine[], name: string): Map<number, boolean> {
	const ratios = new Map<number, number>();
	for (const { step, values } of lines) {
		const ratio = numberOf(values[name]);
		if (ratio === null) continue;
		// If a step was logged twice with different values, neither can be trusted.
		ratios.set(step, ratios.has(step) && ratios.get(step) !== ratio ? Number.NaN : ratio);
	}
	return new Map(
		[...ratios].filter(([, ratio]) => ratio === 0 || ratio === 1).map(([step, ratio]) => [step, ratio === 1]),
	);
}

const noCompletions =
	'There are no completions: log_completions was off, or they are stored elsewhere. TRL up to 0.24 writes them only to W&B: copy wandb/run-.../files/media/table here. Later versions write completions/.';

/** Returns the names of the reward functions in the metrics. */
function rewardNames(lines: readonly MetricsLine[]): Set<string> {
	const names = new Set<string>();
	for (const { values } of lines) {
		for (const name of Object.keys(values)) {
			const match = /^(?:eval\/)?rewards\/(.+)\/mean$/.exec(name);
			if (match?.[1] !== undefined) names.add(match[1]);
		}
	}
	return names;
}

/* Weights */

interface WeightSources {
	readonly lines: readonly MetricsLine[];
	readonly names: ReadonlySet<string>;
	readonly tables: Tables;
	readonly evaluations: ReadonlyMap<string, TrlEvaluation>;
}

async function weightsOf(
	folder: FolderView,
	evidence: RunEvidence,
	sources: WeightSources,
): Promise<Pick<TrlLearned, 'weights' | 'notes'>> {
	const logged = loggedTotals(sources.lines, [...sources.names]);
	const alone = recordedWeights(sources.names.size, logged, []);
	// With as many means as functions, some weights always fit, even if functions skipped completions. One more row is
	// needed to confirm them.
	const confirmed = logged.length > sources.names.size;
	if (confirmed && alone.totalsFit && alone.determined.every(Boolean)) return statedWeights([...sources.names], alone);
	const files = await filesOf(folder, evidence, sources);
	if (files === null) return statedWeights([...sources.names], alone);
	const { names, groups, totals, gaps } = files;
	// If a function skipped completions, its mean covers fewer completions than the total does.
	const counted = gaps || sources.names.size === 0 ? totals : loggedTotals(sources.lines, names);
	const found = recordedWeights(names.length, counted, groups);
	if (found.totalsFit === false && totals.length > 0) {
		return statedWeights(names, recordedWeights(names.length, totals, groups));
	}
	return statedWeights(names, found);
}

function loggedTotals(lines: readonly MetricsLine[], names: readonly string[]): RecordedTotal[] {
	const stride = Math.ceil(lines.length / maxTotals);
	return lines.flatMap(({ values }, i) => {
		if (i % stride !== 0) return [];
		return ['', 'eval/'].flatMap((prefix) => {
			const total = numberOf(values[`${prefix}reward`]);
			const scores = names.map((name) => numberOf(values[`${prefix}rewards/${name}/mean`]));
			if (total === null || scores.every((score) => score === null)) return [];
			return [{ total, scores: scores.map((score) => score ?? 0) }];
		});
	});
}

interface FileEvidence {
	readonly names: readonly string[];
	readonly groups: readonly RecordedGroup[];
	/** Totals for files that contain exactly the rollouts that their step's metrics cover. */
	readonly totals: readonly RecordedTotal[];
	/** Whether a function returned no value for a completion. */
	readonly gaps: boolean;
}

async function filesOf(
	folder: FolderView,
	evidence: RunEvidence,
	{ lines, names: known, tables, evaluations }: WeightSources,
): Promise<FileEvidence | null> {
	const parquet = await folder.some(completionsPattern, 4 * maxFiles);
	const paths = [...parquet.map(({ path }) => path).sort(), ...tables.whole.slice(0, 4 * maxFiles)];
	const byStep = new Map(lines.map(({ step, values }) => [step, values]));
	let names: readonly string[] | null = null;
	const groups: RecordedGroup[] = [];
	const totals: RecordedTotal[] = [];
	let gaps = false;
	// Skip files with evaluation rows: once those rows are removed, the first group might be incomplete.
	for (const path of paths.filter((one) => !evaluations.has(one)).slice(0, maxFiles)) {
		const rows = await rowsOf(path, evidence);
		const [first] = rows;
		if (first === undefined || 'reward' in first) continue;
		names ??= rewardColumns(first, known);
		const scored = rows.map((row) => scoresIn(row, names ?? []));
		const used = scored.filter((row) => row.some((score) => score !== null));
		gaps ||= scored.some((row) => row.some((score) => score === null));
		groups.push(...groupsOf(rows, scored));
		const values = byStep.get(numberOf(first.step) ?? Number(first.step));
		const total = numberOf(values?.reward);
		if (values === undefined || total === null || used.length === 0) continue;
		const same = names.every((name, k) => isNear(meanOf(used, k), numberOf(values[`rewards/${name}/mean`])));
		if (!same) continue;
		const sums = names.map((_, k) => used.reduce((sum, row) => sum + (row[k] ?? 0), 0) / used.length);
		totals.push({ scores: sums, total });
	}
	return names === null ? null : { names, groups, totals, gaps };
}

function groupsOf(rows: readonly Fields[], scored: readonly (readonly (number | null)[])[]): RecordedGroup[] {
	const keys = rows.map((row) => keyOfPrompt(promptOf(row.prompt) ?? ''));
	const size = new GroupSize();
	for (const key of keys) size.add(key);
	const each = size.finish();
	if (each === null) return [];
	const groups: RecordedGroup[] = [];
	for (let start = 0; start < rows.length; start += each) {
		const places = Array.from({ length: each }, (_, i) => start + i);
		// Completions that no function scored do not count toward the group's mean.
		const used = places.filter((at) => scored[at]?.some((score) => score !== null));
		const advantages = used.map((at) => scoreOf(rows[at]?.advantage));
		if (advantages.some((advantage) => advantage === null)) continue;
		groups.push({
			scores: used.map((at) => (scored[at] ?? []).map((score) => score ?? 0)),
			advantages: advantages.map((advantage) => advantage ?? 0),
		});
	}
	return groups;
}

/** Returns the weights, along with a note about their source. */
function statedWeights(names: readonly string[], found: RecordedWeights): Pick<TrlLearned, 'weights' | 'notes'> {
	const { determined, scaled, totalsFit, advantagesFit } = found;
	const weights = new Map(names.map((name, i) => [name, found.weights[i] ?? 1]));
	const list = (of: readonly string[]) =>
		of.map((name) => `${name} ${Number((weights.get(name) ?? 1).toPrecision(6))}`).join(', ');
	const known = names.filter((_, i) => determined[i]);
	const open = names.filter((_, i) => !determined[i]);
	const notes: string[] = [];
	if (names.length === 0) return { weights, notes };
	if (totalsFit === false) {
		notes.push(
			'The logged reward is not a weighted sum of the logged reward functions: totals shown here may differ from those used in training.',
		);
	}
	if (known.length > 0) {
		const from = scaled ? 'the logged rewards' : 'the recorded advantages, up to a common factor';
		notes.push(`Reward weights, computed from ${from}: ${list(known)}.`);
	}
	if (open.length > 0 && !(names.length === 1 && totalsFit !== false)) {
		const why =
			totalsFit === null && advantagesFit === null ? 'no metrics or advantages were found' : 'several solutions fit';
		notes.push(
			known.length === 0 && list(open) === names.map((name) => `${name} 1`).join(', ')
				? `Reward weights are not recorded and cannot be computed (${totalsFit === false ? 'none fit' : why}): each is assumed to be 1.`
				: `The weight of ${open.join(' and of ')} cannot be computed from the recorded data, so ${list(open)} is assumed.`,
		);
	}
	return { weights, notes };
}

/** Returns the part of `learned` that a file's rollouts depend on. */
export function trlDependence(path: string, learned: unknown): string {
	const known = learned as TrlLearned | undefined;
	if (known === undefined) return '';
	const { weights, evaluations, repeated, truncated } = known;
	// W&B tables store the step in each row.
	const step = Number(/_0*(\d+)\.parquet$/.exec(path)?.[1] ?? Number.NaN);
	const ends = Number.isNaN(step)
		? [[...truncated.train], [...truncated.validation]]
		: [truncated.train.get(step) ?? null, truncated.validation.get(step) ?? null];
	return JSON.stringify([[...weights], evaluations.get(path) ?? null, repeated.has(path), ends]);
}
