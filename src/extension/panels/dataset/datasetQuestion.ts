import * as vscode from 'vscode';
import { createTask } from '../../../core/dataset/createTask.ts';
import { taskDefaults } from '../../../core/dataset/settings.ts';
import { operationNames, type TaskDataset, taskNames } from '../../../protocol/recipe.ts';
import { tableExtensions } from '../../../runs/dataset/openTable.ts';
import { savedSplits } from '../../../runs/dataset/savedFolder.ts';
import { showInputBox, showQuickPick } from '../../quickInput.ts';
import { taskOfQuery, taskQuery, taskScheme } from './datasetPlace.ts';
import type { HubNeeds } from './hubDataset.ts';

/** The address of a generated task. Fails with `invalid` for settings that make none. */
export function taskUri(value: object): vscode.Uri {
	const place = taskOfQuery(JSON.stringify(value));
	createTask(place.task);
	return vscode.Uri.from({ scheme: taskScheme, path: `/${place.task.task}`, query: taskQuery(place) });
}

/**
 * Asks for a file, for a folder of files, for a dataset of the hub, which is then downloaded, or for a task and its settings; undefined: the person
 * changed their mind.
 */
export async function askDataset(needs: HubNeeds): Promise<vscode.Uri | undefined> {
	const place = { task: null, hub: false } as const;
	const picked = await showQuickPick(
		[
			{ label: '$(file) A file\u2026', description: tableExtensions.join(', '), ...place, folder: false },
			{
				label: '$(folder) A folder\u2026',
				description: 'Parquet files of one split, or what save_to_disk wrote',
				...place,
				folder: true,
			},
			{
				label: '$(cloud-download) A dataset of the Hugging Face hub\u2026',
				description: 'its rows are downloaded, by the Python of the PyTorch engine',
				task: null,
				folder: false,
				hub: true,
			},
			{ label: 'Generated tasks', kind: vscode.QuickPickItemKind.Separator, ...place, folder: false },
			...taskNames.map((task) => ({
				label: `$(symbol-operator) ${task}`,
				description: Object.entries(taskDefaults[task])
					.map(([key, value]) => `${key} ${value}`)
					.join(', '),
				task,
				folder: false,
				hub: false,
			})),
		],
		{ title: 'Open Dataset', placeHolder: 'A file of rows, or problems that a task generates' },
	);
	if (picked === undefined) return undefined;
	if (picked.task !== null) {
		const settings = await askSettings(picked.task);
		return settings === undefined ? undefined : taskUri(settings);
	}
	if (picked.hub) return (await import('./hubDataset.ts')).openHubDataset(needs);
	const chosen = await vscode.window.showOpenDialog({
		title: picked.folder ? 'A folder of Parquet files, or of a saved dataset' : 'A file of rows',
		openLabel: 'Open Dataset',
		canSelectMany: false,
		...(picked.folder
			? { canSelectFiles: false, canSelectFolders: true }
			: { filters: { 'Files of rows': [...tableExtensions] } }),
	});
	return chosen?.[0];
}

/** Of a folder with several splits of a saved dataset, the folder of the one that a person picks. */
export async function askSplit(uri: vscode.Uri): Promise<vscode.Uri | undefined> {
	const splits = uri.scheme === 'file' ? await savedSplits(uri.fsPath) : null;
	if (splits === null || splits.length < 2) return uri;
	const picked = await showQuickPick(splits, { title: 'Open Dataset', placeHolder: 'Select a split' });
	return picked === undefined ? undefined : vscode.Uri.joinPath(uri, picked);
}

/** The settings of a task, one after the other, each with its default; then the seed. */
async function askSettings(task: TaskDataset['task']): Promise<TaskDataset | undefined> {
	const given: Record<string, unknown> = { task };
	const entries = [...Object.entries(taskDefaults[task]), ['seed', 0] as const];
	for (const [i, [key, value]] of entries.entries()) {
		const title = `${task}: ${key} (${i + 1} of ${entries.length})`;
		const answer = await askSetting(title, key, value);
		if (answer === undefined) return undefined;
		given[key] = answer;
	}
	return given as TaskDataset;
}

async function askSetting(title: string, key: string, value: unknown): Promise<unknown> {
	const choices = typeof value === 'boolean' ? ['no', 'yes'] : key === 'operation' ? [...operationNames] : null;
	if (choices !== null) {
		const picked = await showQuickPick(choices, { title });
		return picked === undefined || typeof value !== 'boolean' ? picked : picked === 'yes';
	}
	const text = await showInputBox({
		title,
		value: String(value),
		validateInput: (input) => (/^\d{1,7}$/.test(input.trim()) ? undefined : 'Enter a whole number.'),
	});
	return text === undefined ? undefined : Number(text);
}
