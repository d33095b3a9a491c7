import { isAbsolute } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { commandIds } from '../ids.ts';

/** Handler for *Open Report*, which shows a Markdown file with its citations checked. Only reads files. */
export function reportViewCommands(reports: { open(path: string): unknown }) {
	return {
		[commandIds.openReport]: async (argument?: unknown) => {
			const path = pathOf(argument) ?? (await chosen());
			if (path !== undefined) await reports.open(path);
		},
	};
}

function pathOf(argument: unknown): string | undefined {
	if (argument instanceof vscode.Uri) {
		if (argument.scheme === 'file') return argument.fsPath;
		throw new Failure('unsupported', 'The document is not a file on this machine.', 'Save it to disk first.');
	}
	if (typeof argument !== 'string' || argument === '') return undefined;
	if (!isAbsolute(argument)) throw new Failure('invalid', `${argument.slice(0, 200)} is not an absolute path.`);
	return argument;
}

async function chosen(): Promise<string | undefined> {
	const active = vscode.window.activeTextEditor?.document;
	if (active?.uri.scheme === 'file' && active.languageId === 'markdown') return active.uri.fsPath;
	const files = await vscode.window.showOpenDialog({
		title: 'Open a report',
		openLabel: 'Open Report',
		filters: { Markdown: ['md'] },
	});
	return files?.[0]?.fsPath;
}
