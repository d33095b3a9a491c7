import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../base/failure.ts';
import { runFiles } from '../runs/runFiles.ts';

/** Shows the engine log of a run. Fails with `missing` if there is none. */
export async function openLog({ folder }: { readonly folder: string }): Promise<void> {
	await openLogFile(join(folder, runFiles.log), folder, 'engine');
}

/**
 * Shows a log file. Fails with `missing` if there is none.
 * @param owner run or pipeline, for the error
 * @param program program that creates the log
 */
export async function openLogFile(path: string, owner: string, program: 'engine' | 'runner'): Promise<void> {
	const stat = await lstat(path).catch(() => null);
	// Do not follow links, which could point anywhere.
	if (!stat?.isFile())
		throw new Failure('missing', `${owner} does not have a log.`, `The log is created when the ${program} starts.`);
	await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: true });
}
