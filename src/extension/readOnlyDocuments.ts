import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';

const scheme = 'reasoning-lab';

/** Documents of which nothing is on disk under that name: a completion, a report. They can be read and copied, not edited. */
export class ReadOnlyDocuments extends Disposable implements vscode.TextDocumentContentProvider {
	readonly #contents = new Map<string, string>();
	/** Those that are shown as a preview, which reads them again after the editor has let go of the text; the newest last. */
	readonly #previewed = new Set<string>();
	#made = 0;

	constructor() {
		super();
		this.register(vscode.workspace.registerTextDocumentContentProvider(scheme, this));
		this.register(
			vscode.workspace.onDidCloseTextDocument(({ uri }) => {
				const key = uri.with({ fragment: '' }).toString();
				if (!this.#previewed.has(key)) this.#contents.delete(key);
			}),
		);
	}

	provideTextDocumentContent(uri: vscode.Uri): string {
		return (
			this.#contents.get(uri.with({ fragment: '' }).toString()) ??
			'This text was shown in an earlier window. Open it again from its run.'
		);
	}

	/**
	 * @param name of the tab, with an extension that tells the language (`.trace`, `.md`); foreign characters are replaced
	 */
	async show(
		name: string,
		content: string,
		options: vscode.TextDocumentShowOptions = { viewColumn: vscode.ViewColumn.Beside, preview: true },
	): Promise<vscode.TextDocument> {
		const uri = this.#make(name, content);
		const document = await vscode.workspace.openTextDocument(uri);
		await vscode.window.showTextDocument(document, options);
		return document;
	}

	/** Markdown as the editor renders it. @param heading that is brought into sight; null: the beginning */
	async preview(name: string, markdown: string, heading: string | null = null): Promise<void> {
		const uri = this.#make(name, markdown);
		this.#previewed.add(uri.toString());
		for (const old of this.#previewed) {
			if (this.#previewed.size <= maxPreviewed) break;
			this.#previewed.delete(old);
			this.#contents.delete(old);
		}
		const place = heading === null ? uri : uri.with({ fragment: slugOf(heading) });
		await vscode.commands.executeCommand('markdown.showPreview', place);
	}

	/** Two texts in the editor's own comparison. */
	async compare(left: NamedText, right: NamedText): Promise<void> {
		const [a, b] = [this.#make(left.name, left.content), this.#make(right.name, right.content)];
		const title = `${stem(left.name)} ↔ ${stem(right.name)}`;
		await vscode.commands.executeCommand('vscode.diff', a, b, title, { preview: true });
	}

	#make(name: string, content: string): vscode.Uri {
		this.#made++;
		const uri = vscode.Uri.from({ scheme, path: `/${this.#made}/${fileName(name)}` });
		this.#contents.set(uri.toString(), content);
		return uri;
	}
}

/** A text and the name of its tab; see {@link ReadOnlyDocuments.show}. */
export interface NamedText {
	readonly name: string;
	readonly content: string;
}

/** Texts that are kept for their previews. */
const maxPreviewed = 20;

/** As the editor names the headings of a preview. */
const slugOf = (heading: string) =>
	heading
		.trim()
		.toLowerCase()
		.replace(/\s+/g, '-')
		.replace(/[^\p{L}\p{N}_-]/gu, '');

const stem = (name: string) => fileName(name).replace(/\.[a-z]{1,8}$/, '');

const fileName = (name: string) =>
	name
		.replace(/[^\p{L}\p{N} ._,()-]+/gu, ' ')
		.trim()
		.slice(0, 120) || 'text';
