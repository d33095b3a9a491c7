import type { VerifiedRow } from '../../../protocol/verification.ts';
import { moments } from './moments.ts';

/** Spread of a reward over the completions for one prompt, which is the signal GRPO learns from. */
export interface GroupSpread {
	readonly group: number;
	/** Prompt of the first row in the group. */
	readonly prompt: string;
	/** Row indices, including rows without a value. */
	readonly rows: readonly number[];
	/** Non-null values in row order; at least two. */
	readonly values: readonly number[];
	readonly mean: number;
	/** Sample standard deviation (n - 1). */
	readonly std: number;
	/** Whether all values are equal, so the group has no gradient. */
	readonly dead: boolean;
}

/** Row fields used to compute group spreads. */
type SpreadRow = Pick<VerifiedRow, 'group' | 'prompt' | 'value'>;

/** Returns the groups with at least two values, in order of first occurrence. */
export function groupSpreads(rows: readonly SpreadRow[]): GroupSpread[] {
	const groups = new Map<number, number[]>();
	for (const [i, { group }] of rows.entries()) {
		if (group === null) continue;
		const members = groups.get(group);
		if (members === undefined) groups.set(group, [i]);
		else members.push(i);
	}
	const spreads: GroupSpread[] = [];
	for (const [group, members] of groups) {
		const values = members.map((i) => (rows[i] as SpreadRow).value).filter((value) => value !== null);
		const found = moments(values);
		if (found === null || values.length < 2) continue;
		const { mean, std, min, max } = found;
		const prompt = (rows[members[0] as number] as SpreadRow).prompt;
		spreads.push({ group, prompt, rows: members, values, mean, std, dead: min === max });
	}
	return spreads;
}
