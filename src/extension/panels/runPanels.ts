import { lstat } from 'node:fs/promises';
import { basename, isAbsolute, join, normalize } from 'node:path';
import type * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { panelStateSchema } from '../../protocol/webviewMessages.ts';
import { formatOf } from '../../runs/openRun.ts';
import { runFiles } from '../../runs/runFiles.ts';
import type { PanelContext } from './panelBase.ts';
import { PanelSet } from './panelSet.ts';

/**
 * Creates the panel set for an app that shows a single run, with at most one panel per run folder.
 * @param show passes the options of `open` to a panel
 */
export function runPanels<P extends vscode.Disposable & { reveal(): void }, Options = never>(
	context: PanelContext,
	viewType: string,
	create: (panel: vscode.WebviewPanel, folder: string) => P,
	show: (panel: P, options: Options) => void = () => {},
): PanelSet<P, string, Options> {
	return new PanelSet<P, string, Options>(context.extensionUri, {
		viewType,
		what: 'this run',
		key: normalize,
		title: (folder) => basename(normalize(folder)),
		create(panel, folder, options) {
			const made = create(panel, normalize(folder));
			if (options !== undefined) show(made, options);
			return made;
		},
		reopen(panel, _folder, options) {
			if (options !== undefined) show(panel, options);
		},
		restore: checkRunFolder,
	});
}

/**
 * Returns the run folder from a saved state, if valid: an absolute path to an actual folder that contains a regular
 * run.json file or is recognized by an importer.
 */
export async function checkRunFolder(state: unknown): Promise<string> {
	const { runFolder } = decodeOrThrow(panelStateSchema, state, 'The saved view state');
	if (!isAbsolute(runFolder)) {
		throw new Failure(
			'invalid',
			'The saved view state does not contain an absolute path.',
			'Open the run from the Runs view.',
		);
	}
	const folder = normalize(runFolder);
	try {
		const directory = await lstat(folder);
		if (!directory.isDirectory()) throw new Failure('invalid', `${folder} is not a run folder.`);
		const record = await lstat(join(folder, runFiles.record)).catch(() => null);
		if (record === null) await formatOf(folder);
		else if (!record.isFile()) throw new Failure('invalid', `${folder} is not a run folder.`);
	} catch (error) {
		if (error instanceof Failure) throw error;
		throw new Failure('missing', `The run folder ${folder} no longer exists.`, 'Open another run from the Runs view.', {
			cause: error,
		});
	}
	return folder;
}
