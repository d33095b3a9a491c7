import * as vscode from 'vscode';
import { plainSentence } from './runView.ts';

/*
 * Notifications turn Markdown into links, including command links, and their text can come from a server, a file, or a
 * model. Therefore, all text shown outside of dialogs must be passed through this module or `Notices`.
 */

export function showError(text: string): void {
	void vscode.window.showErrorMessage(plainSentence(text));
}

export function showWarning(text: string): void {
	void vscode.window.showWarningMessage(plainSentence(text));
}
