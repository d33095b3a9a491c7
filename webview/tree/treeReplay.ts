import { SearchTree } from '../../src/core/search/searchTree.ts';
import type { TreeEvent } from '../../src/protocol/treeLog.ts';

/** The tree as it was after a number of events. */
export interface TreeReplay {
	at(moment: number): SearchTree;
}

/**
 * Goes forward from where it was, or from the beginning. One tree is kept and changed: who holds it sees it move.
 */
export function replayOf(events: readonly TreeEvent[]): TreeReplay {
	let tree = new SearchTree();
	return {
		at: (moment) => {
			if (moment < tree.events) tree = new SearchTree();
			for (let i = tree.events; i < moment; i++) tree.apply(events[i] as TreeEvent);
			return tree;
		},
	};
}
