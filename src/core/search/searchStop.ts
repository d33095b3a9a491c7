import type { StopReason } from '../../protocol/treeLog.ts';

/** Thrown by operators when the search cannot go on. Strategies let it pass; `runSearch` makes the search's end of it. */
export class SearchStop extends Error {
	override readonly name = 'SearchStop';
	readonly reason: StopReason;

	/** @param message one sentence for people, where the reason alone does not say what happened */
	constructor(reason: StopReason, message = '') {
		super(message);
		this.reason = reason;
	}
}

/** Whether a search ended because something of its budget is used up. */
export const isBudget = (reason: StopReason): boolean => !['stopped', 'scorer', 'policy'].includes(reason);
