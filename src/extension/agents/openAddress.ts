import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { type DataAddress, type EvaluationPlace, parseAddress } from '../../core/address/dataAddress.ts';
import { addressOfLink } from '../../core/address/openLink.ts';
import { openRegular } from '../../files/safeFile.ts';
import { evaluationFiles } from '../../protocol/evaluationFolder.ts';
import { ownFormat } from '../../runs/annotationFolder.ts';
import { distinctRunName } from '../../runs/distinctRunName.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { isRunFolder } from '../../runs/runFolders.ts';
import { reportFolder } from '../../runs/runReports.ts';
import { commandIds } from '../ids.ts';
import { showQuickPick } from '../quickInput.ts';
import { presentRun } from '../runPresentation.ts';
import type { RunStore } from '../runStore.ts';
import type { RunView } from '../runView.ts';

/**
 * Opens the target of an `rl://` address, or of a link to one: a dashboard, rollouts, a tree or a file of a known run.
 * Fails with `invalid` for a malformed address and with `missing` for an unknown run, without opening anything.
 */
export async function openAddress(text: string, store: RunStore): Promise<void> {
	const address = parseAddress(addressOfLink(text) ?? text.trim());
	if (address.kind === 'search' && address.run === null) {
		await openTree(await workspaceFile(address.search), address);
		return;
	}
	if (address.kind === 'dataset') {
		const file = await workspaceFile(address.path);
		await vscode.commands.executeCommand(commandIds.openDataset, { file, row: address.row });
		return;
	}
	const view = await runOf(address.run as string, store);
	if (view === undefined) return;
	const { folder } = view;
	switch (address.kind) {
		case 'run':
			await vscode.commands.executeCommand(commandIds.openDashboard, folder);
			break;
		case 'metric':
			await openDashboard(folder, address.step, address.metric);
			break;
		case 'evaluation':
			await openEvaluation(folder, address);
			break;
		case 'comparison': {
			const other = await runOf(address.other.run, store);
			if (other === undefined) return;
			if (other.folder === folder) await openEvaluation(folder, address.other);
			else await compareRuns(folder, other.folder);
			break;
		}
		case 'report':
			await openReport(folder, address.name);
			break;
		case 'file':
			await openFile(folder, address.path);
			break;
		case 'search':
			await openTree(join(folder, runFiles.searches, address.search), address);
			break;
		default:
			await vscode.commands.executeCommand(commandIds.openRollouts, folder, placeOf(address));
	}
}

/** Folder of reports written by agents, relative to a run. */
const reportPath = new RegExp(`^${runFiles.annotations}/reports/[^/]+\\.md$`);

/** Path of a checkpoint's evaluation results, relative to its run. */
const evaluationReport = (name: string) => `${runFiles.annotations}/evaluations/${name}/${evaluationFiles.report}`;

function compareRuns(...paths: [string, string]): PromiseLike<unknown> {
	const folders = paths.map((path) => vscode.Uri.file(path));
	return vscode.commands.executeCommand(commandIds.compareRuns, folders[0], folders);
}

function openEvaluation(folder: string, { name, step }: EvaluationPlace): PromiseLike<unknown> {
	if (step === null) return openFile(folder, evaluationReport(name));
	return openDashboard(folder, step, `eval/${name}/accuracy`);
}

function openDashboard(folder: string, step: number | null, metric: string): PromiseLike<unknown> {
	return vscode.commands.executeCommand(commandIds.openDashboard, folder, { step, metric });
}

function openTree(path: string, { tree, node }: Extract<DataAddress, { kind: 'search' }>): PromiseLike<unknown> {
	// Tree numbers in addresses are 1-based.
	const place = { tree: tree - 1, ...(node === null ? {} : { node }) };
	return vscode.commands.executeCommand(commandIds.openSearchTree, path, place);
}

function placeOf(address: Extract<DataAddress, { kind: 'step' | 'group' | 'completion' }>): object {
	const { step, split } = address;
	if (address.kind === 'step') return { step, split };
	if (address.kind === 'group') return { step, split, group: address.group };
	const { group, completion, tokens } = address;
	return { step, split, group, index: completion, ...(tokens === null ? {} : { tokens }) };
}

/**
 * Finds a run by its folder name, asking the user if several runs share it. Resolves to undefined if the user cancels.
 */
async function runOf(name: string, store: RunStore): Promise<RunView | undefined> {
	await store.ready;
	const named = (wanted: string) => store.runs.filter(({ folder }) => basename(folder) === wanted);
	const exact = named(name);
	// The MCP server adds a hash to the names of runs whose folders have the same name. Earlier versions added a number.
	const hashed = store.runs.filter(({ folder }) => distinctRunName(folder) === name);
	const found =
		[exact, hashed, named(name.replace(/~(?:\d+|[0-9a-f]{6})$/, ''))].find(({ length }) => length > 0) ?? [];
	const [only] = found;
	if (only === undefined) {
		throw new Failure(
			'missing',
			`No run named "${name.slice(0, 200)}" found.`,
			'Open its folder, or add it to the Runs view.',
		);
	}
	if (found.length === 1) return only;
	const now = Date.now() / 1000;
	const items = found.map((view) => {
		const { label, description } = presentRun(view, now, 'project');
		return { label, description, detail: view.folder, view };
	});
	return (await showQuickPick(items, { title: 'Open address', placeHolder: `Select a run named ${name}` }))?.view;
}

/** Returns the file or folder at a path relative to a workspace folder. */
async function workspaceFile(path: string): Promise<string> {
	for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
		if (uri.scheme !== 'file') continue;
		const file = join(uri.fsPath, path);
		const found = await lstat(file).catch(() => null);
		if (found?.isFile() || found?.isDirectory()) return file;
	}
	throw new Failure(
		'missing',
		`No workspace folder contains ${path.slice(0, 200)}.`,
		'Open the folder that contains it.',
	);
}

async function openReport(folder: string, name: string): Promise<void> {
	const format = (await isRunFolder(folder)) ? ownFormat : 'foreign';
	const reports = await reportFolder({ folder, format });
	const file = `${name}.md`;
	await (await openRegular(reports, file)).close();
	await vscode.commands.executeCommand(commandIds.openReport, join(reports, file));
}

async function openFile(folder: string, path: string): Promise<void> {
	// Fails for links and other non-regular files.
	await (await openRegular(folder, path)).close();
	if (reportPath.test(path)) {
		await vscode.commands.executeCommand(commandIds.openReport, join(folder, path));
		return;
	}
	await vscode.window.showTextDocument(vscode.Uri.file(join(folder, path)), { preview: true });
}
