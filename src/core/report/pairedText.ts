import { formatNumber } from '../../base/format.ts';
import type { PairedComparison } from '../evaluation/pairProblems.ts';
import { changeText } from './numberText.ts';

/** Returns the cells of a comparison: questions, change, gained, lost, p. */
export function pairedText(paired: PairedComparison): string[] {
	if (paired.test === 'none') return ['–', paired.reason, '–', '–', '–'];
	const { problems, difference, gained, lost, p } = paired;
	return [
		String(problems),
		changeText(difference),
		String(gained),
		String(lost),
		p < 0.001 ? '< 0.001' : formatNumber(p),
	];
}
