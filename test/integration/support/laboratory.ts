import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds, extensionId } from '../../../src/extension/ids.ts';
import type { Notice } from '../../../src/extension/notices.ts';
import type { RunView } from '../../../src/extension/runView.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import type { RunRecord } from '../../../src/protocol/runRecord.ts';

/** Activates the extension under test and returns its API. */
export async function activated(): Promise<ExtensionApi> {
	const extension = vscode.extensions.getExtension<ExtensionApi>(extensionId);
	assert.ok(extension, `${extensionId} is not installed`);
	const api = await extension.activate();
	if (!listening) api.notices.onDidShow((notice) => notices.push(notice));
	listening = true;
	return api;
}

let listening = false;
/** Notifications observed by this suite file. */
export const notices: Notice[] = [];

export function workspaceFolder(): string {
	const folder = vscode.workspace.workspaceFolders?.[0];
	assert.ok(folder, 'the suites require a workspace folder');
	return folder.uri.fsPath;
}

/** Polls until the condition holds. On timeout, the error includes `what`. */
export async function until<T>(
	what: string,
	condition: () => T | undefined | false | Promise<T | undefined | false>,
	seconds = 60,
): Promise<T> {
	for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
		const value = await condition();
		if (value !== undefined && value !== false) return value;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	throw new Error(`Waited ${seconds} s for: ${what}`);
}

/**
 * Returns a document's code lenses with their commands. VS Code releases the commands 100 ms after it has returned the
 * lenses, so an extension host that was busy in between receives lenses without commands and has to ask again.
 */
export function codeLenses(uri: vscode.Uri): Promise<vscode.CodeLens[]> {
	return until('code lenses with their commands', async () => {
		const found = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri);
		return found.every(({ command }) => command !== undefined) && found;
	});
}

export async function untilRun(
	api: ExtensionApi,
	folder: string,
	what: string,
	condition: (view: RunView) => boolean,
	seconds?: number,
): Promise<RunView> {
	return until(
		`${what} (now ${JSON.stringify(api.runStore.get(folder)?.record)})`,
		() => {
			const view = api.runStore.get(folder);
			return view !== undefined && condition(view) && view;
		},
		seconds,
	);
}

/** Refreshes the runs, as a user does if a file event was lost, and waits for the one in `folder`. */
export async function untilListed(api: ExtensionApi, folder: string): Promise<RunView> {
	await vscode.commands.executeCommand(commandIds.refreshRuns);
	return untilRun(api, folder, 'the run is listed', () => true);
}

/** Writes the folder of a finished run as an engine would leave it. */
export async function writeRun(folder: string, changes: Partial<RunRecord> = {}): Promise<void> {
	await mkdir(folder, { recursive: true });
	const now = Date.now() / 1000;
	const record: RunRecord = {
		format: 1,
		id: 'fixture',
		name: 'fixture',
		engine: 'embedded',
		status: 'finished',
		attempt: 1,
		stage: 'grpo',
		step: 3,
		totalSteps: 3,
		created: now - 90,
		updated: now - 10,
		heartbeat: now - 10,
		host: 'elsewhere',
		boot: 'elsewhere',
		pid: 1,
		processStart: 'long ago',
		device: 'cpu (2 workers)',
		parent: null,
		seeds: { run: 1 },
		versions: {},
		hashes: { recipe: '', dataset: '', rewards: '' },
		...changes,
	};
	const lines = [1, 2, 3].map((step) =>
		JSON.stringify({ step, time: now - 90 + step, stage: 'grpo', reward: 0.25 * step, 'eval/accuracy': 0.5 }),
	);
	await writeFile(join(folder, 'metrics.jsonl'), `${lines.join('\n')}\n{"step":4,"torn`);
	await writeFile(join(folder, 'engine.log'), 'done\n');
	await writeFile(join(folder, 'run.json'), JSON.stringify(record));
}
