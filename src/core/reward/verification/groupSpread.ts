import type { VerifiedRow } from '../../../protocol/verification.ts';
import { moments } from './moments.ts';

/** How a reward distinguishes the completions of one prompt, which is what GRPO learns from. */
export interface GroupSpread {
	readonly group: number;
	/** Prompt of its first row. */
	readonly prompt: string;
	/** Indices in the list of rows, including rows without a value. */
	readonly rows: readonly number[];
	/** Values in row order, without nulls; at least two. */
	readonly values: readonly number[];
	readonly mean: number;
	/** Sample standard deviation (n - 1). */
	readonly std: number;
	/** Whether all values are equal, so that the group has no gradient. */
	readonly dead: boolean;
}

/** The required fields of a row. */
type SpreadRow = Pick<VerifiedRow, 'group' | 'prompt' | 'value'>;

/** Groups with at least two valued rows, in order of first occurrence. */
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
