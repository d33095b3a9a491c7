import type { VerificationStatistics, VerifiedRow } from '../../../protocol/verification.ts';
import { correlation } from './correlation.ts';
import { groupSpreads } from './groupSpread.ts';
import { moments } from './moments.ts';

const share = (part: number, whole: number) => part / whole;

/** Counts the problems whose correct answer scores strictly higher than each of their wrong answers. */
function agreementOf(rows: readonly VerifiedRow[]): VerificationStatistics['agreement'] {
	const problems = new Map<number, { gold: number | null; wrong: number | null }>();
	for (const { group, source, value } of rows) {
		if (group === null || value === null || (source !== 'gold' && source !== 'wrong')) continue;
		const problem = problems.get(group) ?? { gold: null, wrong: null };
		problem[source] =
			problem[source] === null
				? value
				: source === 'gold'
					? Math.min(problem[source], value)
					: Math.max(problem[source], value);
		problems.set(group, problem);
	}
	let judged = 0;
	let agreed = 0;
	for (const { gold, wrong } of problems.values()) {
		if (gold === null || wrong === null) continue;
		judged++;
		if (gold > wrong) agreed++;
	}
	return judged === 0 ? null : { problems: judged, agreed };
}

/** Compares values with the recorded ones. JSON preserves doubles exactly, so equal rewards compare equal. */
function recordedOf(rows: readonly VerifiedRow[]): VerificationStatistics['recorded'] {
	let same = 0;
	let different = 0;
	for (const { recorded, value } of rows) {
		if (recorded === undefined) continue;
		if (Object.is(recorded, value) || recorded === value) same++;
		else different++;
	}
	return { same, different };
}

/** Computes statistics over all rows, in linear time. */
export function verificationStatistics(rows: readonly VerifiedRow[]): VerificationStatistics {
	const values = rows.map((row) => row.value);
	const valued = values.filter((value) => value !== null);
	const errors = rows.filter((row) => row.error !== undefined).length;
	const found = moments(valued);
	const spreads = groupSpreads(rows);
	const varied = found !== null && found.min !== found.max;
	const atEnd = (end: number) => share(valued.filter((value) => value === end).length, valued.length);
	const names = new Set(rows.flatMap((row) => Object.keys(row.others)));
	return {
		rows: rows.length,
		valued: valued.length,
		mean: found?.mean ?? null,
		std: found?.std ?? null,
		min: found?.min ?? null,
		max: found?.max ?? null,
		nulls: rows.length - valued.length - errors,
		errors,
		ceiling: varied ? atEnd(found.max) : null,
		floor: varied ? atEnd(found.min) : null,
		agreement: agreementOf(rows),
		groups: spreads.length,
		deadGroups: spreads.filter(({ dead }) => dead).length,
		withinGroupStd: spreads.length === 0 ? null : spreads.reduce((sum, { std }) => sum + std / spreads.length, 0),
		cases: {
			passed: rows.filter(({ passed }) => passed === true).length,
			failed: rows.filter(({ passed }) => passed === false).length,
		},
		recorded: recordedOf(rows),
		correlation: Object.fromEntries(
			[...names].map((name) => {
				const others = rows.map((row) => (Object.hasOwn(row.others, name) ? (row.others[name] ?? null) : null));
				return [name, correlation(values, others)];
			}),
		),
	};
}
