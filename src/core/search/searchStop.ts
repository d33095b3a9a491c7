import type { StopReason } from '../../protocol/treeLog.ts';

/**
 * Thrown by operators when the search cannot continue. Strategies let it propagate; `runSearch` turns it into the end
 * of the search.
 */
export class SearchStop extends Error {
	override readonly name = 'SearchStop';
	readonly reason: StopReason;

	/** @param message one sentence for display, if the reason alone does not explain what happened */
	constructor(reason: StopReason, message = '') {
		super(message);
		this.reason = reason;
	}
}

/** Whether a search ended because part of its budget is exhausted. */
export const isBudget = (reason: StopReason): boolean => !['stopped', 'scorer', 'policy'].includes(reason);
