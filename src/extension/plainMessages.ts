import * as vscode from 'vscode';
import { plainSentence } from './runView.ts';

/*
 * A notification makes links of Markdown, of commands too, and what it tells may come from a server, a file or a model. So every
 * text that is shown without a dialog goes through here or through `Notices`.
 */

export function showError(text: string): void {
	void vscode.window.showErrorMessage(plainSentence(text));
}

export function showWarning(text: string): void {
	void vscode.window.showWarningMessage(plainSentence(text));
}
