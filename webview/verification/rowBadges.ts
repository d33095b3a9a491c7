import { formatNumber } from '../../src/base/format.ts';
import { formatValue } from '../../src/core/reward/verification/verificationSummary.ts';
import type { Expectation } from '../../src/protocol/verification.ts';
import type { ComparedSummary, RowSummary } from '../../src/protocol/verificationMessages.ts';

/** Returns "0.62", "null" or "error". */
export function valueText({ value, error }: Pick<RowSummary, 'value' | 'error'>): string {
	if (error !== null) return 'error';
	return value === null ? 'null' : formatValue(value);
}

/** Returns "0.5", "0.5 to 1", "at least 0.5" or "null". */
export function expectationText(expect: Expectation): string {
	if (expect === null) return 'null';
	if (typeof expect === 'number') return formatNumber(expect, 4);
	const { min, max } = expect;
	if (min !== undefined && max !== undefined) return `${formatNumber(min, 4)} to ${formatNumber(max, 4)}`;
	if (min !== undefined) return `at least ${formatNumber(min, 4)}`;
	return max === undefined ? 'any number' : `at most ${formatNumber(max, 4)}`;
}

/** Returns "+0.30", "from null" or "no change". */
export function changeText({ before, after }: Pick<ComparedSummary, 'before' | 'after'>): string {
	if (before === null || after === null)
		return before === after ? 'no value' : before === null ? 'from null' : 'to null';
	const change = after - before;
	return change === 0 ? 'no change' : `${change > 0 ? '+' : ''}${formatNumber(change, 3)}`;
}
