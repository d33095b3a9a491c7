import * as vscode from 'vscode';
import { Failure } from '../base/failure.ts';
import {
	conflictsOf,
	copyTemplate,
	type OnConflict,
	type ProjectTemplate,
	projectTemplates,
	templateFiles,
} from '../runs/projectTemplates.ts';
import { exists } from './exists.ts';
import { showQuickPick } from './quickInput.ts';

/** Answers provided by the caller in advance; the user is asked for the rest. */
export interface NewProjectAnswers {
	readonly template?: ProjectTemplate['id'];
	readonly folder?: vscode.Uri;
	readonly onConflict?: OnConflict;
	/** Whether to open the recipe (and the folder, if it is outside the workspace) when done; default true. */
	readonly open?: boolean;
}

/** Creates a project and resolves to its recipe, or undefined if the user canceled. */
export async function newProject(
	templates: vscode.Uri,
	answers: NewProjectAnswers = {},
): Promise<vscode.Uri | undefined> {
	const template =
		answers.template === undefined
			? await pickTemplate()
			: projectTemplates.find((candidate) => candidate.id === answers.template);
	if (template === undefined) return undefined;
	const folder = answers.folder ?? (await pickFolder(template));
	if (folder === undefined) return undefined;
	if (folder.scheme !== 'file') {
		throw new Failure('unsupported', `${folder} is not a folder on this machine.`, 'Choose another folder.');
	}
	const files = await templateFiles(templates.fsPath, template.id);
	const conflicts = await conflictsOf(files, folder.fsPath);
	const onConflict = conflicts.length === 0 ? 'fail' : (answers.onConflict ?? (await askConflict(conflicts, folder)));
	if (onConflict === undefined) return undefined;
	await copyTemplate(files, folder.fsPath, onConflict);
	const recipe = vscode.Uri.joinPath(folder, template.recipe);
	if (answers.open ?? true) await openProject(folder, recipe);
	return recipe;
}

async function pickTemplate(): Promise<ProjectTemplate | undefined> {
	const picked = await showQuickPick(
		projectTemplates.map((template) => ({ label: template.label, detail: template.detail, template })),
		{ title: 'New project', placeHolder: 'Select what to train on' },
	);
	return picked?.template;
}

/** Returns the only workspace folder if it is empty, or a folder chosen by the user. */
async function pickFolder(template: ProjectTemplate): Promise<vscode.Uri | undefined> {
	const folders = vscode.workspace.workspaceFolders ?? [];
	const [only] = folders;
	if (folders.length === 1 && only?.uri.scheme === 'file' && (await isEmpty(only.uri))) return only.uri;
	const choices: (vscode.QuickPickItem & { uri: vscode.Uri | null })[] = [];
	for (const folder of folders) {
		if (folder.uri.scheme !== 'file') continue;
		const inside = vscode.Uri.joinPath(folder.uri, template.id);
		choices.push({ label: `$(folder) ${folder.name}`, description: folder.uri.fsPath, uri: folder.uri });
		choices.push({ label: `$(new-folder) ${folder.name}/${template.id}`, description: 'new folder', uri: inside });
	}
	if (choices.length > 0) {
		choices.push({ label: '$(folder-opened) Another folder', uri: null });
		const options = { title: 'New project', placeHolder: 'Select a folder' };
		const picked = await showQuickPick(choices, options);
		if (picked === undefined) return undefined;
		if (picked.uri !== null) return picked.uri;
	}
	const chosen = await vscode.window.showOpenDialog({
		canSelectFiles: false,
		canSelectFolders: true,
		openLabel: 'Create project here',
		title: 'Folder for the new project',
	});
	return chosen?.[0];
}

/** Returns whether a folder is empty except for tool folders and settings such as `.vscode` and `.git`. */
async function isEmpty(folder: vscode.Uri): Promise<boolean> {
	const entries = await vscode.workspace.fs.readDirectory(folder);
	return entries.every(([name]) => name.startsWith('.'));
}

async function askConflict(conflicts: readonly string[], folder: vscode.Uri): Promise<OnConflict | undefined> {
	const few = conflicts.slice(0, 4).join(', ');
	const more = conflicts.length > 4 ? ` and ${conflicts.length - 4} more` : '';
	const keep = 'Keep Existing';
	const replace = 'Replace';
	const answer = await vscode.window.showWarningMessage(
		`${folder.fsPath} already contains ${few}${more}.`,
		{ modal: true, detail: 'Kept files are not changed. Replaced files are lost.' },
		keep,
		replace,
	);
	return answer === keep ? 'keep' : answer === replace ? 'replace' : undefined;
}

async function openProject(folder: vscode.Uri, recipe: vscode.Uri): Promise<void> {
	if (vscode.workspace.getWorkspaceFolder(recipe) !== undefined) {
		if (await exists(recipe)) await vscode.window.showTextDocument(recipe, { preview: false });
		return;
	}
	// Opening a folder restarts the extension host, so no code after this call would run.
	await vscode.commands.executeCommand('vscode.openFolder', folder, {
		forceReuseWindow: (vscode.workspace.workspaceFolders?.length ?? 0) === 0,
		forceNewWindow: (vscode.workspace.workspaceFolders?.length ?? 0) > 0,
	});
}
