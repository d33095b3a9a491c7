import type * as vscode from 'vscode';
import type { Notices } from '../notices.ts';
import type { TreePlace } from '../panels/tree/treePanel.ts';
import type { PolicyWorkbench } from '../policies/policyWorkbench.ts';
import type { RewardFileList } from '../rewards/rewardFileList.ts';
import type { RunStore } from '../runStore.ts';
import type { SearchesTree } from './searchesTree.ts';
import type { WindowSearchesOptions } from './windowSearches.ts';

export interface SearchWorkbenchNeeds extends WindowSearchesOptions {
	readonly store: RunStore;
	readonly notices: Notices;
	readonly files: RewardFileList;
	readonly tree: SearchesTree;
	/** Knows what was chosen last. */
	readonly memory: vscode.Memento;
	readonly openTree: (place: TreePlace) => unknown;
	readonly openComparison: (folder: string) => unknown;
	/** Servers that are set up, and what was used last. */
	readonly policies: () => Promise<PolicyWorkbench>;
}
