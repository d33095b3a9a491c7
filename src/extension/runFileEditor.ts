import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../base/failure.ts';
import { formatOf } from '../runs/openRun.ts';
import { commandIds, viewTypes } from './ids.ts';
import { runOfFile } from './runOfFile.ts';

/** Folder of the run that a file belongs to, or null. Folders above the workspace folder are not searched. */
async function runAround({ scheme, fsPath }: vscode.Uri): Promise<string | null> {
	if (scheme !== 'file') return null;
	return runOfFile(fsPath, vscode.workspace.getWorkspaceFolder(vscode.Uri.file(fsPath))?.uri.fsPath ?? null);
}

/** A folder to open as a run, and the reader to use; without one, the user chooses if several match. */
interface RunPlace {
	readonly folder: string;
	readonly format?: string;
}

/** Returns a run folder and the reader most likely to support the run. */
async function placeIn(folder: string): Promise<RunPlace> {
	const format = await formatOf(folder);
	return { folder, ...(format === null ? {} : { format: format.name }) };
}

/** Whether a run's trainer records metrics. */
export async function hasMetrics(folder: string): Promise<boolean> {
	return (await formatOf(folder))?.metrics.length !== 0;
}

/**
 * Returns the folder itself, or the folder of the run that a file belongs to and the reader most likely to support it.
 * Fails with `invalid` if the file does not belong to a run.
 */
export async function runPlaceOf(uri: vscode.Uri): Promise<RunPlace> {
	if (!(await stat(uri.fsPath)).isFile()) return { folder: uri.fsPath };
	const folder = await runAround(uri);
	if (folder !== null) return placeIn(folder);
	throw new Failure(
		'invalid',
		`${basename(uri.fsPath)} does not belong to a run that Reasoning Lab can read.`,
		'If it does, right-click the run folder in the Explorer and choose "Open as Run".',
	);
}

/** Opens the dashboard of the run that a file belongs to, in place of an editor for the file. */
export async function openRunOf(uri: vscode.Uri, panel: vscode.WebviewPanel): Promise<void> {
	const folder = await runAround(uri);
	if (folder !== null) {
		const { format } = await placeIn(folder);
		await vscode.commands.executeCommand(commandIds.openAsRun, folder, format);
	} else if (/\.parquet$/i.test(uri.path)) {
		await vscode.commands.executeCommand('vscode.openWith', uri, viewTypes.parquet);
	} else {
		panel.webview.html =
			'<p>This file does not belong to a run that Reasoning Lab can read. To open it in another editor, choose Reopen Editor With... from the context menu of its tab.</p>';
		return;
	}
	// The file's editor is still opening.
	setTimeout(() => panel.dispose());
}
