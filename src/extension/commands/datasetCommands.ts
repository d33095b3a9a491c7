import * as v from 'valibot';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';
import { commandIds, viewTypes } from '../ids.ts';
import type { DatasetEditors } from '../panels/dataset/datasetEditors.ts';
import type { HubNeeds } from '../panels/dataset/hubDataset.ts';

/**
 * Handler for *Open Dataset*, which opens the file or folder passed by a menu, a row of a file (`{file, row}`), a task (`{task: 'addition', digits: 3,
 * rows, seed}`), or a dataset that the user picks. Only reads files, so it works without workspace trust, except for
 * Hub downloads.
 */
export function datasetCommands(needs: HubNeeds, editors: Pick<DatasetEditors, 'panels' | 'rows'>) {
	return {
		[commandIds.openDataset]: async (argument?: unknown) => {
			const place = placeOf(argument);
			const uri = await uriOf(place?.file ?? argument, needs);
			if (uri === undefined) return;
			const type = /\.(parquet|arrow)$/i.test(uri.path) ? viewTypes.parquet : viewTypes.dataset;
			const open = () => vscode.commands.executeCommand('vscode.openWith', uri, type);
			if (typeof place?.row === 'number') await openAtRow(uri, place.row, editors, open);
			else await open();
		},
	};
}

/** Shows a row in the editors that are already open, or in a new one. */
async function openAtRow(
	uri: vscode.Uri,
	row: number,
	{ panels, rows }: Pick<DatasetEditors, 'panels' | 'rows'>,
	open: () => Thenable<unknown>,
): Promise<void> {
	const key = uri.toString();
	const present = panels.filter((panel) => panel.uri.toString() === key);
	if (present.length === 0) rows.set(key, row);
	try {
		await open();
	} catch (error) {
		rows.delete(key);
		throw error;
	}
	for (const panel of present) panel.session.revealRow(row);
}

const placeSchema = v.object({ file: v.string(), row: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0))) });

/** Returns the file and row that an address names, or null for any other argument. */
function placeOf(argument: unknown): v.InferOutput<typeof placeSchema> | null {
	const decoded = decode(placeSchema, argument);
	return decoded.ok ? decoded.value : null;
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
