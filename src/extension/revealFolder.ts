import * as vscode from 'vscode';

/** Shows a folder: in the explorer where the workspace has it, else in the system's file manager or a window of its own. */
export async function openFolder(folder: vscode.Uri): Promise<void> {
	if (vscode.workspace.getWorkspaceFolder(folder) !== undefined) {
		await vscode.commands.executeCommand('revealInExplorer', folder);
	} else if (vscode.env.uiKind === vscode.UIKind.Desktop && vscode.env.remoteName === undefined) {
		await vscode.commands.executeCommand('revealFileInOS', folder);
	} else {
		await vscode.commands.executeCommand('vscode.openFolder', folder, { forceNewWindow: true });
	}
}
