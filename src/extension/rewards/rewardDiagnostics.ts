import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import type { VerificationView } from './inlineResults.ts';
import { signaturesOf } from './rewardDocuments.ts';
import { faultsOf, type RewardFault } from './rewardFaults.ts';

const levels = {
	error: vscode.DiagnosticSeverity.Error,
	warning: vscode.DiagnosticSeverity.Warning,
} as const;

/**
 * Diagnostics for verification problems, shown at the line that threw, the line that failed to load, or the failing
 * case.
 */
export class RewardDiagnostics extends Disposable {
	readonly #view: VerificationView;
	readonly #collection = this.register(vscode.languages.createDiagnosticCollection('reasoningLab.rewards'));
	/** Faults keyed by the reward file that caused them. */
	readonly #faults = new Map<string, readonly RewardFault[]>();

	constructor(view: VerificationView) {
		super();
		this.#view = view;
		this.register(view.onDidChange((file) => this.#take(file)));
	}

	#take(file: string): void {
		const state = this.#view.get(file);
		// Keep the old diagnostics during verification.
		if (state?.phase === 'loading' || state?.phase === 'running') return;
		const before = this.#faults.get(file) ?? [];
		const faults = state === undefined ? [] : faultsOf(state);
		if (faults.length === 0 && before.length === 0) return;
		if (faults.length === 0) this.#faults.delete(file);
		else this.#faults.set(file, faults);
		for (const path of new Set([...before, ...faults].map((fault) => fault.file))) this.#mark(path);
	}

	#mark(path: string): void {
		const uri = vscode.Uri.file(path);
		const faults = [...this.#faults.values()].flat().filter((fault) => fault.file === path);
		const document = vscode.workspace.textDocuments.find((open) => open.uri.fsPath === path);
		this.#collection.set(
			uri,
			faults.map((fault) => diagnosticOf(fault, document)),
		);
	}
}

function diagnosticOf(fault: RewardFault, document: vscode.TextDocument | undefined): vscode.Diagnostic {
	const diagnostic = new vscode.Diagnostic(rangeOf(fault, document), fault.message, levels[fault.level]);
	diagnostic.source = 'Reasoning Lab';
	if (fault.row !== undefined) {
		const { file, line, label } = fault.row;
		const place = new vscode.Location(vscode.Uri.file(file), new vscode.Position(Math.max(0, line - 1), 0));
		diagnostic.relatedInformation = [new vscode.DiagnosticRelatedInformation(place, label)];
	}
	return diagnostic;
}

function rangeOf(fault: RewardFault, document: vscode.TextDocument | undefined): vscode.Range {
	const declared = document && signaturesOf(document).find((signature) => signature.name === fault.reward);
	const line = Math.max(0, fault.line === null ? (declared?.line ?? 0) : fault.line - 1);
	if (document === undefined || line >= document.lineCount) return new vscode.Range(line, 0, line, 200);
	const { firstNonWhitespaceCharacterIndex: start, range } = document.lineAt(line);
	return new vscode.Range(line, start, line, Math.max(range.end.character, start + 1));
}
