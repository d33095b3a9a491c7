import { verificationStatistics } from '../../../../../src/core/reward/verification/verificationStatistics.ts';
import type { Verification, VerifiedRow } from '../../../../../src/protocol/verification.ts';

/** Builds a verified row with defaults for everything irrelevant to a test. */
export function verified(value: number | null, changes: Partial<VerifiedRow> = {}): VerifiedRow {
	return {
		source: 'rollout',
		label: 'a row',
		group: null,
		prompt: 'p',
		completion: 'c',
		answer: null,
		truncated: false,
		value,
		others: {},
		...changes,
	};
}

export const failed = (changes: Partial<VerifiedRow> = {}): VerifiedRow =>
	verified(null, { error: { kind: 'threw', message: 'KeyError' }, ...changes });

export function verificationOf(rows: readonly VerifiedRow[], changes: Partial<Verification> = {}): Verification {
	return {
		format: 1,
		file: '/p/rewards/brevity.reward.ts',
		reward: 'brevity',
		data: [],
		remarks: [],
		rows: [...rows],
		statistics: verificationStatistics(rows),
		faults: [],
		coverage: null,
		logs: [],
		durationMs: rows.length * 0.012,
		...changes,
	};
}
