import type { VerifiedRow } from '../../../protocol/verification.ts';
import { moments } from './moments.ts';

/** How one reward tells the completions of one prompt apart: what GRPO learns from. */
export interface GroupSpread {
	readonly group: number;
	/** Of the prompt of its first row. */
	readonly prompt: string;
	/** Positions in the list of rows, those without a value included. */
	readonly rows: readonly number[];
	/** Values in the order of the rows, without nulls; at least two. */
	readonly values: readonly number[];
	readonly mean: number;
	/** Sample standard deviation (n - 1). */
	readonly std: number;
	/** All values are equal: the group teaches nothing. */
	readonly dead: boolean;
}

/** What is needed of a row. */
type SpreadRow = Pick<VerifiedRow, 'group' | 'prompt' | 'value'>;

/** Groups with at least two valued rows, in the order in which they first occur. */
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
