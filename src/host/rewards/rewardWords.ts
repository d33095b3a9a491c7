import type { Verification, VerifiedRow } from '../../protocol/verification.ts';
import { displayText } from '../runView.ts';
import { type FileVerification, type RewardResults, resultsOf } from './fileVerification.ts';

/** Tone of the line behind a signature, which chooses its colour. */
export type InlineTone = 'quiet' | 'good' | 'warning' | 'error' | 'stale';

export interface InlineLine {
	readonly text: string;
	readonly tone: InlineTone;
}

/** The line behind a reward's signature. null: there is nothing to say. */
export function inlineLine(state: FileVerification | undefined, reward: string): InlineLine | null {
	if (state === undefined || state.phase === 'idle') return null;
	const results = state.results.get(reward);
	const shown = resultsOf(results).map((verification) => segment(verification, results));
	const words = shown.join('   ');
	if (state.phase === 'loading' && shown.length === 0) return { text: 'loading…', tone: 'quiet' };
	if (state.phase === 'running' && shown.length === 0) return { text: 'verifying…', tone: 'quiet' };
	if (state.phase === 'loading') return { text: `${words} · loading…`, tone: 'stale' };
	if (state.phase === 'running') return { text: `${words} · verifying…`, tone: 'stale' };
	if (state.phase === 'failed') {
		const why = displayText(state.failure?.message ?? 'it could not be loaded', 160);
		return {
			text: shown.length > 0 ? `not verified: ${why} · before: ${words}` : `not verified: ${why}`,
			tone: 'error',
		};
	}
	if (shown.length === 0) return null;
	if (state.stale) return { text: `${words} · before the edit`, tone: 'stale' };
	return { text: words, tone: toneOf(results) };
}

function segment(verification: Verification, results: RewardResults | undefined): string {
	const words = summaryWords(verification);
	if (verification === results?.rollouts) return `rollouts: ${words}`;
	if (verification === results?.selection) return `selection: ${selectionWords(verification)}`;
	return words;
}

function selectionWords({ rows }: Verification): string {
	const [row] = rows;
	if (row === undefined) return 'nothing';
	return valueWords(row);
}

/** Mean, agreement, nulls, dead groups, cases, errors and time, as far as they say something. */
export function summaryWords({ statistics: s, rows, durationMs, faults }: Verification): string {
	const parts: (string | null)[] = [];
	if (s.rows === 0) parts.push('no rows');
	else if (s.mean === null) parts.push(s.errors === s.rows ? null : 'no values');
	else parts.push(`mean ${number(s.mean)} ± ${number(s.std ?? 0)}`);
	if (s.agreement !== null && s.agreement.problems > 0)
		parts.push(`gold ${s.agreement.agreed}/${s.agreement.problems}`);
	if (s.nulls > 0) parts.push(`null ${share(s.nulls, s.rows)}`);
	if (s.groups > 0) parts.push(`dead groups ${s.deadGroups}/${s.groups}`);
	const cases = s.cases.passed + s.cases.failed;
	if (cases > 0) parts.push(`cases ${s.cases.passed}/${cases}`);
	if (s.recorded.different > 0) parts.push(`${s.recorded.different} differ from the run`);
	else if (s.recorded.same > 0) parts.push('as recorded');
	const errors = s.errors + faults.length;
	if (errors > 0) parts.push(errorWords(errors, rows));
	if (s.rows > 0) parts.push(perRow(durationMs, s.rows));
	return parts.filter((part) => part !== null).join(' · ');
}

function errorWords(errors: number, rows: readonly VerifiedRow[]): string {
	const kinds = new Set(rows.flatMap((row) => (row.error === undefined ? [] : [row.error.kind])));
	const only = kinds.size === 1 ? [...kinds][0] : undefined;
	const what = only === 'timeout' ? 'timed out' : only === 'memory' ? 'out of memory' : null;
	if (what !== null) return `${errors} ${what}`;
	return `${errors} ${errors === 1 ? 'error' : 'errors'}`;
}

function toneOf(results: RewardResults | undefined): InlineTone {
	let tone: InlineTone = 'good';
	for (const { statistics: s, faults } of resultsOf(results)) {
		if (s.errors + faults.length > 0) return 'error';
		const disagrees = s.agreement !== null && s.agreement.agreed < s.agreement.problems;
		const allDead = s.groups > 0 && s.deadGroups === s.groups;
		if (s.cases.failed > 0 || s.recorded.different > 0 || disagrees || allDead || s.mean === null) tone = 'warning';
	}
	return tone;
}

/** The state of one reward, for its row in the *Rewards* view. */
export type RewardStanding = 'unknown' | 'busy' | 'good' | 'warning' | 'error' | 'stale';

export function standingOf(state: FileVerification | undefined, reward: string): RewardStanding {
	if (state === undefined || state.phase === 'idle') return 'unknown';
	if (state.phase === 'failed') return 'error';
	if (state.phase !== 'done') return 'busy';
	const results = state.results.get(reward);
	if (resultsOf(results).length === 0) return 'unknown';
	if (state.stale) return 'stale';
	const tone = toneOf(results);
	return tone === 'error' ? 'error' : tone === 'warning' ? 'warning' : 'good';
}

/** "mean 0.62 ± 0.31, gold 48/50": of a row in the *Rewards* view. */
export function shortSummary(results: RewardResults | undefined): string {
	const [verification] = resultsOf(results);
	if (verification === undefined) return '';
	const { statistics: s } = verification;
	const parts = [
		s.mean === null ? null : `${number(s.mean)} ± ${number(s.std ?? 0)}`,
		s.agreement === null || s.agreement.problems === 0
			? null
			: `gold ${share(s.agreement.agreed, s.agreement.problems)}`,
		s.cases.failed > 0 ? `${s.cases.failed} ${s.cases.failed === 1 ? 'case fails' : 'cases fail'}` : null,
		s.errors > 0 ? `${s.errors} ${s.errors === 1 ? 'error' : 'errors'}` : null,
	];
	return parts.filter((part) => part !== null).join(', ');
}

/** Names and values of everything that was measured, for a hover. */
export function statisticsRows({ statistics: s, durationMs }: Verification): [name: string, value: string][] {
	const rows: [string, string][] = [['Rows', `${s.rows}, of which ${s.valued} have a value`]];
	const add = (name: string, value: string | null) => {
		if (value !== null) rows.push([name, value]);
	};
	add('Mean ± standard deviation', s.mean === null ? null : `${number(s.mean)} ± ${number(s.std ?? 0)}`);
	add('Range', s.min === null || s.max === null ? null : `${number(s.min)} to ${number(s.max)}`);
	add('At the ceiling, at the floor', s.ceiling === null ? null : `${percent(s.ceiling)}, ${percent(s.floor ?? 0)}`);
	add(
		'Right answers above their wrong ones',
		s.agreement === null ? null : `${s.agreement.agreed} of ${s.agreement.problems} problems`,
	);
	add('Does not apply (null)', s.nulls === 0 ? null : `${s.nulls} rows (${share(s.nulls, s.rows)})`);
	add('Groups without variance', s.groups === 0 ? null : `${s.deadGroups} of ${s.groups}`);
	add('Standard deviation within groups', s.withinGroupStd === null ? null : number(s.withinGroupStd));
	const cases = s.cases.passed + s.cases.failed;
	add('Labelled cases', cases === 0 ? null : `${s.cases.passed} of ${cases} pass`);
	const recorded = s.recorded.same + s.recorded.different;
	add('As the run recorded', recorded === 0 ? null : `${s.recorded.same} of ${recorded} rollouts`);
	add('Errors', s.errors === 0 ? null : String(s.errors));
	for (const [name, value] of Object.entries(s.correlation)) {
		add(`Correlation with ${displayText(name, 40)}`, value === null ? 'not defined' : number(value));
	}
	add('Time', s.rows === 0 ? null : `${perRow(durationMs, s.rows)}, ${time(durationMs)} in all`);
	return rows;
}

function extreme(rows: readonly VerifiedRow[], better: (a: number, b: number) => boolean): VerifiedRow | undefined {
	let best: VerifiedRow | undefined;
	for (const row of rows) {
		if (row.value === null) continue;
		if (best === undefined || better(row.value, best.value as number)) best = row;
	}
	return best;
}

/** The rows with the largest and the smallest value, when these differ. */
export function extremeRows({ rows }: Verification): { best?: VerifiedRow; worst?: VerifiedRow } {
	const best = extreme(rows, (a, b) => a > b);
	const worst = extreme(rows, (a, b) => a < b);
	if (best === undefined || worst === undefined || best.value === worst.value) return {};
	return { best, worst };
}

/** "0.62", "null", "error: ZeroDivisionError: ..." */
export function valueWords(row: VerifiedRow): string {
	if (row.error !== undefined) return `error: ${displayText(row.error.message, 200)}`;
	return row.value === null ? 'null' : number(row.value);
}

/** Three significant digits, whole numbers whole. */
export function number(value: number): string {
	if (value === 0) return '0';
	const size = Math.abs(value);
	if (size >= 1e6 || size < 1e-3) return value.toExponential(1).replace('e+', 'e');
	return String(Number(value.toPrecision(3)));
}

function share(part: number, whole: number): string {
	return whole === 0 ? '0 %' : percent(part / whole);
}

function percent(value: number): string {
	const hundredths = value * 100;
	// Neither all nor none by rounding.
	const shown = hundredths > 0 && hundredths < 1 ? '<1' : hundredths > 99 && hundredths < 100 ? '>99' : null;
	return `${shown ?? Math.round(hundredths)} %`;
}

function perRow(durationMs: number, rows: number): string {
	return `${time(durationMs / rows)}/row`;
}

function time(ms: number): string {
	if (ms >= 1000) return `${number(ms / 1000)} s`;
	return ms >= 1 ? `${number(ms)} ms` : `${number(ms * 1000)} µs`;
}
