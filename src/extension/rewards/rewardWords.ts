import { basename } from 'node:path';
import { formatDuration, formatPart } from '../../base/format.ts';
import { formatValue, type SummaryPart, summaryParts } from '../../core/reward/verification/verificationSummary.ts';
import type { Verification, VerifiedRow } from '../../protocol/verification.ts';
import { LoadFailure } from '../../rewards/loadFailure.ts';
import { displayText } from '../runView.ts';
import { type FileVerification, type RewardResults, resultsOf } from './fileVerification.ts';

/** Tone of the line behind a signature, which chooses its color. */
export type InlineTone = 'quiet' | 'good' | 'warning' | 'error' | 'stale';

export interface InlineLine {
	readonly text: string;
	readonly tone: InlineTone;
}

/** The line behind a reward's signature. null: there is nothing to say. */
export function inlineLine(state: FileVerification | undefined, reward: string): InlineLine | null {
	if (state === undefined || state.phase === 'idle') return null;
	const results = state.results.get(reward);
	const words = resultsOf(results)
		.map((verification) => segment(verification, results))
		.join('   ');
	switch (state.phase) {
		case 'loading':
		case 'running': {
			const doing = state.phase === 'loading' ? 'loading…' : 'verifying…';
			return words === '' ? { text: doing, tone: 'quiet' } : { text: `${words} · ${doing}`, tone: 'stale' };
		}
		case 'failed': {
			const why = failureWords(state);
			return { text: words === '' ? why : `${why} · before: ${words}`, tone: 'error' };
		}
		case 'done':
			if (words === '') return null;
			if (state.stale) return { text: `${words} · before the edit`, tone: 'stale' };
			return { text: words, tone: toneOf(results) };
	}
}

/** "not verified, line 12: invalid syntax" */
export function failureWords({ file, failure }: Pick<FileVerification, 'file' | 'failure'>): string {
	if (!(failure instanceof LoadFailure))
		return `not verified: ${displayText(failure?.message ?? 'unknown reason', 160)}`;
	const place = failure.line === undefined ? '' : `line ${failure.line}`;
	const where = failure.file === file ? place : [basename(failure.file), place].filter(Boolean).join(' ');
	return `not verified${where === '' ? '' : `, ${where}`}: ${displayText(failure.detail, 160)}`;
}

/** What is bad comes first, errors before the cases that fail by them: a long signature leaves little room. */
function partsOf(verification: Verification): SummaryPart[] {
	const rank = ({ level, topic }: SummaryPart) => (level !== 'bad' ? 2 : topic === 'errors' ? 0 : 1);
	return summaryParts(verification)
		.map((part) => (part.topic === 'errors' ? { ...part, text: `${part.text}${lineOfErrors(verification)}` } : part))
		.sort((a, b) => rank(a) - rank(b));
}

/** " in line 12", if all errors are of one line. */
function lineOfErrors({ rows, faults }: Verification): string {
	const lines = new Set([...faults, ...rows.flatMap(({ error }) => error ?? [])].map(({ line }) => line));
	const [line] = lines;
	return lines.size === 1 && line !== undefined ? ` in line ${line}` : '';
}

function joined(parts: readonly SummaryPart[]): string {
	return parts.map(({ text }) => text).join(' · ');
}

function segment(verification: Verification, results: RewardResults | undefined): string {
	const parts = partsOf(verification);
	// How long a row takes is told once.
	if (verification === results?.rollouts && results.data !== null) {
		return `rollouts: ${joined(parts.filter(({ topic }) => topic !== 'time'))}`;
	}
	if (verification === results?.rollouts) return `rollouts: ${joined(parts)}`;
	if (verification === results?.data) {
		// Cases alone say little of a reward: their values are chosen.
		const alone = verification.rows.length > 0 && verification.rows.every(({ source }) => source === 'case');
		return alone ? `${joined(parts)} · no dataset` : joined(parts);
	}
	const [row] = verification.rows;
	return `selection: ${row === undefined ? 'nothing' : valueWords(row)}`;
}

function toneOf(results: RewardResults | undefined): InlineTone {
	const levels = new Set(resultsOf(results).flatMap((one) => summaryParts(one).map(({ level }) => level)));
	return levels.has('bad') ? 'error' : levels.has('notice') ? 'warning' : 'good';
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
	return tone === 'error' || tone === 'warning' ? tone : 'good';
}

/** "0.62 ± 0.31, gold 96%", with what is bad before it and what is worth checking behind: of a row in the *Rewards* view. */
export function shortSummary(results: RewardResults | undefined): string {
	return resultsOf(results)
		.filter((verification) => verification !== results?.selection)
		.map((verification) => {
			const parts = partsOf(verification)
				.filter(({ topic, level }) => topic === 'value' || topic === 'agreement' || level !== 'plain')
				.map(({ text }) => text)
				.join(', ');
			return verification === results?.rollouts ? `rollouts: ${parts}` : parts;
		})
		.join('; ');
}

/** Names and values of everything that was measured, for a hover. */
export function statisticsRows({ statistics: s, durationMs }: Verification): [name: string, value: string][] {
	const rows: [string, string][] = [['Rows', `${s.rows} (${s.valued} with a value)`]];
	const add = (name: string, value: string | null) => {
		if (value !== null) rows.push([name, value]);
	};
	add('Mean ± SD', s.mean === null ? null : `${formatValue(s.mean)} ± ${formatValue(s.std ?? 0)}`);
	add('Range', s.min === null || s.max === null ? null : `${formatValue(s.min)} to ${formatValue(s.max)}`);
	add('At max, at min', s.ceiling === null ? null : `${formatPart(s.ceiling, 1)}, ${formatPart(s.floor ?? 0, 1)}`);
	add(
		'Correct scored above incorrect',
		s.agreement === null ? null : `${s.agreement.agreed} of ${s.agreement.problems} problems`,
	);
	add('Does not apply (null)', s.nulls === 0 ? null : `${s.nulls} rows (${formatPart(s.nulls, s.rows)})`);
	add('Zero-variance groups', s.groups === 0 ? null : `${s.deadGroups} of ${s.groups}`);
	add('SD within groups', s.withinGroupStd === null ? null : formatValue(s.withinGroupStd));
	const cases = s.cases.passed + s.cases.failed;
	add('Labeled cases', cases === 0 ? null : `${s.cases.passed} of ${cases} pass`);
	const recorded = s.recorded.same + s.recorded.different;
	add('Matches the run', recorded === 0 ? null : `${s.recorded.same} of ${recorded} rollouts`);
	add('Errors', s.errors === 0 ? null : String(s.errors));
	for (const [name, value] of Object.entries(s.correlation)) {
		add(`Correlation with ${displayText(name, 40)}`, value === null ? 'not defined' : formatValue(value));
	}
	add(
		'Time',
		s.rows === 0
			? null
			: `${formatDuration(durationMs / s.rows / 1000)} per row, ${formatDuration(durationMs / 1000)} in total`,
	);
	return rows;
}

/** "0.62", "null", "error: division by zero" */
export function valueWords(row: VerifiedRow): string {
	if (row.error !== undefined) return `error: ${displayText(row.error.message, 200)}`;
	return row.value === null ? 'null' : formatValue(row.value);
}
