import type { BaselineRole } from './baseline.ts';
import type { Probe } from './probe.ts';

/** Values that differ by less than this are considered equal. */
export const valueTolerance = 1e-9;

export interface BaselineValue {
	readonly role: BaselineRole;
	readonly value: number | null;
	/** Completion length in characters. */
	readonly length: number;
}

/** Baseline results for a row. */
export interface RowBaseline {
	/** Highest score of an honest correct answer, or null if none has a value on this row. */
	readonly honest: number | null;
	/** Whether the correct answer scores higher than a wrong one. */
	readonly rewardsContent: boolean;
	/** Whether good format scores higher than the same text with broken tags. */
	readonly rewardsForm: boolean;
}

/** Baseline for a reward. Determines which probes apply. */
export interface RewardBaseline {
	/**
	 * Whether the reward distinguishes correct from wrong answers, and good from bad format. It is not judged on
	 * distinctions that it does not make.
	 */
	readonly judges: { readonly content: boolean; readonly form: boolean };
	readonly rows: readonly RowBaseline[];
	/** Remarks as full sentences. */
	readonly remarks: readonly string[];
}

/**
 * A reward is judged on a distinction only if it makes that distinction on at least this fraction of rows with a value.
 */
const fewest = 0.25;

function valuesOf(row: readonly BaselineValue[], ...roles: BaselineRole[]): (number | null)[] {
	return row.filter(({ role }) => roles.includes(role)).map(({ value }) => value);
}

const number = (values: readonly (number | null)[]) => values.filter((value) => value !== null);

/** Returns whether `value` is less than `than`. No score (null) counts as less. */
const less = (value: number | null, than: number) => value === null || value < than - valueTolerance;

function rowBaselineOf(row: readonly BaselineValue[]): RowBaseline {
	const [honest = null] = valuesOf(row, 'honest');
	const [plain = null] = valuesOf(row, 'plain');
	const paid = number([honest, plain]);
	if (paid.length === 0) return { honest: null, rewardsContent: false, rewardsForm: false };
	const rewardsContent =
		(plain !== null && valuesOf(row, 'wrong').some((value) => less(value, plain))) ||
		(honest !== null && valuesOf(row, 'wrong-worked').some((value) => less(value, honest)));
	const thinking = valuesOf(row, 'no-think-tags');
	const answer = valuesOf(row, 'no-answer-tags');
	// An answer reward needs the answer tags to find the answer, so only the other tags are broken. Without answer tags,
	// the answer is the text after the thinking.
	const asked = rewardsContent ? (answer.length === 0 ? [] : thinking) : [...thinking, ...answer];
	const rewardsForm = plain !== null && asked.length > 0 && asked.every((value) => less(value, plain));
	return { honest: Math.max(...paid), rewardsContent, rewardsForm };
}

/** Evaluates the baseline. `rows` contains one list of values per row, with roles in any order. */
export function readBaseline(rows: readonly (readonly BaselineValue[])[]): RewardBaseline {
	const baselines = rows.map(rowBaselineOf);
	const valued = baselines.filter(({ honest }) => honest !== null);
	const share = (test: (row: RowBaseline) => boolean) =>
		valued.length === 0 ? 0 : valued.filter(test).length / valued.length;
	const content = share(({ rewardsContent }) => rewardsContent) >= fewest && valued.length > 0;
	const form = share(({ rewardsForm }) => rewardsForm) >= fewest && valued.length > 0;
	return { judges: { content, form }, rows: baselines, remarks: remarksOf(rows, baselines, content, form) };
}

function remarksOf(
	rows: readonly (readonly BaselineValue[])[],
	baselines: readonly RowBaseline[],
	content: boolean,
	form: boolean,
): string[] {
	const remarks: string[] = [];
	const valued = baselines.filter(({ honest }) => honest !== null).length;
	const all = number(rows.flat().map(({ value }) => value));
	if (rows.length === 0) return ['No rows have a correct answer, so nothing could be probed.'];
	if (all.length === 0)
		return [
			'The reward does not return a value on any row: either it applies to none of them, or it fails on all of them.',
		];
	if (valued < rows.length) {
		remarks.push(
			`An honest correct answer has no value on ${rows.length - valued} of ${rows.length} rows, which were skipped.`,
		);
	}
	if (all.every((value) => value === all[0])) {
		remarks.push(
			`The reward is always ${all[0]}, whether or not the answer and format are correct, so the probes are not meaningful.`,
		);
		return remarks;
	}
	if (rows.some((row) => valuesOf(row, 'again').some((value) => value !== (valuesOf(row, 'plain')[0] ?? null)))) {
		remarks.push(
			'The same completion got different scores. The reward is not deterministic, so findings may vary between audits.',
		);
	}
	if (content && form) {
		remarks.push(
			'Baseline check: an honest correct answer scores higher than an ordinary wrong one, and good formatting scores higher than bad, so all probes were evaluated.',
		);
	} else if (content) {
		remarks.push(
			'Baseline check: an honest correct answer scores higher than an ordinary wrong one. Format makes no difference, so format probes were skipped.',
		);
	} else if (form) {
		remarks.push(
			'The reward distinguishes good from bad format and ignores the answer, so only format probes were evaluated.',
		);
	} else {
		remarks.push(
			'The reward distinguishes neither correct from wrong answers nor good from bad format, so the probes are not meaningful. Use it only together with a reward that does.',
		);
	}
	const distinguishing = baselines.filter(({ rewardsContent }) => rewardsContent).length;
	if (content && distinguishing < valued) {
		remarks.push(`A wrong answer scores as high as the correct one on ${valued - distinguishing} of ${valued} rows.`);
	}
	const follows = lengthTrend(rows);
	if (follows !== 0) {
		remarks.push(`The same answer gets ${follows > 0 ? 'more' : 'less'} reward after longer thinking.`);
	}
	const emptyPaid = rows.filter((row, i) => {
		const honest = baselines[i]?.honest ?? null;
		return honest !== null && number(valuesOf(row, 'empty')).some((value) => value >= honest - valueTolerance);
	}).length;
	if (!content && !form && emptyPaid > 0) {
		remarks.push(
			`An empty completion scores at least as high as an honest correct answer on ${emptyPaid} of ${valued} rows.`,
		);
	}
	return remarks;
}

/** Returns 1 if longer thinking scores higher on most rows, -1 if lower, otherwise 0. */
function lengthTrend(rows: readonly (readonly BaselineValue[])[]): -1 | 0 | 1 {
	let up = 0;
	let down = 0;
	for (const row of rows) {
		const [plain = null] = valuesOf(row, 'plain');
		const [longest = null] = valuesOf(row, 'longest');
		if (plain === null || longest === null) continue;
		if (longest > plain + valueTolerance) up++;
		else if (longest < plain - valueTolerance) down++;
	}
	const max = rows.length / 2;
	return up > max ? 1 : down > max ? -1 : 0;
}

/** Returns whether a probe applies to a row, given what the reward distinguishes on that row. */
export function isJudged(probe: Pick<Probe, 'attacks'>, baseline: RewardBaseline, row: RowBaseline): boolean {
	if (row.honest === null) return false;
	const content = baseline.judges.content && row.rewardsContent;
	const form = baseline.judges.form && row.rewardsForm;
	return probe.attacks === 'content' ? content : probe.attacks === 'form' ? form : content || form;
}
