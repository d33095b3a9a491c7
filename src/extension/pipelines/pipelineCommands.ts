import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { readSmallFile } from '../../files/safeFile.ts';
import { pipelineFiles } from '../../protocol/pipelineFiles.ts';
import type { PipelineView } from '../../runs/pipeline/pipelineView.ts';
import type { RunRegistry } from '../../runs/runRegistry.ts';
import { commandIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import { openLogFile } from '../openLog.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import type { ReadOnlyDocuments } from '../readOnlyDocuments.ts';
import { openFolder } from '../revealFolder.ts';
import type { RunStarter } from '../runStarter.ts';
import type { RunStore } from '../runStore.ts';
import { displayText } from '../runView.ts';
import { isLivePipeline, isResumablePipeline } from './pipelineState.ts';
import type { PipelineStore } from './pipelineStore.ts';

export interface PipelineNeeds {
	readonly pipelines: PipelineStore;
	readonly store: Pick<RunStore, 'refresh'>;
	readonly registry: RunRegistry;
	readonly starter: RunStarter;
	readonly notices: Notices;
	readonly documents: ReadOnlyDocuments;
	readonly openDashboard: (folder: string) => unknown;
	readonly openGraph: (folder: string) => unknown;
}

const anyPipeline = () => true;
const hasEnded = (view: PipelineView) => !isLivePipeline(view);

/**
 * Handlers for the pipeline commands. They act on a pipeline or stage row in the *Runs* view, or on a pipeline the user
 * picks.
 */
export function pipelineCommands(needs: PipelineNeeds) {
	const { pipelines, starter, notices, documents, openDashboard, openGraph } = needs;
	const pick = async (argument: unknown, title: string, applies: (view: PipelineView) => boolean) => {
		if (typeof argument === 'string') {
			const named = pipelines.get(argument) ?? pipelines.around(argument);
			if (named !== undefined) return named;
			throw new Failure('missing', `Pipeline ${argument} not found.`);
		}
		const choices = pipelines.own.filter(applies).map((view) => ({
			label: displayText(view.name),
			description: view.status,
			detail: view.folder,
			view,
		}));
		if (choices.length === 0) void notices.information('No matching pipelines.');
		if (choices.length < 2) return choices[0]?.view;
		return (await showQuickPick(choices, { title }))?.view;
	};
	return {
		/** @returns the folder */
		[commandIds.resumePipeline]: async (argument?: unknown) => {
			const view = await pick(argument, 'Resume a pipeline', isResumablePipeline);
			return view && starter.resumePipeline(view.folder, view.name);
		},
		/** Starts a new pipeline with the same recipe. @returns its folder */
		[commandIds.startPipelineAgain]: async (argument?: unknown) => {
			const view = await pick(argument, 'Start a pipeline again', anyPipeline);
			return view && starter.startPipelineAgain(view.folder, view.name);
		},
		[commandIds.stopPipeline]: async (argument?: unknown) => {
			const view = await pick(argument, 'Stop a pipeline', isLivePipeline);
			if (view === undefined) return;
			const { stopPipeline } = await import('../../runs/pipeline/startPipeline.ts');
			const title = `Stopping ${displayText(view.name)}`;
			await withProgress({ title, why: 'saving checkpoints of the running stages first' }, (signal) =>
				stopPipeline(view.folder, signal),
			);
			await pipelines.refresh();
		},
		[commandIds.openPipelineGraph]: async (argument?: unknown) => {
			const view = await pick(argument, 'Open a pipeline', anyPipeline);
			if (view !== undefined) await openGraph(view.folder);
		},
		/** Opens the currently training stage, or the last one that trained. */
		[commandIds.openPipeline]: async (argument?: unknown) => {
			const view = await pick(argument, 'Open a pipeline stage', anyPipeline);
			if (view === undefined) return;
			const started = view.stages.filter(({ type, done }) => done !== null && type !== 'search' && type !== 'evaluate');
			const stage = started.find(({ status }) => status === 'running') ?? started.at(-1);
			if (stage === undefined)
				throw new Failure('missing', `No stage of ${displayText(view.name)} has started training yet.`);
			await openDashboard(stage.folder);
		},
		/** Reveals the folder of the pipeline, or of the stage whose row was used. */
		[commandIds.openPipelineFolder]: async (argument?: unknown) => {
			const view = await pick(argument, 'Reveal a pipeline folder', anyPipeline);
			if (view === undefined) return;
			const stage = typeof argument === 'string' && (await isFolder(argument)) ? argument : null;
			await openFolder(vscode.Uri.file(stage ?? view.folder));
		},
		[commandIds.openPipelineLog]: async (argument?: unknown) => {
			const view = await pick(argument, 'Open a pipeline log', anyPipeline);
			if (view === undefined) return;
			await openLogFile(join(view.folder, pipelineFiles.log), displayText(view.name), 'runner');
		},
		/** Shows the recipe the pipeline was started with, which is also used to resume it. */
		[commandIds.openPipelineRecipe]: async (argument?: unknown) => {
			const view = await pick(argument, 'Open a pipeline recipe', anyPipeline);
			if (view === undefined) return;
			const text = await readSmallFile(view.folder, pipelineFiles.recipe);
			// Shown as an untitled document, because its relative paths are based on the original recipe's folder.
			await documents.show(`${displayText(view.name)}.recipe.json`, text, { preview: true });
		},
		[commandIds.trashPipeline]: async (argument?: unknown) => {
			const view = await pick(argument, 'Move a pipeline to the trash', hasEnded);
			if (view === undefined) return;
			await trash(view, needs);
		},
	};
}

async function trash(view: PipelineView, { pipelines, store, registry, notices }: PipelineNeeds): Promise<void> {
	const name = displayText(view.name);
	const move = 'Move to Trash';
	const detail = `All ${formatCounted(view.stages.length, 'stage')} will be moved to the ".trash" folder next to the pipeline. You can undo this.`;
	// Ask for confirmation, because a pipeline can contain days of work.
	if ((await vscode.window.showWarningMessage(`Move ${name}?`, { modal: true, detail }, move)) !== move) return;
	const [{ trashPipeline }, { restoreRun }] = await Promise.all([
		import('../../runs/pipeline/trashPipeline.ts'),
		import('../../runs/runActions.ts'),
	]);
	const { path, runs } = await trashPipeline(view.folder);
	const starts = new Map<string, string | undefined>();
	for (const run of [view.folder, ...runs]) starts.set(run, await registry.remove(run));
	const look = async () => {
		await store.refresh();
		await pipelines.refresh();
	};
	await look();
	const undo = async () => {
		const folder = await restoreRun(path);
		for (const [run, started] of starts) await registry.add(run, undefined, started);
		await pipelines.expect(folder);
		await look();
	};
	void notices.information(`${name} moved to the ".trash" folder next to it.`, [{ title: 'Undo', run: undo }]);
}

const isFolder = async (path: string) => (await lstat(path).catch(() => null))?.isDirectory() ?? false;
