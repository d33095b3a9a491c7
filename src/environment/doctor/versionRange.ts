import { atLeast } from '../machine/machineFacts.ts';

/** How a version lies to a range. */
export type RangeVerdict = 'inside' | 'older' | 'newer';

/** A line of a requirement file with bounds: `trl>=1.13,<2`. */
export interface VersionRange {
	readonly name: string;
	/** `>=1.13,<2` */
	readonly text: string;
}

export function rangeOf(line: string): VersionRange {
	const [, name = line, text = ''] = /^([\w.-]+)(?:\[[^\]]*\])?\s*(.*)$/.exec(line) ?? [];
	return { name: name.toLowerCase(), text };
}

/** Local parts (`2.13.0+cpu`) and what follows the numbers do not count. */
export function judgeVersion(version: string, { text }: VersionRange): RangeVerdict {
	for (const [, operator, bound = ''] of text.matchAll(/(>=|<=|<|>|==)\s*([\d.]+)/g)) {
		const [above, below] = [atLeast(version, bound), atLeast(bound, version)];
		if ((operator === '>=' || operator === '==') && !above) return 'older';
		if (operator === '>' && below) return 'older';
		if ((operator === '<=' || operator === '==') && !below) return 'newer';
		if (operator === '<' && above) return 'newer';
	}
	return 'inside';
}
