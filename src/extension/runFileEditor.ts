import * as vscode from 'vscode';
import { commandIds } from './ids.ts';
import { runOfFile } from './runOfFile.ts';

/** Opens the dashboard of the run that a file belongs to, in place of an editor of the file, which VS Code cannot show. */
export async function openRunOf(uri: vscode.Uri, panel: vscode.WebviewPanel): Promise<void> {
	const root = vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath ?? null;
	const folder = uri.scheme === 'file' ? await runOfFile(uri.fsPath, root) : null;
	if (folder === null) {
		panel.webview.html = '<p>This file does not belong to a run that Reasoning Lab can read.</p>';
		return;
	}
	await vscode.commands.executeCommand(commandIds.openAsRun, folder);
	// The editor of the file is still being opened.
	setTimeout(() => panel.dispose());
}
