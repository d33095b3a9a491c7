import * as vscode from 'vscode';
import { toDisposable } from '../../base/disposable.ts';
import { CodeLenses } from '../codeLenses.ts';
import { commandIds, settingIds } from '../ids.ts';
import { problemOfLine } from './problemOfRow.ts';

const datasetFiles = /\.(jsonl|ndjson)$/i;
/** Debounce delay for cursor movement, in milliseconds. */
const pauseMs = 150;

/** CodeLens that starts a search from the dataset row at the cursor. */
export class RowLens extends CodeLenses {
	#line = -1;
	#timer: NodeJS.Timeout | undefined;

	constructor() {
		super({ scheme: 'file', pattern: '**/*.{jsonl,ndjson}' });
		this.register(
			vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
				const { document, selection } = textEditor;
				if (!datasetFiles.test(document.fileName) || selection.active.line === this.#line) return;
				clearTimeout(this.#timer);
				this.#timer = setTimeout(() => this.changed(), pauseMs);
			}),
		);
		this.register(vscode.workspace.onDidChangeConfiguration(() => this.changed()));
		this.register(toDisposable(() => clearTimeout(this.#timer)));
	}

	protected lensesOf(document: vscode.TextDocument): vscode.CodeLens[] {
		if (!vscode.workspace.isTrusted || !isWanted()) return [];
		const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
		const line = editor?.selection.active.line ?? 0;
		this.#line = line;
		if (line >= document.lineCount || problemOfLine(document.lineAt(line).text) === null) return [];
		return [
			new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
				title: '$(search-sparkle) Search on This Row',
				tooltip: 'Spend more test-time compute on this problem and watch the search tree',
				command: commandIds.searchRow,
				arguments: [document.uri, line],
			}),
		];
	}
}

function isWanted(): boolean {
	return vscode.workspace.getConfiguration().get<boolean>(settingIds.searchRowLens) ?? true;
}
