import { formatCount, formatCounted } from '../../src/base/format.ts';
import { stalenessOf } from '../../src/core/trace/weightVersions.ts';
import type { RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';
import { element } from '../lib/dom.ts';

/** Describes the weights that generated a completion: "versions 3 to 5, up to 4 updates old". */
export function weightsText(weights: NonNullable<RolloutDetail['weights']>): string {
	const { oldest, newest } = weights;
	const mixed = newest !== oldest;
	const versions = mixed
		? `versions ${formatCount(oldest)} to ${formatCount(newest)}`
		: `version ${formatCount(oldest)}`;
	const staleness = stalenessOf(weights);
	if (staleness === null) return versions;
	return `${versions}, ${mixed ? 'up to ' : ''}${formatCounted(staleness, 'update')} old`;
}

export function weightsTerms(weights: RolloutDetail['weights']): HTMLElement[] {
	if (weights === undefined) return [];
	return [element('dt', null, 'Weights'), element('dd', { class: 'card-weights' }, weightsText(weights))];
}
