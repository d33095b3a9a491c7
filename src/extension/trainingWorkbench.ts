import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import type { EngineName } from '../protocol/runRecord.ts';
import { isPipelineFolder } from '../runs/runFolders.ts';
import { EndNotification } from './endNotification.ts';
import { type CommandId, commandIds } from './ids.ts';
import type { Notices } from './notices.ts';
import { openLog } from './openLog.ts';
import { PauseNotification } from './pauseNotification.ts';
import { PipelineNotification } from './pipelines/pipelineNotification.ts';
import type { PipelineStore } from './pipelines/pipelineStore.ts';
import type { LazyPytorch } from './pytorch/lazyPytorch.ts';
import { RecipeDiagnostics } from './recipeDiagnostics.ts';
import { RecipeFixes } from './recipeFixes.ts';
import { RecipeLinks } from './recipeLinks.ts';
import type { RewardEnvironment } from './rewards/rewardEnvironment.ts';
import { RunController } from './runController.ts';
import { RunStarter } from './runStarter.ts';
import type { RunStore } from './runStore.ts';
import type { RunsTree } from './runsTree.ts';
import type { RunView } from './runView.ts';

export interface TrainingNeeds {
	/** The extension's folder. */
	readonly extension: vscode.Uri;
	/** Folder shared by all windows. */
	readonly storage: vscode.Uri;
	readonly memory: vscode.Memento;
	readonly notices: Notices;
	/** Name of this extension in engine logs. */
	readonly client: string;
	readonly store: RunStore;
	readonly pipelines: PipelineStore;
	readonly tree: RunsTree;
	readonly pytorch: LazyPytorch;
	readonly environment: RewardEnvironment;
	readonly openDashboard: (folder: string) => unknown;
	readonly openPipelineGraph: (folder: string) => unknown;
}

/** Starts and controls runs and pipelines, checks recipes, and notifies the user when runs pause or end. */
export class TrainingWorkbench extends Disposable {
	readonly diagnostics = this.register(new RecipeDiagnostics());
	readonly fixes = this.register(new RecipeFixes());
	readonly controller: RunController;
	readonly starter: RunStarter;

	constructor(needs: TrainingNeeds) {
		super();
		const { extension, storage, memory, notices, client, store, pipelines, tree, pytorch, openDashboard } = needs;
		const { diagnostics } = this;
		this.register(new RecipeLinks(extension));
		const controller = new RunController(store, notices, client);
		const resume = (view: RunView) => this.starter.resume(view);
		const ends = this.register(
			new EndNotification({
				...{ store, notices, memory, storage, openDashboard, openLog, resume },
				isStage: (folder) => isPipelineFolder(dirname(folder)),
			}),
		);
		const call = (command: CommandId) => (folder: string) => vscode.commands.executeCommand(command, folder);
		const pipelineEnds = this.register(
			new PipelineNotification({
				...{ pipelines, notices, memory, storage },
				openStage: call(commandIds.openPipeline),
				openLog: call(commandIds.openPipelineLog),
				exportReport: call(commandIds.exportReport),
				resume: call(commandIds.resumePipeline),
			}),
		);
		this.register(
			new PauseNotification({
				...{ store, notices, storage, openDashboard, openLog },
				continue: (view) => controller.continue(view),
			}),
		);
		this.controller = controller;
		this.starter = new RunStarter({
			...{ extension, store, tree, notices, diagnostics, openDashboard, openLog },
			environment: (recipe) => needs.environment.of(recipe),
			torch: (engine, retry, from) => pytorch.forRun(engine, retry, from),
			mayStart: (recipe, engine) => pytorch.mayStart(recipe, engine),
			expectPipeline: async ({ folder, record }) => {
				await store.adopt(folder);
				await pipelines.expect(folder);
				pipelineEnds.expect(folder, record);
				needs.openPipelineGraph(folder);
			},
			pipelineEngine: async (folder): Promise<EngineName> => {
				const { readPipelineRecipe } = await import('../runs/pipeline/pipelineFolder.ts');
				return (await readPipelineRecipe(folder)).engine;
			},
			holdEnd: (folder) => ends.hold(folder),
		});
	}
}
