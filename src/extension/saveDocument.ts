import type * as vscode from 'vscode';
import { Failure } from '../base/failure.ts';

/**
 * Saves a document. Fails with `denied` if the editor cannot save it. @param action what the user can do in that case
 */
export async function saveDocument(document: vscode.TextDocument, action: string): Promise<void> {
	if (!(await document.save())) throw new Failure('denied', `Cannot save ${document.uri.fsPath}.`, action);
}
