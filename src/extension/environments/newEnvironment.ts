import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { exists } from '../exists.ts';
import { showInputBox, showQuickPick } from '../quickInput.ts';
import { environmentClass } from './environmentFiles.ts';

type Ending = 'py' | 'ts';

interface Template {
	readonly name: string;
	readonly label: string;
	readonly detail: string;
	/** Languages in which the template is available. */
	readonly endings: readonly [Ending, ...Ending[]];
	/** Modules imported by the file. */
	readonly modules?: readonly string[];
}

/** The files are in media/templates/environment. */
const templates: readonly Template[] = [
	{
		name: 'calculator',
		label: 'Calculator',
		detail: 'Arithmetic that needs a tool; two tools, two turns',
		endings: ['py'],
	},
	{
		name: 'guess',
		label: 'Number guessing',
		detail: 'Hints after each guess; a limited number of turns',
		endings: ['py', 'ts'],
	},
	{ name: 'word', label: 'Word game', detail: 'Guess a word letter by letter; growing state', endings: ['py'] },
	{ name: 'grid', label: 'Grid world', detail: 'Find a path to the goal; a reward between 0 and 1', endings: ['py'] },
	{ name: 'sql', label: 'SQL question', detail: 'Query a database, then answer', endings: ['py', 'ts'] },
	{
		name: 'repair',
		label: 'Code repair',
		detail: 'Fix a function with tests that run in the sandbox',
		endings: ['py'],
		modules: ['reasoning_lab_sandbox.py'],
	},
];

const languages: Readonly<Record<Ending, vscode.QuickPickItem & { readonly ending: Ending }>> = {
	py: { label: 'Python', detail: "Follows TRL's contract; the file also works with GRPOTrainer", ending: 'py' },
	ts: { label: 'TypeScript', detail: "Runs in the editor's Node.js", ending: 'ts' },
};

/** Answers provided by the caller in advance; the user is asked for the rest. */
export interface NewEnvironmentAnswers {
	readonly template?: Template;
	readonly ending?: Ending;
	readonly name?: string;
	readonly folder?: vscode.Uri;
}

const nameForm = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/** Creates an environment file and its rows from a template. Resolves to the file, or undefined if the user canceled. */
export async function newEnvironment(
	extension: vscode.Uri,
	answers: NewEnvironmentAnswers,
): Promise<vscode.Uri | undefined> {
	const title = 'New environment';
	const items = templates.map((one) => ({ label: one.label, detail: one.detail, template: one }));
	const template =
		answers.template ?? (await showQuickPick(items, { title, placeHolder: 'Select a template' }))?.template;
	if (template === undefined) return undefined;
	const ending = await pickLanguage(template, answers.ending);
	if (ending === undefined) return undefined;
	const folder = answers.folder ?? (await pickFolder());
	if (folder === undefined) return undefined;
	const fileOf = (name: string) => vscode.Uri.joinPath(folder, `${name}.env.${ending}`);
	const rowsOf = (name: string) => vscode.Uri.joinPath(folder, `${name}.rows.jsonl`);
	const fault = async (name: string): Promise<string | undefined> => {
		if (!nameForm.test(name)) return 'Use letters, digits, and _, starting with a letter.';
		for (const uri of [fileOf(name), rowsOf(name)]) {
			if (await exists(uri)) return `${uri.path.split('/').at(-1)} already exists.`;
		}
		return undefined;
	};
	const name =
		answers.name ??
		(await showInputBox({
			title,
			prompt: 'Name of the environment and its files',
			value: (await fault(template.name)) === undefined ? template.name : '',
			validateInput: fault,
		}));
	if (name === undefined) return undefined;
	const wrong = await fault(name);
	if (wrong !== undefined) throw new Failure('invalid', `"${name}" is not a valid environment name. ${wrong}`);
	const file = fileOf(name);
	try {
		const source = vscode.Uri.joinPath(extension, 'media', 'templates', 'environment');
		await vscode.workspace.fs.createDirectory(folder);
		await vscode.workspace.fs.copy(vscode.Uri.joinPath(source, `${template.name}.rows.jsonl`), rowsOf(name));
		for (const module of template.modules ?? []) {
			const target = vscode.Uri.joinPath(folder, module);
			if (!(await exists(target))) await vscode.workspace.fs.copy(vscode.Uri.joinPath(source, module), target);
		}
		const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(source, `${template.name}.env.${ending}`));
		const text = new TextDecoder()
			.decode(bytes)
			.replaceAll('__NAME__', name)
			.replaceAll('__CLASS__', environmentClass(name));
		await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(text));
	} catch (error) {
		throw Failure.from(error, `Cannot write ${file.fsPath}`);
	}
	await vscode.window.showTextDocument(file, { preview: false });
	return file;
}

export function newEnvironmentAnswers(argument: unknown): NewEnvironmentAnswers {
	if (argument instanceof vscode.Uri) return { folder: argument };
	if (typeof argument !== 'object' || argument === null) return {};
	const { template, language, name, folder } = argument as Record<string, unknown>;
	const known = templates.find((one) => one.name === template);
	const ending = language === 'python' ? 'py' : language === 'typescript' ? 'ts' : undefined;
	return {
		...(known === undefined ? {} : { template: known }),
		...(ending === undefined ? {} : { ending }),
		...(typeof name === 'string' ? { name } : {}),
		...(folder instanceof vscode.Uri ? { folder } : {}),
	};
}

/** Returns the requested language if the template is available in it, otherwise one selected by the user. */
async function pickLanguage({ endings }: Template, asked: Ending | undefined): Promise<Ending | undefined> {
	if (asked !== undefined && endings.includes(asked)) return asked;
	if (endings.length === 1) return endings[0];
	const items = endings.map((ending) => languages[ending]);
	return (await showQuickPick(items, { title: 'New environment', placeHolder: 'Select a language' }))?.ending;
}

/** Returns the workspace's `environments` folder, or one selected by the user. */
async function pickFolder(): Promise<vscode.Uri | undefined> {
	const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file');
	const [only] = folders;
	if (folders.length === 1 && only !== undefined) return vscode.Uri.joinPath(only.uri, 'environments');
	const chosen = await vscode.window.showOpenDialog({
		canSelectFiles: false,
		canSelectFolders: true,
		title: 'Folder for the new environment',
		openLabel: 'Create Environment Here',
	});
	return chosen?.[0];
}
