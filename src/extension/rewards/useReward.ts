import { dirname, relative } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { commandIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import { showInputBox, showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import { saveDocument } from '../saveDocument.ts';
import { addReward, type RewardEntry } from './recipeEdit.ts';
import { elsewhere } from './rewardFileList.ts';

/** A reward to add to a recipe: one from a file, or a built-in one. */
export type UsedReward = { readonly file: string; readonly reward: string } | { readonly use: string };

/** Answers provided by the caller in advance; the user is asked for the rest. */
export interface UseAnswers {
	readonly recipe?: vscode.Uri;
	readonly weight?: number;
}

/** Initial values for required parameters of built-in rewards. Users can adjust them in the recipe. */
const prefixes: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
	'soft-overlong': { maxLength: 512, cacheLength: 128 },
	'length-target': { target: 200 },
	'cosine-length': { maxLength: 512 },
	'json-schema': { schema: { type: 'object' } },
	judge: { url: 'http://127.0.0.1:8000/v1', model: 'judge' },
	process: { url: 'http://127.0.0.1:8000/score' },
};

/**
 * Adds a reward to a recipe by editing its document, which preserves comments and can be undone, and offers to start
 * the recipe. @returns the recipe, or undefined if the user canceled
 */
export async function useReward(
	used: UsedReward,
	answers: UseAnswers,
	notices: Notices,
	proposed: number,
): Promise<vscode.Uri | undefined> {
	const name = 'use' in used ? used.use : used.reward;
	const title = `Add ${displayText(name, 60)} to a recipe`;
	const recipe = answers.recipe ?? (await pickRecipe(title));
	if (recipe === undefined) return undefined;
	const weight = answers.weight ?? (await askWeight(title, proposed));
	if (weight === undefined) return undefined;
	const entry: RewardEntry =
		'use' in used
			? { use: used.use, weight, ...prefixes[used.use] }
			: { file: pathFrom(recipe.fsPath, used.file), name: used.reward, weight };
	const document = await vscode.workspace.openTextDocument(recipe);
	const edit = new vscode.WorkspaceEdit();
	const changes = addReward(document.getText(), entry);
	for (const { offset, length, text } of changes) {
		const range = new vscode.Range(document.positionAt(offset), document.positionAt(offset + length));
		edit.replace(recipe, range, text);
	}
	// The last change contains the entry, possibly after a change that inserts a comma.
	const entryAt = changes.at(-1);
	const editor = await vscode.window.showTextDocument(document, { preview: false });
	if (!(await vscode.workspace.applyEdit(edit))) {
		throw new Failure('denied', `Cannot change ${recipe.fsPath}.`, 'Check its write permissions.');
	}
	if (entryAt !== undefined) {
		const moved = changes.slice(0, -1).reduce((sum, { length, text }) => sum + text.length - length, 0);
		const place = document.positionAt(entryAt.offset + moved + Math.max(0, entryAt.text.search(/[^\s,]/)));
		editor.selection = new vscode.Selection(place, place);
		editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
	}
	await saveDocument(document, 'The reward was added in the editor. Save or undo the change there.');
	const start = () => vscode.commands.executeCommand(commandIds.startRun, recipe);
	const where = displayText(vscode.workspace.asRelativePath(recipe), 100);
	void notices.information(`${where} now uses ${name} with weight ${weight}.`, [{ title: 'Start Run', run: start }]);
	return recipe;
}

/** Returns a path as written in recipes: relative, with `/` as the separator. */
function pathFrom(recipe: string, file: string): string {
	const path = relative(dirname(recipe), file);
	return path.replaceAll('\\', '/');
}

async function pickRecipe(title: string): Promise<vscode.Uri | undefined> {
	const found = await vscode.workspace.findFiles('**/*.recipe.json', elsewhere, 1000);
	const recipes = found.filter((uri) => uri.scheme === 'file').sort((a, b) => (a.path < b.path ? -1 : 1));
	if (recipes.length === 0) {
		throw new Failure('missing', 'The workspace has no *.recipe.json file.', 'Create one with "New Project".');
	}
	if (recipes.length === 1) return recipes[0];
	const picked = await showQuickPick(
		recipes.map((uri) => ({ label: displayText(vscode.workspace.asRelativePath(uri), 300), uri })),
		{ title, placeHolder: 'Select a recipe' },
	);
	return picked?.uri;
}

async function askWeight(title: string, proposed: number): Promise<number | undefined> {
	const fault = (input: string) => {
		const value = input.trim() === '' ? Number.NaN : Number(input);
		return Number.isFinite(value) && Math.abs(value) <= 1e6 ? undefined : 'Enter a number.';
	};
	const text = await showInputBox({
		title,
		prompt: 'Weight in the total reward',
		value: String(proposed),
		validateInput: fault,
	});
	return text === undefined ? undefined : Number(text);
}
