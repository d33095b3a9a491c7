import { dirname, relative } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { type DatasetBlock, setDataset } from '../../../core/dataset/table/recipeBlock.ts';
import { showQuickPick } from '../../quickInput.ts';
import { displayText } from '../../runView.ts';

const elsewhere = '**/{node_modules,.git,runs}/**';

/**
 * Returns a path as written in recipes: relative, with `/` as the separator, or absolute if the file is on another
 * drive.
 */
export function pathFrom(recipe: string, file: string): string {
	return relative(dirname(recipe), file).replaceAll('\\', '/');
}

/**
 * Sets the `dataset` of a recipe by editing its document. The edit can be undone and is not saved.
 * @param block returns the dataset block for the recipe at a path
 * @returns the recipe, or undefined if the user canceled
 */
export async function useInRecipe(
	block: (recipe: string) => DatasetBlock,
	chosen?: vscode.Uri,
): Promise<vscode.Uri | undefined> {
	const recipe = chosen ?? (await pickRecipe());
	if (recipe === undefined) return undefined;
	const document = await vscode.workspace.openTextDocument(recipe);
	const edit = new vscode.WorkspaceEdit();
	const changes = setDataset(document.getText(), block(recipe.fsPath));
	for (const { offset, length, text } of changes) {
		edit.replace(recipe, new vscode.Range(document.positionAt(offset), document.positionAt(offset + length)), text);
	}
	if (!(await vscode.workspace.applyEdit(edit))) {
		throw new Failure('denied', `Cannot change ${recipe.fsPath}.`, 'Check its write permissions.');
	}
	const editor = await vscode.window.showTextDocument(document, {
		preview: false,
		viewColumn: vscode.ViewColumn.Beside,
	});
	const [first] = changes;
	if (first !== undefined) {
		const place = document.positionAt(first.offset);
		editor.selection = new vscode.Selection(place, place);
		editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
	}
	return recipe;
}

/** Asks for a recipe, listing open recipes first. */
async function pickRecipe(): Promise<vscode.Uri | undefined> {
	const open = vscode.workspace.textDocuments.map(({ uri }) => uri).filter((uri) => uri.path.endsWith('.recipe.json'));
	const found = await vscode.workspace.findFiles('**/*.recipe.json', elsewhere, 1000);
	const all = new Map([...open, ...found].filter((uri) => uri.scheme === 'file').map((uri) => [uri.toString(), uri]));
	const recipes = [...all.values()];
	if (recipes.length === 0) {
		throw new Failure('missing', 'The workspace has no *.recipe.json file.', 'Create one with "New Project".');
	}
	if (recipes.length === 1) return recipes[0];
	const picked = await showQuickPick(
		recipes.map((uri) => ({ label: displayText(vscode.workspace.asRelativePath(uri), 300), uri })),
		{ title: 'Use the dataset in a recipe', placeHolder: 'Select a recipe' },
	);
	return picked?.uri;
}
