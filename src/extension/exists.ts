import * as vscode from 'vscode';

/** Whether something is there, in whatever file system. */
export async function exists(uri: vscode.Uri): Promise<boolean> {
	try {
		await vscode.workspace.fs.stat(uri);
		return true;
	} catch {
		return false;
	}
}
