import type * as vscode from 'vscode';
import type { AgentFeatures } from './extension/agents/agentFeatures.ts';
import type { LazyEnvironments } from './extension/environments/lazyEnvironments.ts';
import type { Notices } from './extension/notices.ts';
import { openAtStart } from './extension/openAtStart.ts';
import type { DatasetEditors } from './extension/panels/dataset/datasetEditors.ts';
import { RecipeLenses } from './extension/pipelines/recipeLenses.ts';
import type { LazyPolicies } from './extension/policies/lazyPolicies.ts';
import type { LazyPytorch } from './extension/pytorch/lazyPytorch.ts';
import { registerEnvironments } from './extension/register/registerEnvironments.ts';
import { registerPanels } from './extension/register/registerPanels.ts';
import { registerPytorch } from './extension/register/registerPytorch.ts';
import { registerRewards } from './extension/register/registerRewards.ts';
import { registerRuns } from './extension/register/registerRuns.ts';
import { registerSearches } from './extension/register/registerSearches.ts';
import { registerTraining } from './extension/register/registerTraining.ts';
import { registerWindow } from './extension/register/registerWindow.ts';
import type { LazyRewards } from './extension/rewards/lazyRewards.ts';
import type { RewardsTree } from './extension/rewards/rewardsTree.ts';
import { RewardTests } from './extension/rewardTests/rewardTests.ts';
import type { RunStore } from './extension/runStore.ts';
import type { RunsTree } from './extension/runsTree.ts';
import type { LazySearches } from './extension/search/lazySearches.ts';
import { RowLens } from './extension/search/rowLens.ts';
import { TraceFeatures } from './extension/traces/traceFeatures.ts';
import { TranscriptContext } from './extension/transcriptContext.ts';

/** The extension's exported API, for tests. */
export interface ExtensionApi {
	readonly runStore: RunStore;
	readonly runsTree: RunsTree;
	readonly notices: Notices;
	readonly rewards: LazyRewards;
	readonly rewardsTree: RewardsTree;
	readonly environments: LazyEnvironments;
	readonly searches: LazySearches;
	readonly policies: LazyPolicies;
	readonly pytorch: LazyPytorch;
	readonly datasets: DatasetEditors;
	/** null immediately after activation. */
	readonly rewardTests: RewardTests | null;
	/** null immediately after activation. */
	readonly agents: AgentFeatures | null;
}

/** Composition root: each area of the extension depends only on areas created before it. */
export function activate(context: vscode.ExtensionContext): ExtensionApi {
	const window = registerWindow(context);
	const { keep, notices } = window;
	const runs = { ...window, ...registerRuns(window) };
	const python = { ...runs, ...registerPytorch(runs) };
	const rewarded = { ...python, ...registerRewards(python) };
	const { environments } = registerEnvironments(rewarded);
	const searching = { ...rewarded, ...registerSearches(rewarded) };
	const shown = { ...searching, ...registerPanels(searching) };
	const { diagnostics } = registerTraining(shown);
	const { store, tree, pipelines, rewards, rewardsTree, rewardFiles, searches, policies, pytorch, datasets } = shown;
	keep(new TraceFeatures());
	const transcriptContext = keep(new TranscriptContext());
	let rewardTests: RewardTests | null = null;
	let agents: AgentFeatures | null = null;
	// Defer the first disk access until after activation.
	setImmediate(() => {
		diagnostics.start();
		// Creating the test controller takes longer than the rest of activation.
		rewardTests = keep(new RewardTests({ files: rewardFiles, workbench: () => rewards.get() }));
		store.start();
		rewards.start();
		environments.start();
		transcriptContext.start();
		keep(new RowLens());
		void import('./extension/agents/agentFeatures.ts').then(({ AgentFeatures: Features }) => {
			agents = keep(new Features(context));
		});
		keep(new RecipeLenses(pipelines));
		openAtStart(context.workspaceState, async (folder) => {
			await tree.reveal(await store.expect(folder));
			void shown.openDashboard(folder);
		});
	});
	return {
		...{
			runStore: store,
			runsTree: tree,
			notices,
			rewards,
			rewardsTree,
			environments,
			searches,
			policies,
			pytorch,
			datasets,
		},
		get rewardTests() {
			return rewardTests;
		},
		get agents() {
			return agents;
		},
	};
}
