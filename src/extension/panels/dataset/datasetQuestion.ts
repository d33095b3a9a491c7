import * as vscode from 'vscode';
import { createTask } from '../../../core/dataset/createTask.ts';
import { taskDefaults } from '../../../core/dataset/settings.ts';
import {
	operationNames,
	solutionLanguages,
	solutionStyles,
	type TaskDataset,
	taskNames,
} from '../../../protocol/recipeKeys/recipe.ts';
import { tableExtensions } from '../../../runs/dataset/openTable.ts';
import { savedSplits } from '../../../runs/dataset/savedFolder.ts';
import { showInputBox, showQuickPick } from '../../quickInput.ts';
import { displayText } from '../../runView.ts';
import { taskOfQuery, taskQuery, taskScheme } from './datasetPlace.ts';
import type { HubNeeds } from './hubDataset.ts';

/** Returns the URI of a generated task. Fails with `invalid` for invalid settings. */
export function taskUri(value: object): vscode.Uri {
	const place = taskOfQuery(JSON.stringify(value));
	createTask(place.task);
	return vscode.Uri.from({ scheme: taskScheme, path: `/${place.task.task}`, query: taskQuery(place) });
}

/** Maximum number of workspace files to offer. */
const maxOffered = 8;

/** Finds dataset files in the workspace, except those in run folders and labeled cases. Shallowest paths come first. */
async function workspaceFiles(): Promise<vscode.Uri[]> {
	const found = await vscode.workspace.findFiles(
		`**/*.{${tableExtensions.filter((extension) => extension !== 'json').join(',')}}`,
		'**/{node_modules,runs,searches,completions,rollouts,trajectories,wandb,.*}/**',
		200,
	);
	const depth = ({ path }: vscode.Uri) => path.split('/').length;
	return found
		.filter(({ path }) => !/\.(cases|episodes)\.jsonl$/.test(path))
		.sort((a, b) => depth(a) - depth(b) || (a.path < b.path ? -1 : 1))
		.slice(0, maxOffered);
}

/**
 * Asks for a dataset: a file, a folder of files, a Hub dataset (which is then downloaded), or a task and its settings.
 * Returns undefined if the user cancels.
 */
export async function askDataset(needs: HubNeeds): Promise<vscode.Uri | undefined> {
	const place = { task: null, hub: false, uri: null } as const;
	const files = await workspaceFiles();
	const picked = await showQuickPick(
		[
			...files.map((uri) => {
				const path = displayText(vscode.workspace.asRelativePath(uri), 120);
				return { label: `$(table) ${path}`, ...place, folder: false, uri };
			}),
			...(files.length === 0 ? [] : [{ label: '', kind: vscode.QuickPickItemKind.Separator, ...place, folder: false }]),
			{ label: '$(file) A file\u2026', description: tableExtensions.join(', '), ...place, folder: false },
			{
				label: '$(folder) A folder\u2026',
				description: 'Parquet files for one split, or a folder created by save_to_disk',
				...place,
				folder: true,
			},
			{
				label: '$(cloud-download) A Hugging Face Hub dataset\u2026',
				description: "downloads rows using the PyTorch engine's Python interpreter",
				...place,
				folder: false,
				hub: true,
			},
			{ label: 'Generated tasks', kind: vscode.QuickPickItemKind.Separator, ...place, folder: false },
			...taskNames.map((task) => ({
				label: `$(symbol-operator) ${task}`,
				description: Object.entries(taskDefaults[task])
					.filter(([, value]) => value !== 0 && value !== false)
					.map(([key, value]) => `${key} ${value}`)
					.join(', '),
				...place,
				task,
				folder: false,
			})),
		],
		{ title: 'Open Dataset', placeHolder: 'Select a dataset file or a task that generates problems' },
	);
	if (picked === undefined) return undefined;
	if (picked.uri !== null) return picked.uri;
	if (picked.task !== null) {
		const settings = await askSettings(picked.task);
		return settings === undefined ? undefined : taskUri(settings);
	}
	if (picked.hub) return (await import('./hubDataset.ts')).openHubDataset(needs);
	const chosen = await vscode.window.showOpenDialog({
		title: picked.folder ? 'Select a folder with Parquet files or a saved dataset' : 'Select a dataset file',
		openLabel: 'Open Dataset',
		canSelectMany: false,
		...(picked.folder
			? { canSelectFiles: false, canSelectFolders: true }
			: { filters: { 'Dataset files': [...tableExtensions] } }),
	});
	return chosen?.[0];
}

/** If the folder is a saved dataset with several splits, asks for one and returns its folder. */
export async function askSplit(uri: vscode.Uri): Promise<vscode.Uri | undefined> {
	const splits = uri.scheme === 'file' ? await savedSplits(uri.fsPath) : null;
	if (splits === null || splits.length < 2) return uri;
	const picked = await showQuickPick(splits, { title: 'Open Dataset', placeHolder: 'Select a split' });
	return picked === undefined ? undefined : vscode.Uri.joinPath(uri, picked);
}

/** Asks for each task setting, with its default value, and then for the seed. */
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

/** Choices for settings whose values are names. */
const names: Readonly<Record<string, readonly string[]>> = {
	operation: operationNames,
	language: solutionLanguages,
	style: solutionStyles,
};
/** Settings that specify a fraction of the problems. */
const fractions: readonly string[] = ['judged', 'proposed', 'general'];

async function askSetting(title: string, key: string, value: unknown): Promise<unknown> {
	const choices = typeof value === 'boolean' ? ['no', 'yes'] : names[key];
	if (choices !== undefined) {
		const picked = await showQuickPick(choices, { title });
		return picked === undefined || typeof value !== 'boolean' ? picked : picked === 'yes';
	}
	const [pattern, advice] = fractions.includes(key)
		? ([/^(?:0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/, 'Enter a number from 0 to 1.'] as const)
		: ([/^\d{1,7}$/, 'Enter an integer.'] as const);
	const text = await showInputBox({
		title,
		value: String(value),
		validateInput: (input) => (pattern.test(input.trim()) ? undefined : advice),
	});
	return text === undefined ? undefined : Number(text);
}
