import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import type { PipelineView } from '../../runs/pipeline/pipelineView.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import type { RunStarter } from '../runStarter.ts';
import { displayText } from '../runView.ts';
import { isLivePipeline, isResumablePipeline, type PipelineStore } from './pipelineStore.ts';

export interface PipelineNeeds {
	readonly pipelines: PipelineStore;
	readonly starter: RunStarter;
	readonly notices: Notices;
	readonly openDashboard: (folder: string) => unknown;
}

/** What the commands on a pipeline do: with its row in the *Runs* view, or one that is picked. */
export function pipelineActions({ pipelines, starter, notices, openDashboard }: PipelineNeeds) {
	const pick = async (argument: unknown, title: string, applies: (view: PipelineView) => boolean) => {
		if (typeof argument === 'string') {
			const named = pipelines.get(argument);
			if (named !== undefined) return named;
			throw new Failure('missing', `${argument} is not a pipeline that is known.`);
		}
		const choices = pipelines.pipelines.filter(applies).map((view) => ({
			label: displayText(view.name),
			description: view.status,
			detail: view.folder,
			view,
		}));
		if (choices.length === 0) void notices.information('There is no pipeline that this is for.');
		if (choices.length < 2) return choices[0]?.view;
		return (await vscode.window.showQuickPick(choices, { title }))?.view;
	};
	const resume = async (argument?: unknown) => {
		const view = await pick(argument, 'Resume a pipeline', isResumablePipeline);
		return view && starter.resumePipeline(view.folder, view.name);
	};
	const stop = async (argument?: unknown) => {
		const view = await pick(argument, 'Stop a pipeline', isLivePipeline);
		if (view === undefined) return;
		const { stopPipeline } = await import('../../runs/pipeline/startPipeline.ts');
		const title = `Stopping ${displayText(view.name)}`;
		await withProgress({ title, why: 'its running stage saves a checkpoint first' }, () => stopPipeline(view.folder));
		await pipelines.refresh();
	};
	const open = async (argument?: unknown) => {
		const view = await pick(argument, 'Open the stage of a pipeline', () => true);
		if (view === undefined) return;
		const begun = view.stages.filter(({ type, done }) => done !== null && type !== 'search' && type !== 'evaluate');
		const stage = begun.find(({ status }) => status === 'running') ?? begun.at(-1);
		if (stage === undefined) throw new Failure('missing', `No stage of ${displayText(view.name)} has begun to train.`);
		await openDashboard(stage.folder);
	};
	return { resume, stop, open };
}
