import * as vscode from 'vscode';
import { tableExtensions } from '../../runs/dataset/openTable.ts';
import { displayText } from '../runView.ts';
import type { Choice } from './questions.ts';

const maxFiles = 500;

/**
 * Returns choices for the dataset files in the workspace, sorted by path, plus a `null` choice for selecting another
 * file. Excludes .json files, because they can contain anything.
 */
export async function datasetFileChoices(): Promise<readonly Choice<vscode.Uri | null>[]> {
	const found = await vscode.workspace.findFiles(
		`**/*.{${tableExtensions.filter((extension) => extension !== 'json').join(',')}}`,
		'**/{node_modules,.git,runs,searches,comparisons,.trash,dist,venv,.venv}/**',
		maxFiles,
	);
	const files = found.filter(({ scheme }) => scheme === 'file').sort((a, b) => (a.path < b.path ? -1 : 1));
	return [
		...files.map((uri) => ({
			label: `$(database) ${displayText(vscode.workspace.asRelativePath(uri), 200)}`,
			value: uri,
		})),
		{ label: '$(folder-opened) Another dataset file...', value: null },
	];
}

export async function chooseDatasetFile(): Promise<vscode.Uri | undefined> {
	const chosen = await vscode.window.showOpenDialog({
		title: 'Dataset file',
		filters: { 'Dataset files': [...tableExtensions], 'All files': ['*'] },
	});
	return chosen?.[0];
}
