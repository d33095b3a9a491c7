import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { isRecipe } from './recipeDiagnostics.ts';

/** Command of VS Code that shows a Markdown file next to the editor. */
const show = 'markdown.showPreviewToSide';

/** Adds a link to the page about an algorithm to hovers over the keys of recipes. */
export class RecipeHovers extends Disposable implements vscode.HoverProvider {
	readonly #extension: vscode.Uri;

	/** @param extension folder of the extension, which contains the pages */
	constructor(extension: vscode.Uri) {
		super();
		this.#extension = extension;
		this.register(vscode.languages.registerHoverProvider({ scheme: 'file', pattern: '**/*.recipe.json' }, this));
	}

	async provideHover(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Hover | undefined> {
		if (!isRecipe(document.uri)) return undefined;
		// Loaded with the first hover to keep activation fast.
		const { docPageAt, docPages } = await import('../core/recipe/docPage.ts');
		const page = docPageAt(document.getText(), document.offsetAt(position));
		if (page === null) return undefined;
		const file = vscode.Uri.joinPath(this.#extension, 'docs', `${page}.md`);
		const link = `command:${show}?${encodeURIComponent(JSON.stringify([file]))}`;
		const words = new vscode.MarkdownString(`[${docPages[page]}](${link})`);
		words.isTrusted = { enabledCommands: [show] };
		return new vscode.Hover(words);
	}
}
