import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';

const scheme = 'reasoning-lab';

/** Read-only documents that do not exist on disk, such as a completion or a report. */
export class ReadOnlyDocuments extends Disposable implements vscode.TextDocumentContentProvider {
	readonly #contents = new Map<string, string>();
	/** URIs of previewed documents, newest last. The preview can read a document again after the editor has closed it. */
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
			'This text was opened in an earlier window. Open it again from its run.'
		);
	}

	/**
	 * @param name tab name, with an extension that determines the language (`.trace`, `.md`); unsupported characters are
	 * replaced
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

	/** Shows rendered Markdown. @param heading heading to scroll to; null for the beginning */
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

	/** Shows two pieces of text in the diff editor. */
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

/** Text and its tab name; see {@link ReadOnlyDocuments.show}. */
export interface NamedText {
	readonly name: string;
	readonly content: string;
}

/** Maximum number of documents kept for previews. */
const maxPreviewed = 20;

/** Returns the slug that the Markdown preview generates for a heading. */
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
