import * as vscode from 'vscode';

/** Returns whether a URI exists in its file system. */
export async function exists(uri: vscode.Uri): Promise<boolean> {
	try {
		await vscode.workspace.fs.stat(uri);
		return true;
	} catch {
		return false;
	}
}
