import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { settingIds } from '../ids.ts';
import { rewardSettings } from '../rewards/rewardSettings.ts';
import type { InlineTone } from '../rewards/rewardWords.ts';
import { classLine, isEnvironmentUri } from './environmentFiles.ts';
import type { EnvironmentState } from './environmentState.ts';
import type { EnvironmentVerifications } from './environmentVerifications.ts';
import { environmentFaults, environmentInlineLine } from './environmentWords.ts';
import { isManifest } from './manifestFiles.ts';

const colors: Readonly<Record<InlineTone, string>> = {
	quiet: 'reasoningLab.rewardResult.foreground',
	good: 'reasoningLab.rewardResult.foreground',
	stale: 'reasoningLab.rewardResult.staleForeground',
	warning: 'reasoningLab.rewardResult.warningForeground',
	error: 'reasoningLab.rewardResult.errorForeground',
};
const severities = {
	error: vscode.DiagnosticSeverity.Error,
	warning: vscode.DiagnosticSeverity.Warning,
	information: vscode.DiagnosticSeverity.Information,
} as const;

/** Shows the results of verification: a line after the class, and diagnostics. */
export class EnvironmentMarks extends Disposable {
	readonly #view: EnvironmentVerifications;
	readonly #type = this.register(
		vscode.window.createTextEditorDecorationType({
			rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
			after: { margin: '0 0 0 3ch' },
		}),
	);
	readonly #diagnostics = this.register(vscode.languages.createDiagnosticCollection('reasoningLab.environments'));
	/** Files with diagnostics, keyed by the environment file that caused them. */
	readonly #marked = new Map<string, readonly string[]>();

	constructor(view: EnvironmentVerifications) {
		super();
		this.#view = view;
		this.register(
			view.onDidChange((file) => {
				this.#draw();
				this.#diagnose(file);
			}),
		);
		this.register(vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()));
		this.register(
			vscode.workspace.onDidChangeTextDocument(({ document }) => {
				if (isEnvironmentUri(document.uri)) this.#draw();
			}),
		);
		this.register(
			vscode.workspace.onDidChangeConfiguration((event) => {
				if (event.affectsConfiguration(settingIds.inlineResults)) this.#draw();
			}),
		);
	}

	#draw(): void {
		const on = rewardSettings.inlineResults();
		for (const editor of vscode.window.visibleTextEditors) {
			const { document } = editor;
			if (!isEnvironmentUri(document.uri) && !isManifest(document.uri.fsPath)) continue;
			editor.setDecorations(this.#type, on ? linesOf(document, this.#view.get(document.uri.fsPath)) : []);
		}
	}

	#diagnose(file: string): void {
		const state = this.#view.get(file);
		// Keep the old diagnostics during verification.
		if (state?.phase === 'running') return;
		const faults = state === undefined ? [] : environmentFaults(state);
		const paths = [...new Set(faults.map((fault) => fault.file))];
		for (const path of this.#marked.get(file) ?? []) {
			if (!paths.includes(path)) this.#diagnostics.delete(vscode.Uri.file(path));
		}
		this.#marked.set(file, paths);
		for (const path of paths) {
			const document = vscode.workspace.textDocuments.find((open) => open.uri.fsPath === path);
			const marks = faults.filter((fault) => fault.file === path);
			this.#diagnostics.set(
				vscode.Uri.file(path),
				marks.map(({ line, level, message }) => {
					const mark = new vscode.Diagnostic(rangeOf(line - 1, document), message, severities[level]);
					mark.source = 'Reasoning Lab';
					return mark;
				}),
			);
		}
	}
}

function linesOf(document: vscode.TextDocument, state: EnvironmentState | undefined): vscode.DecorationOptions[] {
	const line = environmentInlineLine(state);
	if (line === null) return [];
	const name = state?.verification?.environment.name;
	// A file that has never been loaded might not have a known class, so show its problem on the first line.
	const at = (name === undefined ? null : classLine(document.getText(), name)) ?? 0;
	const { end } = document.lineAt(Math.min(at, document.lineCount - 1)).range;
	const after = {
		contentText: line.text,
		color: new vscode.ThemeColor(colors[line.tone]),
		...(line.tone === 'stale' ? { fontStyle: 'italic' } : {}),
	};
	return [{ range: new vscode.Range(end, end), renderOptions: { after } }];
}

function rangeOf(line: number, document: vscode.TextDocument | undefined): vscode.Range {
	const at = Math.max(0, line);
	if (document === undefined || at >= document.lineCount) return new vscode.Range(at, 0, at, 200);
	const { firstNonWhitespaceCharacterIndex: start, range } = document.lineAt(at);
	return new vscode.Range(at, start, at, Math.max(range.end.character, start + 1));
}
