import { formatCount, formatCounted, formatDuration, formatNumber, formatPercent } from '../../src/base/format.ts';
import { formatValue, type SummaryLevel } from '../../src/core/reward/verification/verificationSummary.ts';
import type { ComparisonContent, VerificationContent } from '../../src/protocol/verificationMessages.ts';
import type { RowFilters } from './rowFilters.ts';

/** A result statistic with its definition. */
export interface Statistic {
	readonly name: string;
	readonly value: string;
	/** Shown below the value: what it was computed over. */
	readonly note?: string;
	/** `bad`: a bug in the reward; `notice`: worth checking. */
	readonly level: SummaryLevel;
	/** Definition in one or two sentences. */
	readonly meaning: string;
	/** Filter for the rows that the statistic counts. */
	readonly rows?: Partial<RowFilters>;
}

const of = (part: number, whole: number) => `${formatCount(part)} of ${formatCount(whole)}`;
const share = (part: number, whole: number) => formatPercent(whole === 0 ? null : part / whole, 1);
type VerificationNumbers = VerificationContent['statistics'];

/** Returns verification statistics. Omits those that do not apply to the data. */
export function verificationStatistics({ statistics, durationMs }: VerificationContent): Statistic[] {
	const { rows } = statistics;
	return [
		...valueStatistics(statistics),
		...missingStatistics(statistics),
		...groupStatistics(statistics),
		...edgeStatistics(statistics),
		...checkStatistics(statistics),
		...(rows === 0
			? []
			: [
					{
						name: 'Time',
						value: `${formatDuration(durationMs / rows / 1000)}/row`,
						note: `${formatDuration(durationMs / 1000)} total`,
						level: 'plain' as const,
						meaning: 'Scoring time, excluding process startup.',
					},
				]),
	];
}

function valueStatistics(s: VerificationNumbers): Statistic[] {
	const list: Statistic[] = [
		{
			name: 'Mean',
			value: s.mean === null ? '–' : `${formatValue(s.mean)} ± ${formatValue(s.std ?? 0)}`,
			note: s.valued === s.rows ? formatCounted(s.rows, 'row') : `${of(s.valued, s.rows)} rows with a value`,
			level: s.valued === 0 ? 'notice' : 'plain',
			meaning: 'Mean and sample standard deviation (n − 1) over rows with a value.',
		},
	];
	if (s.min !== null && s.max !== null) {
		list.push({
			name: 'Range',
			value: s.min === s.max ? formatNumber(s.min, 3) : `${formatNumber(s.min, 3)} to ${formatNumber(s.max, 3)}`,
			level: s.min === s.max && s.valued > 1 ? 'notice' : 'plain',
			...(s.min === s.max && s.valued > 1 ? { note: 'all values are equal' } : {}),
			meaning: 'Minimum and maximum value.',
		});
	}
	if (s.agreement !== null) {
		const { agreed, problems } = s.agreement;
		list.push({
			name: 'Correct above incorrect',
			value: share(agreed, problems),
			note: `${of(agreed, problems)} problems`,
			level: agreed < problems ? 'notice' : 'plain',
			meaning:
				'Percentage of problems whose correct answer scores strictly higher than every incorrect one. This percentage can be low for rewards that do not check the answer, such as format rewards.',
			rows: { kind: 'surprising' },
		});
	}
	return list;
}

function missingStatistics(s: VerificationNumbers): Statistic[] {
	return [
		{
			name: 'Not applicable',
			value: share(s.nulls, s.rows),
			note: formatCounted(s.nulls, 'null'),
			level: s.rows > 0 && s.nulls === s.rows ? 'notice' : 'plain',
			meaning: 'Rows where the reward returned null. The reward is excluded from the total for these rows.',
			rows: { kind: 'nulls' },
		},
		{
			name: 'Errors',
			value: formatCount(s.errors),
			note: s.errors === 0 ? 'none' : share(s.errors, s.rows),
			level: s.errors > 0 ? 'bad' : 'plain',
			meaning: 'Rows where the reward failed with an exception, a timeout, or a value that is not a finite number.',
			rows: { kind: 'errors' },
		},
	];
}

function groupStatistics(s: VerificationNumbers): Statistic[] {
	if (s.groups === 0) return [];
	return [
		{
			name: 'Dead groups',
			value: formatCount(s.deadGroups),
			note: of(s.deadGroups, s.groups),
			level: 2 * s.deadGroups >= s.groups ? 'notice' : 'plain',
			meaning:
				'Groups of two or more rows with equal values. If this is the only reward, their advantages are zero, so GRPO gets no gradient from them.',
			rows: { kind: 'dead' },
		},
		{
			name: 'SD within groups',
			value: `± ${formatNumber(s.withinGroupStd, 2)}`,
			note: formatCounted(s.groups, 'group'),
			level: s.withinGroupStd === 0 ? 'notice' : 'plain',
			meaning:
				'Mean sample standard deviation within groups. Shows how well the reward separates completions for the same prompt.',
		},
	];
}

function edgeStatistics(s: VerificationNumbers): Statistic[] {
	if (s.ceiling === null || s.floor === null) return [];
	const edge = (value: number | null) =>
		value === null ? {} : { rows: { range: { low: value, high: value, open: false } } };
	return [
		{
			name: 'At max',
			value: formatPercent(s.ceiling, 1),
			note: `at ${formatNumber(s.max, 3)}`,
			level: s.ceiling > 0.9 ? 'notice' : 'plain',
			meaning: 'Percentage of rows at the maximum value. If close to 100%, there is nothing left to learn.',
			...edge(s.max),
		},
		{
			name: 'At min',
			value: formatPercent(s.floor, 1),
			note: `at ${formatNumber(s.min, 3)}`,
			level: s.floor > 0.9 ? 'notice' : 'plain',
			meaning: 'Percentage of rows at the minimum value. If close to 100%, the reward is too sparse.',
			...edge(s.min),
		},
	];
}

/** Labeled cases, and values that a run has recorded. */
function checkStatistics(s: VerificationNumbers): Statistic[] {
	const list: Statistic[] = [];
	const cases = s.cases.passed + s.cases.failed;
	if (cases > 0) {
		list.push({
			name: 'Labeled cases',
			value: s.cases.failed === 0 ? 'all pass' : `${formatCount(s.cases.failed)} fail`,
			note: `${of(s.cases.passed, cases)} pass`,
			level: s.cases.failed > 0 ? 'bad' : 'plain',
			meaning: 'Labeled cases with the expected value: an exact number (within 1e-9), a range, or null.',
			rows: s.cases.failed > 0 ? { kind: 'failed' } : { source: 'case' },
		});
	}
	const recorded = s.recorded.same + s.recorded.different;
	if (recorded > 0) {
		list.push({
			name: 'Different from run',
			value: formatCount(s.recorded.different),
			note: of(s.recorded.different, recorded),
			level: s.recorded.different > 0 ? 'notice' : 'plain',
			meaning:
				'Rollouts whose value differs from the one recorded by the run. If 0, the current code gives the same values as the code that the run was trained with.',
			rows: { kind: 'different' },
		});
	}
	return list;
}

/** Returns comparison statistics. */
export function comparisonStatistics({ summary: s, total, groups, before, after }: ComparisonContent): Statistic[] {
	const dead = groups.filter(({ variance }) => variance === 'dead').length;
	return [
		{
			name: 'Mean before',
			value: formatNumber(s.meanBefore, 3),
			note: before,
			level: 'plain',
			meaning: 'Mean of the first reward over rows with a value.',
		},
		{
			name: 'Mean after',
			value: formatNumber(s.meanAfter, 3),
			note: after,
			level: 'plain',
			meaning: 'Mean of the second reward over rows with a value.',
		},
		{
			name: 'Changed',
			value: formatCount(s.changed),
			note: of(s.changed, total),
			level: 'plain',
			meaning: 'Rollouts whose value differs between the two rewards.',
			rows: { kind: 'changed' },
		},
		{
			name: 'Flipped',
			value: formatCount(s.flipped),
			note: of(s.flipped, total),
			level: s.flipped > 0 ? 'notice' : 'plain',
			meaning: 'Rollouts whose value crosses the midpoint of the overall range, or changes to or from null.',
			rows: { kind: 'flipped' },
		},
		{
			name: 'Rank correlation',
			value: formatNumber(s.rankCorrelation, 3),
			...(s.rankCorrelation === null ? { note: 'one reward is constant' } : {}),
			level: s.rankCorrelation !== null && s.rankCorrelation < 0.5 ? 'notice' : 'plain',
			meaning:
				'Mean Spearman rank correlation within groups where neither reward is constant. 1 means that both rank completions identically.',
		},
		{
			name: 'Groups revived',
			value: formatCount(s.gained),
			note: of(s.gained, groups.length),
			level: 'plain',
			meaning: 'Groups whose values are equal before but not after. They now contribute a gradient.',
		},
		{
			name: 'Groups killed',
			value: formatCount(s.lost),
			note: `${of(s.lost, groups.length)}; ${formatCount(dead)} dead in both`,
			level: s.lost > 0 ? 'notice' : 'plain',
			meaning: 'Groups whose values are equal after but not before. They no longer contribute a gradient.',
		},
		{
			name: 'Advantage sign flips',
			value: formatCount(s.advantageFlips),
			note: of(s.advantageFlips, total),
			level: s.advantageFlips > 0 ? 'notice' : 'plain',
			meaning: 'Rollouts whose advantage changes sign.',
			rows: { kind: 'advantage' },
		},
	];
}
