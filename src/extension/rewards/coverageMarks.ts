import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { settingIds } from '../ids.ts';
import type { VerificationView } from './inlineResults.ts';
import { isRewardDocument } from './rewardDocuments.ts';
import { rewardSettings } from './rewardSettings.ts';
import { unreachedLines } from './unreachedLines.ts';

/** Gutter marks for lines not reached by any row. */
export class CoverageMarks extends Disposable {
	readonly #view: VerificationView;
	readonly #icons: vscode.Uri;
	#type: vscode.TextEditorDecorationType;

	/** @param icons path to media/icons */
	constructor(view: VerificationView, icons: vscode.Uri) {
		super();
		this.#view = view;
		this.#icons = icons;
		this.#type = this.#createType();
		this.register(toDisposable(() => this.#type.dispose()));
		this.register(view.onDidChange((file) => this.#draw(file)));
		this.register(vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()));
		this.register(
			vscode.workspace.onDidChangeConfiguration((event) => {
				if (event.affectsConfiguration(settingIds.coverageMarks)) this.#draw();
			}),
		);
		this.register(
			vscode.window.onDidChangeActiveColorTheme(() => {
				this.#type.dispose();
				this.#type = this.#createType();
				this.#draw();
			}),
		);
		this.#draw();
	}

	#createType(): vscode.TextEditorDecorationType {
		const { kind } = vscode.window.activeColorTheme;
		const high =
			kind === vscode.ColorThemeKind.HighContrast || kind === vscode.ColorThemeKind.HighContrastLight
				? '-high-contrast'
				: '';
		const icon = (theme: 'dark' | 'light') => vscode.Uri.joinPath(this.#icons, `unreached-${theme}${high}.svg`);
		return vscode.window.createTextEditorDecorationType({
			isWholeLine: true,
			rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
			overviewRulerLane: vscode.OverviewRulerLane.Left,
			overviewRulerColor: new vscode.ThemeColor('reasoningLab.rewardResult.unreached'),
			dark: { gutterIconPath: icon('dark'), gutterIconSize: 'contain' },
			light: { gutterIconPath: icon('light'), gutterIconSize: 'contain' },
		});
	}

	#draw(file?: string): void {
		const on = rewardSettings.coverageMarks();
		for (const editor of vscode.window.visibleTextEditors) {
			const { document } = editor;
			if (!isRewardDocument(document) || (file !== undefined && document.uri.fsPath !== file)) continue;
			const state = this.#view.get(document.uri.fsPath);
			// During edits, the existing marks move with the text.
			if (on && state !== undefined && (state.stale || state.phase === 'loading' || state.phase === 'running'))
				continue;
			const lines = on ? unreachedLines(state) : [];
			editor.setDecorations(
				this.#type,
				lines
					.filter((line) => line <= document.lineCount)
					.map((line) => ({
						range: document.lineAt(line - 1).range,
						hoverMessage: 'This line was not reached by any row in the verification.',
					})),
			);
		}
	}
}
