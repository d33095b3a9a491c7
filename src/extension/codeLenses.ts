import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../base/disposable.ts';

/** Delay before missing lenses are announced again after an edit or after a file is shown, in milliseconds. */
const missingMs = 1000;
/** Maximum number of repeated announcements. */
const maxRetries = 5;

/**
 * Base class for code lens providers. VS Code drops its pending request for lenses when an editor loses focus, and
 * the editor shows none until it has focus again. Providers therefore announce lenses until they are requested.
 */
export abstract class CodeLenses extends Disposable implements vscode.CodeLensProvider {
	readonly #selector: vscode.DocumentSelector;
	readonly #changed = this.register(new vscode.EventEmitter<void>());
	/** Version of each document at the last request for its lenses. */
	readonly #requested = new WeakMap<vscode.TextDocument, number>();
	#timer: NodeJS.Timeout | undefined;
	readonly onDidChangeCodeLenses = this.#changed.event;

	constructor(selector: vscode.DocumentSelector) {
		super();
		this.#selector = selector;
		this.register(vscode.languages.registerCodeLensProvider(selector, this));
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => this.changed()));
		this.register(
			vscode.workspace.onDidChangeTextDocument(({ document }) => {
				if (this.#isMissing(document)) this.#checkLater(maxRetries);
			}),
		);
		this.register(
			vscode.window.onDidChangeVisibleTextEditors((editors) => {
				if (editors.some(({ document }) => this.#isMissing(document))) this.#checkLater(maxRetries);
			}),
		);
		this.register(toDisposable(() => clearTimeout(this.#timer)));
	}

	provideCodeLenses(document: vscode.TextDocument): vscode.ProviderResult<vscode.CodeLens[]> {
		this.#requested.set(document, document.version);
		return this.lensesOf(document);
	}

	protected abstract lensesOf(document: vscode.TextDocument): vscode.ProviderResult<vscode.CodeLens[]>;

	/** Announces that lenses have changed. */
	protected changed(): void {
		this.#changed.fire();
	}

	#isMissing(document: vscode.TextDocument): boolean {
		return vscode.languages.match(this.#selector, document) > 0 && this.#requested.get(document) !== document.version;
	}

	#checkLater(retries: number): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => {
			if (!vscode.window.visibleTextEditors.some(({ document }) => this.#isMissing(document))) return;
			this.changed();
			if (retries > 1) this.#checkLater(retries - 1);
		}, missingMs);
	}
}
