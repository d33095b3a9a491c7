import { isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { runCli } from '../cliProcess.ts';
import type { Notices } from '../notices.ts';
import { displayText } from '../runView.ts';
import { settings } from '../settings.ts';

interface Needs {
	readonly extension: vscode.Uri;
	readonly notices: Notices;
}

/**
 * Implements *Export Report* for a run or pipeline. Asks where to save the report unless the caller passes `{ out }`,
 * and writes it in a separate process. @returns the file, or undefined if the user canceled
 */
export async function exportReport(
	source: { readonly folder: string; readonly name: string },
	argument: unknown,
	{ extension, notices }: Needs,
): Promise<string | undefined> {
	const out = outOf(argument) ?? (await askFile(source.name));
	if (out === undefined) return undefined;
	const name = displayText(source.name, 60);
	await vscode.window.withProgress(
		{ location: vscode.ProgressLocation.Notification, title: `Writing the report for ${name}`, cancellable: true },
		async (_, token) => {
			const abort = new AbortController();
			token.onCancellationRequested(() => abort.abort());
			await runCli({
				...{ cli: join(extension.fsPath, 'dist', 'cli.js'), node: settings.nodePath(), cwd: source.folder },
				args: ['report', source.folder, '--out', out],
				signal: abort.signal,
				onObject: () => undefined,
			});
		},
	);
	const uri = vscode.Uri.file(out);
	const open = /\.md$/i.test(out)
		? () => vscode.commands.executeCommand('markdown.showPreview', uri)
		: () => vscode.env.openExternal(uri);
	void notices.information(`Report for ${name} saved.`, [
		{ title: 'Open', run: open },
		{ title: 'Reveal', run: () => vscode.commands.executeCommand('revealFileInOS', uri) },
	]);
	return out;
}

async function askFile(name: string): Promise<string | undefined> {
	const safe = name.replace(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 80) || 'run';
	const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri;
	const file = `${safe}-report.html`;
	const chosen = await vscode.window.showSaveDialog({
		title: `Report for ${displayText(name, 60)}`,
		defaultUri: folder === undefined ? vscode.Uri.file(file) : vscode.Uri.joinPath(folder, file),
		filters: { HTML: ['html'], Markdown: ['md'] },
	});
	return chosen?.fsPath;
}

function outOf(argument: unknown): string | null {
	const out = (argument as { readonly out?: unknown } | null | undefined)?.out;
	if (typeof out !== 'string') return null;
	if (isAbsolute(out)) return out;
	throw new Failure('invalid', `${out} is not an absolute path.`, 'Use an absolute path.');
}
