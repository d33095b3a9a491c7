import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { commandIds, viewTypes } from '../ids.ts';
import type { HubNeeds } from '../panels/dataset/hubDataset.ts';

/**
 * Handler for *Open Dataset*, which opens the file or folder passed by a menu, a task (`{task: 'addition', digits: 3,
 * rows, seed}`), or a dataset that the user picks. Only reads files, so it works without workspace trust, except for
 * Hub downloads.
 */
export function datasetCommands(needs: HubNeeds) {
	return {
		[commandIds.openDataset]: async (argument?: unknown) => {
			const uri = await uriOf(argument, needs);
			if (uri === undefined) return;
			const type = /\.(parquet|arrow)$/i.test(uri.path) ? viewTypes.parquet : viewTypes.dataset;
			await vscode.commands.executeCommand('vscode.openWith', uri, type);
		},
	};
}

async function uriOf(argument: unknown, needs: HubNeeds): Promise<vscode.Uri | undefined> {
	const { askDataset, askSplit, taskUri } = await import('../panels/dataset/datasetQuestion.ts');
	if (argument instanceof vscode.Uri) return askSplit(argument);
	if (typeof argument === 'string') return askSplit(vscode.Uri.file(argument));
	if (argument === undefined || argument === null) {
		const chosen = await askDataset(needs);
		return chosen === undefined ? undefined : askSplit(chosen);
	}
	if (typeof argument === 'object' && 'task' in argument) return taskUri(argument);
	throw new Failure('invalid', 'Open Dataset requires a file or a task.');
}
