import { atLeast } from '../machine/machineFacts.ts';

/** Position of a version relative to a range. */
export type RangeVerdict = 'inside' | 'older' | 'newer';

/** A version range from a requirements file: `trl>=1.13,<2`. */
export interface VersionRange {
	readonly name: string;
	/** `>=1.13,<2` */
	readonly text: string;
}

export function rangeOf(line: string): VersionRange {
	const [, name = line, text = ''] = /^([\w.-]+)(?:\[[^\]]*\])?\s*(.*)$/.exec(line) ?? [];
	return { name: name.toLowerCase(), text };
}

/** Compares a version with a range. Local parts (`2.13.0+cpu`) and suffixes after the numbers are ignored. */
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
