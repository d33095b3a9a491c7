import type * as vscode from 'vscode';
import type { BackgroundFeatures } from './extension/backgroundFeatures.ts';
import type { LazyEnvironments } from './extension/environments/lazyEnvironments.ts';
import { commandIds } from './extension/ids.ts';
import { Lazy } from './extension/lazy.ts';
import { extendMarkdownIt } from './extension/markdownPreviews.ts';
import type { Notices } from './extension/notices.ts';
import { openAtStart } from './extension/openAtStart.ts';
import type { DatasetEditors } from './extension/panels/dataset/datasetEditors.ts';
import type { LazyPolicies } from './extension/policies/lazyPolicies.ts';
import type { LazyPytorch } from './extension/pytorch/lazyPytorch.ts';
import { type EpisodePanels, registerEnvironments } from './extension/register/registerEnvironments.ts';
import { registerPanels } from './extension/register/registerPanels.ts';
import { registerPytorch } from './extension/register/registerPytorch.ts';
import { registerRewards } from './extension/register/registerRewards.ts';
import { registerRuns } from './extension/register/registerRuns.ts';
import { registerSearches } from './extension/register/registerSearches.ts';
import { registerTraining } from './extension/register/registerTraining.ts';
import { registerWindow } from './extension/register/registerWindow.ts';
import type { LazyRewards } from './extension/rewards/lazyRewards.ts';
import type { RewardsTree } from './extension/rewards/rewardsTree.ts';
import type { RunStore } from './extension/runStore.ts';
import type { RunsTree } from './extension/runsTree.ts';
import type { LazySearches } from './extension/search/lazySearches.ts';
import { TraceFeatures } from './extension/traces/traceFeatures.ts';

/** The extension's exported API, for Markdown previews and tests. */
export interface ExtensionApi {
	readonly runStore: RunStore;
	readonly runsTree: RunsTree;
	readonly notices: Notices;
	readonly rewards: LazyRewards;
	readonly rewardsTree: RewardsTree;
	readonly environments: LazyEnvironments;
	readonly episodes: EpisodePanels;
	readonly searches: LazySearches;
	readonly policies: LazyPolicies;
	readonly pytorch: LazyPytorch;
	readonly datasets: DatasetEditors;
	readonly background: Lazy<BackgroundFeatures>;
	/** Called by the editor's Markdown previews. */
	readonly extendMarkdownIt: typeof extendMarkdownIt;
}

/** Composition root: each area of the extension depends only on areas created before it. */
export function activate(context: vscode.ExtensionContext): ExtensionApi {
	const window = registerWindow(context);
	const { keep, notices } = window;
	const runs = { ...window, ...registerRuns(window) };
	const python = { ...runs, ...registerPytorch(runs) };
	const rewarded = { ...python, ...registerRewards(python) };
	const { environments, episodes } = registerEnvironments(rewarded);
	const searching = { ...rewarded, ...registerSearches({ ...rewarded, environments }) };
	const shown = { ...searching, ...registerPanels({ ...searching, environments, episodes }) };
	const { training } = registerTraining(shown);
	const { store, tree, pipelines, rewards, rewardsTree, rewardFiles, searches, policies, pytorch, datasets } = shown;
	keep(new TraceFeatures());
	const background = keep(
		new Lazy(async () => {
			const { BackgroundFeatures } = await import('./extension/backgroundFeatures.ts');
			const chat = { store, client: window.client, policies: () => policies.get(), torch: () => pytorch.ifThere() };
			return new BackgroundFeatures({
				context,
				pipelines,
				rewards,
				rewardFiles,
				environments,
				chat,
				table: window.table,
				notices: window.notices,
				views: window.panels.views,
				log: (message) => window.log.warn(message),
			});
		}),
	);
	window.table.add(commandIds.backFromAgent, async () => (await background.get()).agents.undoView());
	const start = async () => {
		try {
			// Do not read runs until the notifications are listening, so that no event is missed.
			await Promise.all([training.get(), shown.diagnosis.get()]);
		} finally {
			store.start();
		}
		rewards.start();
		environments.start();
		openAtStart(context.workspaceState, async (folder) => {
			await tree.reveal(await store.expect(folder));
			void shown.openDashboard(folder);
		});
		await background.get();
	};
	// Defers the first disk access, and the code that activation does not need, until after activation.
	setImmediate(() => void start().catch((error: unknown) => notices.failure(error)));
	return {
		runStore: store,
		runsTree: tree,
		notices,
		rewards,
		rewardsTree,
		environments,
		episodes,
		searches,
		policies,
		pytorch,
		datasets,
		background,
		extendMarkdownIt,
	};
}
