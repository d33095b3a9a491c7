import * as vscode from 'vscode';

/**
 * Shows a folder in the Explorer if it is in the workspace; otherwise, opens it in the system's file manager or a new
 * window.
 */
export async function openFolder(folder: vscode.Uri): Promise<void> {
	if (vscode.workspace.getWorkspaceFolder(folder) !== undefined) {
		await vscode.commands.executeCommand('revealInExplorer', folder);
	} else if (vscode.env.uiKind === vscode.UIKind.Desktop && vscode.env.remoteName === undefined) {
		await vscode.commands.executeCommand('revealFileInOS', folder);
	} else {
		await vscode.commands.executeCommand('vscode.openFolder', folder, { forceNewWindow: true });
	}
}
