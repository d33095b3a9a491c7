import * as vscode from 'vscode';
import { Failure } from '../base/failure.ts';

/** A project that can be scaffolded: a folder of media/templates. */
export interface ProjectTemplate {
	readonly id: 'starter' | 'demo' | 'pytorch';
	readonly label: string;
	readonly detail: string;
	/** The recipe that is opened once the project is there. */
	readonly recipe: string;
}

export const projectTemplates: readonly ProjectTemplate[] = [
	{
		id: 'starter',
		label: 'Own problems',
		detail: 'A recipe, a dataset of short calculations to replace with your own, and rewards to change.',
		recipe: 'starter.recipe.json',
	},
	{
		id: 'demo',
		label: 'Addition demo',
		detail: 'Generated sums: nothing to prepare, and results in a few minutes.',
		recipe: 'addition.recipe.json',
	},
	{
		id: 'pytorch',
		label: 'Pre-trained model (PyTorch)',
		detail: 'GRPO with TRL on a model of the hub or of a folder, and a small recipe that runs on any machine.',
		recipe: 'small.recipe.json',
	},
];

/** Template files that tools would treat as their own if they had their real name in this package. */
const realNames: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

export interface TemplateFile {
	readonly source: vscode.Uri;
	/** Relative to the project, with `/`. */
	readonly path: string;
}

/** Types of reward files, where a template has some in TypeScript: one file serves all. */
const types = { folder: 'rewards/', name: 'reasoning-lab.d.ts' };

/** The files of a template; `templates` is media/templates. */
export async function templateFiles(templates: vscode.Uri, id: ProjectTemplate['id']): Promise<TemplateFile[]> {
	const files: TemplateFile[] = [];
	const visit = async (folder: vscode.Uri, prefix: string): Promise<void> => {
		for (const [name, type] of await vscode.workspace.fs.readDirectory(folder)) {
			const source = vscode.Uri.joinPath(folder, name);
			if (type === vscode.FileType.Directory) await visit(source, `${prefix}${name}/`);
			else files.push({ source, path: `${prefix}${realNames[name] ?? name}` });
		}
	};
	await visit(vscode.Uri.joinPath(templates, id), '');
	if (files.some(({ path }) => path.startsWith(types.folder) && path.endsWith('.ts'))) {
		const source = vscode.Uri.joinPath(templates, '..', 'types', types.name);
		files.push({ source, path: `${types.folder}${types.name}` });
	}
	return files;
}

export type OnConflict = 'keep' | 'replace' | 'fail';

export async function conflictsOf(files: readonly TemplateFile[], target: vscode.Uri): Promise<string[]> {
	const conflicts: string[] = [];
	for (const file of files) {
		if (await exists(vscode.Uri.joinPath(target, file.path))) conflicts.push(file.path);
	}
	return conflicts;
}

/** Copies a template into a folder; a file that is there is kept, replaced, or a failure, as asked. */
export async function copyTemplate(
	files: readonly TemplateFile[],
	target: vscode.Uri,
	onConflict: OnConflict,
): Promise<void> {
	for (const file of files) {
		const to = vscode.Uri.joinPath(target, file.path);
		if (onConflict !== 'replace' && (await exists(to))) {
			if (onConflict === 'keep') continue;
			throw new Failure('exists', `${to.fsPath} is there already.`, 'Choose another folder.');
		}
		try {
			await vscode.workspace.fs.createDirectory(vscode.Uri.joinPath(to, '..'));
			await vscode.workspace.fs.copy(file.source, to, { overwrite: onConflict === 'replace' });
		} catch (error) {
			throw Failure.from(error, `${to.fsPath} could not be written`);
		}
	}
}

export async function exists(uri: vscode.Uri): Promise<boolean> {
	try {
		await vscode.workspace.fs.stat(uri);
		return true;
	} catch {
		return false;
	}
}
