import { basename } from 'node:path';
import { formatCount, formatCounted, formatDuration, formatPart } from '../../base/format.ts';
import { formatValue, type SummaryPart, summaryParts } from '../../core/reward/verification/verificationSummary.ts';
import type { Verification, VerifiedRow } from '../../protocol/verification.ts';
import { LoadFailure } from '../../rewards/loadFailure.ts';
import { displayText } from '../runView.ts';
import { type FileVerification, type RewardResults, resultsOf } from './fileVerification.ts';

/** Style of the inline text after a signature; determines its color. */
export type InlineTone = 'quiet' | 'good' | 'warning' | 'error' | 'stale';

export interface InlineLine {
	readonly text: string;
	readonly tone: InlineTone;
}

/** Returns the inline text shown after a reward's signature, or null if there is none. */
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
			if (state.stale) return { text: `${words} · before the last edit`, tone: 'stale' };
			return { text: words, tone: toneOf(results) };
	}
}

/** Describes a failure: "not verified, line 12: invalid syntax" */
export function failureWords({ file, failure }: Pick<FileVerification, 'file' | 'failure'>): string {
	if (!(failure instanceof LoadFailure))
		return `not verified: ${displayText(failure?.message ?? 'unknown reason', 160)}`;
	const place = failure.line === undefined ? '' : `line ${failure.line}`;
	const where = failure.file === file ? place : [basename(failure.file), place].filter(Boolean).join(' ');
	return `not verified${where === '' ? '' : `, ${where}`}: ${displayText(failure.detail, 160)}`;
}

/**
 * Returns the summary parts with problems first (errors, then failed cases), because a long signature leaves little
 * space.
 */
function partsOf(verification: Verification): SummaryPart[] {
	const rank = ({ level, topic }: SummaryPart) => (level !== 'bad' ? 2 : topic === 'errors' ? 0 : 1);
	return summaryParts(verification)
		.map((part) => (part.topic === 'errors' ? { ...part, text: `${part.text}${lineOfErrors(verification)}` } : part))
		.sort((a, b) => rank(a) - rank(b));
}

/** Returns " on line 12" if all errors are on the same line. */
function lineOfErrors({ rows, faults }: Verification): string {
	const lines = new Set([...faults, ...rows.flatMap(({ error }) => error ?? [])].map(({ line }) => line));
	const [line] = lines;
	return lines.size === 1 && line !== undefined ? ` on line ${line}` : '';
}

function joined(parts: readonly SummaryPart[]): string {
	return parts.map(({ text }) => text).join(' · ');
}

function segment(verification: Verification, results: RewardResults | undefined): string {
	const parts = partsOf(verification);
	// Show the time per row only once.
	if (verification === results?.rollouts && results.data !== null) {
		return `rollouts: ${joined(parts.filter(({ topic }) => topic !== 'time'))}`;
	}
	if (verification === results?.rollouts) return `rollouts: ${joined(parts)}`;
	if (verification === results?.data) {
		// Cases alone say little about a reward, because they are hand-picked.
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

/** State of a reward in the *Rewards* view. */
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

/**
 * Returns the summary for a row in the *Rewards* view: "0.62 ± 0.31, gold 96%", preceded by problems and followed by
 * warnings.
 */
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

/** Returns the names and values of all statistics, for a hover. */
export function statisticsRows({ statistics: s, durationMs }: Verification): [name: string, value: string][] {
	const rows: [string, string][] = [['Rows', `${s.rows} (${s.valued} with a reward value)`]];
	const add = (name: string, value: string | null) => {
		if (value !== null) rows.push([name, value]);
	};
	add('Mean ± SD', s.mean === null ? null : `${formatValue(s.mean)} ± ${formatValue(s.std ?? 0)}`);
	add('Range', s.min === null || s.max === null ? null : `${formatValue(s.min)} to ${formatValue(s.max)}`);
	add('At max, at min', s.ceiling === null ? null : `${formatPart(s.ceiling, 1)}, ${formatPart(s.floor ?? 0, 1)}`);
	add(
		'Correct scored above incorrect',
		s.agreement === null
			? null
			: `${formatCount(s.agreement.agreed)} of ${formatCounted(s.agreement.problems, 'problem')}`,
	);
	add(
		'Does not apply (null)',
		s.nulls === 0 ? null : `${formatCounted(s.nulls, 'row')} (${formatPart(s.nulls, s.rows)})`,
	);
	add('Zero-variance groups', s.groups === 0 ? null : `${s.deadGroups} of ${s.groups}`);
	add('SD within groups', s.withinGroupStd === null ? null : formatValue(s.withinGroupStd));
	const cases = s.cases.passed + s.cases.failed;
	add('Labeled cases', cases === 0 ? null : `${s.cases.passed} of ${cases} pass`);
	const recorded = s.recorded.same + s.recorded.different;
	add(
		'Matches the run',
		recorded === 0 ? null : `${formatCount(s.recorded.same)} of ${formatCounted(recorded, 'rollout')}`,
	);
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

/** Formats a row's value: "0.62", "null", or "error: division by zero". */
export function valueWords(row: VerifiedRow): string {
	if (row.error !== undefined) return `error: ${displayText(row.error.message, 200)}`;
	return row.value === null ? 'null' : formatValue(row.value);
}
