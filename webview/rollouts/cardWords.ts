import { formatCounted, formatNumber } from '../../src/base/format.ts';
import type { RolloutDetail, TokenValue } from '../../src/protocol/rolloutsMessages.ts';
import { element } from '../lib/dom.ts';
import { signedNumber } from '../lib/signedBar.ts';
import type { FoldMark } from './identical.ts';
import { tokenViewNames } from './tokenScale.ts';

/** Explains why a card shows plain text in token view. */
export function missingWords(rollout: RolloutDetail, view: TokenValue): string {
	return rollout.hasTokens
		? `${tokenViewNames[view]} was not recorded for this completion.`
		: 'Tokens were not recorded for this completion.';
}

export function verdict(rollout: RolloutDetail): HTMLElement | null {
	if (rollout.correct === null) return null;
	return rollout.correct
		? element('span', { class: 'badge right' }, '✓ Correct')
		: element('span', { class: 'badge wrong' }, '✗ Incorrect');
}

/** Describes the card in one sentence for screen readers. */
export function cardLabel(rollout: RolloutDetail, fold: FoldMark | null = null): string {
	const parts = [`Completion ${rollout.index}`];
	if (rollout.correct !== null) parts.push(rollout.correct ? 'correct' : 'wrong');
	parts.push(`reward ${formatNumber(rollout.reward, 4)}`, `advantage ${signedNumber(rollout.advantage)}`);
	parts.push(
		rollout.tokens === null
			? `${formatCounted(rollout.size, 'character')}`
			: `${formatCounted(rollout.tokens, 'token')}`,
	);
	if (rollout.truncated !== false) parts.push(rollout.truncated ? 'truncated' : 'truncation not recorded');
	if (fold?.first === rollout.index) parts.push(`${fold.count} identical, ${fold.expanded ? 'expanded' : 'folded'}`);
	else if (fold) parts.push(`identical to ${fold.first}`);
	return parts.join(', ');
}
