import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { exists } from '../exists.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import type { RewardFileList } from './rewardFileList.ts';
import { elsewhere } from './rewardFileList.ts';

type NewLanguage = 'typescript' | 'python';

/** Answers provided by the caller in advance; the user is asked for the rest. */
export interface NewRewardAnswers {
	readonly language?: NewLanguage;
	readonly name?: string;
	readonly folder?: vscode.Uri;
	/** Whether to open the new file; default true. */
	readonly open?: boolean;
}

const languages: readonly (vscode.QuickPickItem & { readonly language: NewLanguage })[] = [
	{ label: 'TypeScript', detail: "A function of one sample; runs in the editor's Node.js", language: 'typescript' },
	{ label: 'Python', detail: 'TRL signature; the same function works in a GRPOTrainer', language: 'python' },
];

const extensions: Readonly<Record<NewLanguage, string>> = { typescript: 'ts', python: 'py' };
/** A name that is valid in both languages. Reserved words are checked separately. */
const nameForm = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const taken = new Set(
	(
		'and as assert async await break case catch class const continue debugger def default del delete do elif else enum ' +
		'except export extends false finally for from function global if implements import in instanceof interface is lambda ' +
		'let new none nonlocal not null or package pass private protected public raise return static super switch this throw ' +
		'true try typeof var void while with yield'
	).split(' '),
);

/**
 * Creates a reward file and its cases from a commented template. Resolves to the file, or undefined if the user
 * canceled.
 */
export async function newReward(
	places: { readonly extension: vscode.Uri; readonly files: RewardFileList },
	answers: NewRewardAnswers,
): Promise<vscode.Uri | undefined> {
	const folder = answers.folder ?? (await pickFolder(places.files));
	if (folder === undefined) return undefined;
	const fileOf = (name: string, language: NewLanguage) =>
		vscode.Uri.joinPath(folder, `${name}.reward.${extensions[language]}`);
	const fault = async (name: string, language: NewLanguage): Promise<string | undefined> => {
		if (!nameForm.test(name)) return 'Use letters, digits, and _, starting with a letter.';
		if (taken.has(name.toLowerCase())) return `${name} is a reserved word.`;
		return (await exists(fileOf(name, language)))
			? `${name}.reward.${extensions[language]} already exists.`
			: undefined;
	};
	const chosen =
		answers.language !== undefined && answers.name !== undefined
			? { language: answers.language, name: answers.name }
			: await askNameAndLanguage(answers, fault);
	if (chosen === undefined) return undefined;
	const { language, name } = chosen;
	const wrong = await fault(name, language);
	if (wrong !== undefined) throw new Failure('invalid', `"${name}" is not a valid reward name. ${wrong}`);
	const extension = extensions[language];
	const file = fileOf(name, language);
	const media = vscode.Uri.joinPath(places.extension, 'media');
	const template = vscode.Uri.joinPath(media, 'templates', 'reward');
	try {
		await vscode.workspace.fs.createDirectory(folder);
		const cases = vscode.Uri.joinPath(folder, `${name}.cases.jsonl`);
		if (!(await exists(cases))) {
			await vscode.workspace.fs.copy(vscode.Uri.joinPath(template, 'cases.jsonl'), cases);
		}
		const types = vscode.Uri.joinPath(folder, 'reasoning-lab.d.ts');
		if (language === 'typescript' && !(await exists(types))) {
			await vscode.workspace.fs.copy(vscode.Uri.joinPath(media, 'types', 'reasoning-lab.d.ts'), types);
		}
		const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(template, `reward.${extension}`));
		const text = new TextDecoder().decode(bytes).replaceAll('__NAME__', name);
		await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(text));
	} catch (error) {
		throw Failure.from(error, `Cannot write ${file.fsPath}`);
	}
	await places.files.refresh();
	if (answers.open ?? true) await vscode.window.showTextDocument(file, { preview: false });
	return file;
}

interface LanguageItem extends vscode.QuickPickItem {
	/** null if the item explains why the name is invalid. */
	readonly language: NewLanguage | null;
}

type NameFault = (name: string, language: NewLanguage) => Promise<string | undefined>;

/**
 * Asks for the name and language in one step: choosing a language creates the reward, with the name in the field or, if
 * it is empty, the first free default name. Returns undefined if the user canceled.
 */
async function askNameAndLanguage(
	answers: NewRewardAnswers,
	fault: NameFault,
): Promise<{ language: NewLanguage; name: string } | undefined> {
	const offered = languages.filter(({ language }) => answers.language === undefined || answers.language === language);
	const standard = answers.name ?? (await freeName(fault));
	const pick = vscode.window.createQuickPick<LanguageItem>();
	const nameOf = () => (pick.value.trim() === '' ? standard : pick.value.trim());
	const show = async () => {
		const name = nameOf();
		const items = await Promise.all(
			offered.map(async (item): Promise<LanguageItem> => {
				const wrong = await fault(name, item.language);
				return wrong === undefined
					? { ...item, description: `${name}.reward.${extensions[item.language]}`, alwaysShow: true }
					: { label: `$(error) ${item.label}`, description: wrong, language: null, alwaysShow: true };
			}),
		);
		if (name === nameOf()) pick.items = items;
	};
	pick.title = 'New reward';
	pick.placeholder = `Enter a name (default: ${standard}), then select a language`;
	pick.ignoreFocusOut = true;
	await show();
	return new Promise((resolve) => {
		pick.onDidChangeValue(() => void show());
		pick.onDidAccept(() => {
			const language = pick.selectedItems[0]?.language;
			if (language === undefined || language === null) return;
			resolve({ language, name: nameOf() });
			pick.dispose();
		});
		pick.onDidHide(() => {
			resolve(undefined);
			pick.dispose();
		});
		pick.show();
	});
}

/** Returns the first of brevity, brevity2, ... that is free in both languages. */
async function freeName(fault: NameFault): Promise<string> {
	for (let i = 1; ; i++) {
		const name = i === 1 ? 'brevity' : `brevity${i}`;
		const faults = await Promise.all(languages.map(({ language }) => fault(name, language)));
		if (faults.every((wrong) => wrong === undefined)) return name;
	}
}

export function newRewardAnswers(argument: unknown): NewRewardAnswers {
	if (argument instanceof vscode.Uri) return { folder: argument };
	if (typeof argument !== 'object' || argument === null) return {};
	const { language, name, folder, open } = argument as Record<string, unknown>;
	return {
		...(language === 'typescript' || language === 'python' ? { language } : {}),
		...(typeof name === 'string' ? { name } : {}),
		...(folder instanceof vscode.Uri ? { folder } : {}),
		...(typeof open === 'boolean' ? { open } : {}),
	};
}

/**
 * Determines the folder for a new reward, asking the user unless there is exactly one candidate: folders that contain
 * rewards or, failing that, `rewards` folders next to recipes or in the workspace folders.
 */
async function pickFolder(files: RewardFileList): Promise<vscode.Uri | undefined> {
	const folders = new Set((await files.files()).map((file) => dirname(file)));
	if (folders.size === 0) {
		const recipes = await vscode.workspace.findFiles('**/*.recipe.json', elsewhere, 100);
		for (const recipe of recipes) {
			if (recipe.scheme === 'file') folders.add(vscode.Uri.joinPath(recipe, '..', 'rewards').fsPath);
		}
	}
	if (folders.size === 0) {
		for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
			if (uri.scheme === 'file') folders.add(vscode.Uri.joinPath(uri, 'rewards').fsPath);
		}
	}
	const [only] = folders;
	if (folders.size === 1 && only !== undefined) return vscode.Uri.file(only);
	const items = [...folders].sort().map((folder) => ({
		label: `$(folder) ${displayText(vscode.workspace.asRelativePath(folder), 200)}`,
		folder: vscode.Uri.file(folder) as vscode.Uri | null,
	}));
	items.push({ label: '$(folder-opened) Another folder', folder: null });
	const picked =
		folders.size === 0 ? items[0] : await showQuickPick(items, { title: 'New reward', placeHolder: 'Select a folder' });
	if (picked === undefined || picked.folder !== null) return picked?.folder ?? undefined;
	const chosen = await vscode.window.showOpenDialog({
		canSelectFiles: false,
		canSelectFolders: true,
		title: 'Folder for the new reward',
		openLabel: 'Create reward here',
	});
	return chosen?.[0];
}
