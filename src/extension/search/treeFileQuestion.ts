import { lstat } from 'node:fs/promises';
import * as vscode from 'vscode';

export async function chooseTreeFile(): Promise<vscode.Uri | undefined> {
	const chosen = await vscode.window.showOpenDialog({
		title: 'Search log from Reasoning Lab or another program',
		openLabel: 'Open Tree',
		filters: { 'Tree logs': ['jsonl', 'json', 'csv', 'log', 'ndjson'], 'All files': ['*'] },
	});
	return chosen?.[0];
}

export async function isFile(path: string): Promise<boolean> {
	return (await lstat(path).catch(() => null))?.isFile() ?? false;
}
