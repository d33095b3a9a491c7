import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { isRecipe } from './recipeDiagnostics.ts';

/** Offers quick fixes for errors in recipes, including those that the JSON editor reports from the schema. */
export class RecipeFixes extends Disposable implements vscode.CodeActionProvider {
	constructor() {
		super();
		const files = { scheme: 'file', pattern: '**/*.recipe.json' };
		const providedCodeActionKinds = [vscode.CodeActionKind.QuickFix];
		this.register(vscode.languages.registerCodeActionsProvider(files, this, { providedCodeActionKinds }));
	}

	async provideCodeActions(
		document: vscode.TextDocument,
		range: vscode.Range,
		{ diagnostics, only }: vscode.CodeActionContext,
	): Promise<vscode.CodeAction[]> {
		if (!isRecipe(document.uri) || (only !== undefined && !only.contains(vscode.CodeActionKind.QuickFix))) return [];
		// Loaded with the first recipe to keep activation fast.
		const [{ recipeFaults }, { fixEdits }] = await Promise.all([
			import('./recipeFaults.ts'),
			import('../core/recipe/fixEdits.ts'),
		]);
		const text = document.getText();
		const actions: vscode.CodeAction[] = [];
		for (const { fix, offset, length } of await recipeFaults(text, document.uri.fsPath)) {
			const place = new vscode.Range(document.positionAt(offset), document.positionAt(offset + length));
			// Fixes for errors in the whole recipe are offered on its first line.
			const shown = offset === 0 ? document.lineAt(0).range : place;
			if (fix === undefined || range.intersection(shown) === undefined) continue;
			const edits = fixEdits(text, fix.change);
			if (edits.length === 0) continue;
			const action = new vscode.CodeAction(fix.title, vscode.CodeActionKind.QuickFix);
			action.diagnostics = diagnostics.filter((diagnostic) => diagnostic.range.intersection(shown) !== undefined);
			action.isPreferred = fix.change.kind !== 'remove';
			action.edit = new vscode.WorkspaceEdit();
			for (const edit of edits) {
				const end = document.positionAt(edit.offset + edit.length);
				action.edit.replace(document.uri, new vscode.Range(document.positionAt(edit.offset), end), edit.content);
			}
			actions.push(action);
		}
		return actions;
	}
}
