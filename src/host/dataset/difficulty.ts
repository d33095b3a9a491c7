import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { readPassRates } from '../../runs/dataset/passRates.ts';
import type { DatasetSession } from './datasetSession.ts';

/** Asks where pass rates come from, and gives them to the session. */
export async function askDifficulty(session: DatasetSession, uri: vscode.Uri): Promise<void> {
	const folder =
		uri.scheme === 'file' ? vscode.Uri.file(dirname(uri.fsPath)) : vscode.workspace.workspaceFolders?.[0]?.uri;
	const chosen = await vscode.window.showOpenDialog({
		title: 'The folder of an evaluation of these questions',
		openLabel: 'Take Its Pass Rates',
		canSelectFiles: false,
		canSelectFolders: true,
		...(folder === undefined ? {} : { defaultUri: folder }),
	});
	const [evaluation] = chosen ?? [];
	if (evaluation !== undefined) await session.setPassRates(await readPassRates(evaluation.fsPath));
}
