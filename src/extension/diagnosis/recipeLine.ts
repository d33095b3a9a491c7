import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse } from 'jsonc-parser';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { recipePlace } from '../../core/recipe/recipePlace.ts';
import { readSmallFile } from '../../files/safeFile.ts';
import type { RecipeEdit } from '../../protocol/alert.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { advisedRecipe } from './adviceEdit.ts';

const largestRecipe = 1 << 20;
const maxFiles = 200;

/**
 * Returns the recipe that a run was started from: the one next to the `runs` folder that has the run's name, or the
 * run's frozen copy if there is not exactly one.
 */
async function recipeOf(runFolder: string, name: string): Promise<string> {
	const folder = dirname(dirname(runFolder));
	const found: string[] = [];
	const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.recipe.json'));
	for (const file of files.slice(0, maxFiles)) {
		const path = join(folder, file);
		const text = await readSmallFile(folder, file, largestRecipe).catch(() => '');
		const recipe: unknown = parse(text);
		if ((recipe as { name?: unknown } | undefined)?.name === name) found.push(path);
	}
	return found.length === 1 ? (found[0] as string) : join(runFolder, runFiles.recipe);
}

/**
 * Edits the recipe a run was started from and shows it without saving, for the user to review. Fails with `missing` if
 * only the run's frozen copy exists, because that copy records what was trained and must not change.
 */
export async function applyAdvice(runFolder: string, name: string, edits: readonly RecipeEdit[]): Promise<void> {
	const file = await recipeOf(runFolder, name);
	if (file === join(runFolder, runFiles.recipe)) {
		throw new Failure(
			'missing',
			`No unique recipe named "${name}" was found next to the run folder.`,
			'Open the recipe and edit it manually.',
		);
	}
	const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
	const text = document.getText();
	const advised = advisedRecipe(text, edits);
	const editor = await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside });
	const whole = new vscode.Range(document.positionAt(0), document.positionAt(text.length));
	await editor.edit((builder) => builder.replace(whole, advised));
	const place = recipePlace(advised, edits[0]?.path ?? []);
	if (place === null) return;
	const range = new vscode.Range(document.positionAt(place.offset), document.positionAt(place.offset + place.length));
	editor.selection = new vscode.Selection(range.start, range.end);
	editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** Opens a run's recipe and selects a key or its closest existing parent. @param name name of the run */
export async function showRecipeLine(
	runFolder: string,
	name: string,
	path: readonly (string | number)[],
): Promise<void> {
	const file = await recipeOf(runFolder, name);
	const info = await lstat(file).catch(() => null);
	if (!info?.isFile()) {
		throw new Failure('missing', `The run's recipe (${file}) no longer exists.`, 'Open the recipe manually.');
	}
	const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
	const editor = await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside });
	const place = recipePlace(document.getText(), path);
	if (place === null) return;
	const range = new vscode.Range(document.positionAt(place.offset), document.positionAt(place.offset + place.length));
	editor.selection = new vscode.Selection(range.start, range.end);
	editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
