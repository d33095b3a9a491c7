import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { isPipelineFolder } from '../../runs/runRegistry.ts';
import { openLog } from '../commands/openCommands.ts';
import { addStartCommands } from '../commands/startCommands.ts';
import { EndNotification } from '../endNotification.ts';
import { type CommandId, commandIds } from '../ids.ts';
import { PauseNotification } from '../pauseNotification.ts';
import { addPipelineCommands } from '../pipelines/pipelineCommands.ts';
import { PipelineNotification } from '../pipelines/pipelineNotification.ts';
import { RecipeDiagnostics } from '../recipeDiagnostics.ts';
import { RunStarter } from '../runStarter.ts';
import type { RunView } from '../runView.ts';
import type { PanelServices } from './registerPanels.ts';
import type { PytorchServices } from './registerPytorch.ts';
import type { RewardServices } from './registerRewards.ts';
import type { RunServices } from './registerRuns.ts';
import type { WindowServices } from './registerWindow.ts';

/** Services for handling recipes, starting runs and pipelines, and notifying the user when these pause or end. */
export interface TrainingServices {
	readonly diagnostics: RecipeDiagnostics;
}

export function registerTraining(
	services: WindowServices & RunServices & PytorchServices & RewardServices & PanelServices,
): TrainingServices {
	const { context, keep, extension, storage, notices, documents, table } = services;
	const { registry, store, pipelines, tree, picker, controller, pytorch, environment, openDashboard } = services;
	const memory = context.workspaceState;
	const diagnostics = keep(new RecipeDiagnostics());
	const starter: RunStarter = new RunStarter({
		...{ extension, store, tree, notices, diagnostics, openDashboard, openLog },
		environment: (recipe) => environment.of(recipe),
		torch: (engine, retry, from) => pytorch.forRun(engine, retry, from),
		mayStart: (recipe, engine) => pytorch.mayStart(recipe, engine),
		expectPipeline: async ({ folder, record }) => {
			await pipelines.expect(folder);
			pipelineEnds.expect(folder, record);
		},
		pipelineEngine: async (folder) => {
			const { readPipelineRecipe } = await import('../../runs/pipeline/pipelineFolder.ts');
			return (await readPipelineRecipe(folder)).engine;
		},
		holdEnd: (folder) => ends.hold(folder),
	});
	const resume = (view: RunView) => starter.resume(view);
	const ends: EndNotification = keep(
		new EndNotification({
			...{ store, notices, memory, storage, openDashboard, openLog, resume },
			isStage: (folder) => isPipelineFolder(dirname(folder)),
		}),
	);
	const call = (command: CommandId) => (folder: string) => vscode.commands.executeCommand(command, folder);
	const pipelineEnds: PipelineNotification = keep(
		new PipelineNotification({
			...{ pipelines, notices, memory, storage },
			openStage: call(commandIds.openPipeline),
			openLog: call(commandIds.openPipelineLog),
			exportReport: call(commandIds.exportReport),
			resume: call(commandIds.resumePipeline),
		}),
	);
	keep(
		new PauseNotification({
			...{ store, notices, storage, openDashboard, openLog },
			continue: (view) => controller.continue(view),
		}),
	);
	addStartCommands(table, {
		...{ picker, starter, notices, storage },
		estimate: async (recipe) => (await pytorch.get()).memory.show(recipe),
		rewards: services.rewardFiles,
		templates: vscode.Uri.joinPath(extension, 'media', 'templates'),
	});
	addPipelineCommands(table, { pipelines, store, registry, starter, notices, documents, openDashboard });
	return { diagnostics };
}
