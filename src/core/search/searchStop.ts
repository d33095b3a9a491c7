import type { StopReason } from '../../protocol/treeLog.ts';

/**
 * Thrown by operators if the search cannot continue. Strategies should let it propagate; `runSearch` converts it into
 * the end of the search.
 */
export class SearchStop extends Error {
	override readonly name = 'SearchStop';
	readonly reason: StopReason;

	/** @param message a sentence for display, if the reason alone is not sufficient */
	constructor(reason: StopReason, message = '') {
		super(message);
		this.reason = reason;
	}
}

/** Returns whether a search ended because part of its budget was exhausted. */
export const isBudget = (reason: StopReason): boolean =>
	!['stopped', 'scorer', 'policy', 'environment'].includes(reason);
