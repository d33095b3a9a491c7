import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import type { Event } from '../../base/event.ts';
import { settingIds } from '../ids.ts';
import type { FileVerification } from './fileVerification.ts';
import { isRewardDocument, signaturesOf } from './rewardDocuments.ts';
import { rewardSettings } from './rewardSettings.ts';
import { type InlineTone, inlineLine } from './rewardWords.ts';

/** Data source for the editor features. */
export interface VerificationView {
	/** Fires with the path of the reward file whose snapshot changed. */
	readonly onDidChange: Event<string>;
	get(file: string): FileVerification | undefined;
}

const colors: Readonly<Record<InlineTone, string>> = {
	quiet: 'reasoningLab.rewardResult.foreground',
	good: 'reasoningLab.rewardResult.foreground',
	stale: 'reasoningLab.rewardResult.staleForeground',
	warning: 'reasoningLab.rewardResult.warningForeground',
	error: 'reasoningLab.rewardResult.errorForeground',
};

/** Delay after the last keystroke before lines are redrawn, in milliseconds. */
const restMs = 60;

/** Shows verification results after the signature of each reward, in all visible editors. */
export class InlineResults extends Disposable {
	readonly #view: VerificationView;
	readonly #type = this.register(
		vscode.window.createTextEditorDecorationType({
			rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
			after: { margin: '0 0 0 3ch' },
		}),
	);
	#timer: NodeJS.Timeout | null = null;

	constructor(view: VerificationView) {
		super();
		this.#view = view;
		this.register(view.onDidChange((file) => this.#draw(file)));
		this.register(vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()));
		this.register(
			vscode.workspace.onDidChangeTextDocument(({ document }) => {
				if (isRewardDocument(document)) this.#drawSoon();
			}),
		);
		this.register(
			vscode.workspace.onDidChangeConfiguration((event) => {
				if (event.affectsConfiguration(settingIds.inlineResults)) this.#draw();
			}),
		);
		this.register(
			toDisposable(() => {
				if (this.#timer !== null) clearTimeout(this.#timer);
			}),
		);
		this.#draw();
	}

	#drawSoon(): void {
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = setTimeout(() => {
			this.#timer = null;
			this.#draw();
		}, restMs);
	}

	#draw(file?: string): void {
		const on = rewardSettings.inlineResults();
		for (const editor of vscode.window.visibleTextEditors) {
			const { document } = editor;
			if (!isRewardDocument(document) || (file !== undefined && document.uri.fsPath !== file)) continue;
			editor.setDecorations(this.#type, on ? this.#lines(document) : []);
		}
	}

	#lines(document: vscode.TextDocument): vscode.DecorationOptions[] {
		const state = this.#view.get(document.uri.fsPath);
		return signaturesOf(document).flatMap(({ name, endLine }) => {
			const line = inlineLine(state, name);
			if (line === null || endLine >= document.lineCount) return [];
			const end = document.lineAt(endLine).range.end;
			const after = {
				contentText: line.text,
				color: new vscode.ThemeColor(colors[line.tone]),
				...(line.tone === 'stale' ? { fontStyle: 'italic' } : {}),
			};
			return [{ range: new vscode.Range(end, end), renderOptions: { after } }];
		});
	}
}
