import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { isRecipe } from './recipeDiagnostics.ts';

/** Links recipe keys to the pages about their algorithms; the hovers for these keys name the pages. */
export class RecipeLinks extends Disposable implements vscode.DocumentLinkProvider {
	readonly #extension: vscode.Uri;

	/** @param extension folder of the extension, which contains the pages */
	constructor(extension: vscode.Uri) {
		super();
		this.#extension = extension;
		this.register(vscode.languages.registerDocumentLinkProvider({ scheme: 'file', pattern: '**/*.recipe.json' }, this));
	}

	async provideDocumentLinks(document: vscode.TextDocument): Promise<vscode.DocumentLink[]> {
		if (!isRecipe(document.uri)) return [];
		// Loaded with the first recipe to keep activation fast.
		const { docPages, pageLinks } = await import('../core/recipe/pageLinks.ts');
		return pageLinks(document.getText()).map(({ offset, length, page }) => {
			const range = new vscode.Range(document.positionAt(offset), document.positionAt(offset + length));
			const file = vscode.Uri.joinPath(this.#extension, 'docs', `${page}.md`);
			const query = encodeURIComponent(JSON.stringify([file]));
			const link = new vscode.DocumentLink(range, vscode.Uri.parse(`command:markdown.showPreviewToSide?${query}`));
			link.tooltip = docPages[page];
			return link;
		});
	}
}
