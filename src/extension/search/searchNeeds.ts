import type * as vscode from 'vscode';
import type { EnvironmentWorkbench } from '../environments/environmentWorkbench.ts';
import type { Notices } from '../notices.ts';
import type { TreePlace } from '../panels/tree/treePanel.ts';
import type { PolicyWorkbench } from '../policies/policyWorkbench.ts';
import type { RewardFileList } from '../rewards/rewardFileList.ts';
import type { RunStore } from '../runStore.ts';
import type { SearchesTree } from './searchesTree.ts';
import type { SearchRequest } from './searchRequest.ts';
import type { WindowSearchesOptions } from './windowSearches.ts';

export interface SearchWorkbenchNeeds extends WindowSearchesOptions {
	readonly store: RunStore;
	readonly notices: Notices;
	readonly files: RewardFileList;
	readonly tree: SearchesTree;
	/** Stores the most recent choices. */
	readonly memory: vscode.Memento;
	readonly openTree: (place: TreePlace) => unknown;
	/** Opens the *New Search* form. */
	readonly openForm: (request: SearchRequest) => unknown;
	readonly openComparison: (folder: string) => unknown;
	/** Configured servers and recently used policies. */
	readonly policies: () => Promise<PolicyWorkbench>;
	/** Runs environments of other libraries to read their rows. */
	readonly environments: () => Promise<EnvironmentWorkbench>;
}
