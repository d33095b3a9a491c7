import * as vscode from 'vscode';
import { commandIds } from '../ids.ts';
import { Lazy } from '../lazy.ts';
import type { TrainingWorkbench } from '../trainingWorkbench.ts';
import type { PanelServices } from './registerPanels.ts';
import type { PytorchServices } from './registerPytorch.ts';
import type { RewardServices } from './registerRewards.ts';
import type { RunServices } from './registerRuns.ts';
import type { WindowServices } from './registerWindow.ts';

/** Services for handling recipes, starting runs and pipelines, and notifying the user when they pause or end. */
export interface TrainingServices {
	readonly training: Lazy<TrainingWorkbench>;
}

export function registerTraining(
	services: WindowServices & RunServices & PytorchServices & RewardServices & PanelServices,
): TrainingServices {
	const { context, keep, extension, storage, notices, documents, table, client } = services;
	const { registry, store, pipelines, tree, picker, pytorch, environment, openDashboard, openPipelineGraph } = services;
	const training = keep(
		new Lazy(async () => {
			const { TrainingWorkbench } = await import('../trainingWorkbench.ts');
			return new TrainingWorkbench({
				...{ extension, storage, notices, client, store, pipelines, tree, pytorch, environment, openDashboard },
				openPipelineGraph,
				memory: context.workspaceState,
			});
		}),
	);
	table.addLater(
		[
			...[commandIds.pauseRun, commandIds.continueRun, commandIds.stopRun],
			...[commandIds.saveCheckpoint, commandIds.setHyperparameters],
		],
		async () => {
			const [{ controlCommands }, { controller }] = await Promise.all([
				import('../commands/controlCommands.ts'),
				training.get(),
			]);
			return controlCommands({ picker, controller, notices });
		},
	);
	table.addLater(
		[
			...[commandIds.startDemoRun, commandIds.newProject, commandIds.startRun, commandIds.estimateMemory],
			...[commandIds.resumeRun, commandIds.resumeFromCheckpoint],
		],
		async () => {
			const [{ startCommands }, { starter }] = await Promise.all([
				import('../commands/startCommands.ts'),
				training.get(),
			]);
			return startCommands({
				...{ picker, starter, notices, storage },
				estimate: async (recipe) => (await pytorch.get()).memory.show(recipe),
				rewards: services.rewardFiles,
				templates: vscode.Uri.joinPath(extension, 'media', 'templates'),
			});
		},
	);
	table.addLater(
		[
			...[commandIds.resumePipeline, commandIds.stopPipeline, commandIds.startPipelineAgain],
			...[commandIds.openPipeline, commandIds.openPipelineGraph],
			...[commandIds.openPipelineFolder, commandIds.openPipelineLog, commandIds.openPipelineRecipe],
			commandIds.trashPipeline,
		],
		async () => {
			const [{ pipelineCommands }, { starter }] = await Promise.all([
				import('../pipelines/pipelineCommands.ts'),
				training.get(),
			]);
			return pipelineCommands({
				...{ pipelines, store, starter, notices, documents, openDashboard },
				openGraph: openPipelineGraph,
				registry: await registry(),
			});
		},
	);
	return { training };
}
