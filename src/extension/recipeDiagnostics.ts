import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../base/disposable.ts';
import type { RecipeFault } from '../core/recipe/parseRecipe.ts';

/** Delay after the last edit before a recipe is checked, in milliseconds. */
const restMs = 300;

export function isRecipe(uri: vscode.Uri): boolean {
	return uri.scheme === 'file' && uri.path.endsWith('.recipe.json');
}

/**
 * Reports problems in open recipes beyond what a JSON schema can express: missing files and conflicting keys. The JSON
 * editor reports schema errors itself; this class shows them only after a failed start, until the next edit.
 */
export class RecipeDiagnostics extends Disposable {
	readonly #collection = this.register(vscode.languages.createDiagnosticCollection('reasoningLab'));
	readonly #timers = new Map<string, NodeJS.Timeout>();

	constructor() {
		super();
		this.register(vscode.workspace.onDidOpenTextDocument((document) => this.#schedule(document, 0)));
		this.register(vscode.workspace.onDidChangeTextDocument(({ document }) => this.#schedule(document, restMs)));
		this.register(vscode.workspace.onDidSaveTextDocument((document) => this.#schedule(document, 0)));
		this.register(vscode.workspace.onDidCloseTextDocument((document) => this.#collection.delete(document.uri)));
		this.register(
			toDisposable(() => {
				for (const timer of this.#timers.values()) clearTimeout(timer);
			}),
		);
		for (const document of vscode.workspace.textDocuments) this.#schedule(document, 0);
	}

	/** Shows the faults reported by a failed start. */
	show(uri: vscode.Uri, faults: readonly RecipeFault[]): void {
		this.#collection.set(uri, faults.map(diagnosticOf));
	}

	#schedule(document: vscode.TextDocument, delay: number): void {
		if (!isRecipe(document.uri)) return;
		const key = document.uri.toString();
		clearTimeout(this.#timers.get(key));
		this.#timers.set(
			key,
			setTimeout(() => {
				this.#timers.delete(key);
				void this.#look(document);
			}, delay),
		);
	}

	async #look(document: vscode.TextDocument): Promise<void> {
		if (document.isClosed) return;
		const { version } = document;
		// Loaded with the first recipe to keep activation fast.
		const { faultsBeyondSchema } = await import('./recipeFaults.ts');
		const faults = await faultsBeyondSchema(document.getText(), document.uri.fsPath);
		if (!document.isClosed && document.version === version) this.show(document.uri, faults);
	}
}

function diagnosticOf(fault: RecipeFault): vscode.Diagnostic {
	const line = fault.line - 1;
	const column = fault.column - 1;
	const diagnostic = new vscode.Diagnostic(
		new vscode.Range(line, column, line, column + Math.max(1, fault.length)),
		fault.message,
		vscode.DiagnosticSeverity.Error,
	);
	diagnostic.source = 'Reasoning Lab';
	return diagnostic;
}
