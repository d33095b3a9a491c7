import type { ResultPart, ResultPlace } from '../../protocol/verificationMessages.ts';
import { commandIds, panelTypes } from '../ids.ts';
import { LazyPanels } from '../lazyPanels.ts';
import { ApiKeys } from '../rewards/apiKeys.ts';
import { addRewardCommands, LazyRewards } from '../rewards/lazyRewards.ts';
import { RewardEnvironment } from '../rewards/rewardEnvironment.ts';
import { RewardFileList } from '../rewards/rewardFileList.ts';
import { RewardsTree } from '../rewards/rewardsTree.ts';
import type { PytorchServices } from './registerPytorch.ts';
import type { RunServices } from './registerRuns.ts';
import type { WindowServices } from './registerWindow.ts';

/** Reward files in the workspace and the editor features for them. */
export interface RewardServices {
	/** Environment for processes that run rewards. */
	readonly environment: RewardEnvironment;
	readonly rewardFiles: RewardFileList;
	readonly rewardsTree: RewardsTree;
	readonly rewards: LazyRewards;
}

export function registerRewards(services: WindowServices & RunServices & PytorchServices): RewardServices {
	const { context, keep, extension, table, notices, documents, panels, store, python } = services;
	const { picker, pipelines, evaluations, pytorch } = services;
	const keys = new ApiKeys(context.secrets, context.globalState);
	const environment = new RewardEnvironment(python, keys);
	const rewardFiles = keep(new RewardFileList());
	const rewardsTree = keep(new RewardsTree(rewardFiles));
	const rewards = keep(
		new LazyRewards(rewardFiles, async () => {
			const { RewardWorkbench } = await import('../rewards/rewardWorkbench.ts');
			return new RewardWorkbench({
				...{ extension, store, notices, documents, python, keys, environment },
				files: rewardFiles,
				tree: rewardsTree,
				results: { show: (place, part) => results.open(place, part) },
			});
		}),
	);
	const results: LazyPanels<ResultPart, ResultPlace> = keep(
		new LazyPanels<ResultPart, ResultPlace>(panelTypes.verification, async () => {
			const { verificationPanels } = await import('../panels/verification/verificationPanel.ts');
			return verificationPanels(panels, await rewards.get());
		}),
	);
	addRewardCommands(table, rewards);
	table.addLater([commandIds.checkSandbox], async () => {
		const { sandboxCommands } = await import('../rewards/sandboxCommands.ts');
		return sandboxCommands({ extension, documents, notices });
	});
	table.addLater([commandIds.exportReport, commandIds.evaluateCheckpoint, commandIds.showEvaluations], async () => {
		const { reportCommands } = await import('../evaluation/reportCommands.ts');
		return reportCommands({
			...{ picker, pipelines, extension, notices, documents },
			environment: async () => ({ ...(await environment.of()), ...(await pytorch.ifThere()) }),
			evaluated: () => evaluations.refresh(),
		});
	});
	return { environment, rewardFiles, rewardsTree, rewards };
}
