import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { runFiles } from '../../runs/runFiles.ts';
import type { RunRegistry } from '../../runs/runRegistry.ts';
import type { CommandTable } from '../commandTable.ts';
import { commandIds } from '../ids.ts';
import type { DashboardPlace } from '../panels/dashboard/dashboardSession.ts';
import type { RolloutsPlace } from '../panels/rollouts/rolloutsSession.ts';
import { showInputBox } from '../quickInput.ts';
import { openFolder } from '../revealFolder.ts';
import type { RunPicker } from '../runPicker.ts';
import type { WorkspaceRuns } from '../runSources.ts';
import type { RunStore } from '../runStore.ts';
import { isForeign, type RunView } from '../runView.ts';

/** Opens dashboards, optionally at a step and a metric. */
export interface DashboardOpener {
	open(runFolder: string, place?: DashboardPlace): unknown;
}

/** Opens rollouts, optionally at a step or group, as the dashboard does. */
export interface RolloutsOpener {
	open(runFolder: string, place?: RolloutsPlace): unknown;
}

const finite = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Returns the requested step and metric, if any. Menus pass the selected items as this argument instead. */
function dashboardPlaceOf(argument: unknown): DashboardPlace | undefined {
	if (typeof argument !== 'object' || argument === null || Array.isArray(argument)) return undefined;
	const { step, metric } = argument as Readonly<Record<string, unknown>>;
	const named = typeof metric === 'string' && metric.length <= 1000 ? metric : null;
	if (!finite(step) && named === null) return undefined;
	return { step: finite(step) ? step : null, metric: named };
}

/** Returns the requested position. Menus pass the selected items as this argument instead. */
function placeOf(argument: unknown): RolloutsPlace | undefined {
	if (typeof argument !== 'object' || argument === null || Array.isArray(argument)) return undefined;
	const { step, group, split, index, tokens } = argument as Readonly<Record<string, unknown>>;
	const [first, last] = Array.isArray(tokens) ? tokens : [];
	if (!finite(step)) return undefined;
	return {
		step,
		...(finite(group) ? { group } : {}),
		...(split === 'train' || split === 'validation' ? { split } : {}),
		...(finite(group) && finite(index) ? { index } : {}),
		...(finite(group) && finite(index) && finite(first) && finite(last) ? { tokens: [first, last] as const } : {}),
	};
}

interface Needs {
	readonly picker: RunPicker;
	readonly store: RunStore;
	readonly registry: RunRegistry;
	readonly workspaceRuns: WorkspaceRuns;
	readonly dashboards: DashboardOpener;
	readonly rollouts: RolloutsOpener;
}

const anyRun = (view: RunView) => view.record !== null;

/** Registers the commands that show parts of a run. They work without workspace trust or an engine. */
export function addOpenCommands(table: CommandTable, needs: Needs): void {
	const { picker, store, registry, workspaceRuns, dashboards, rollouts } = needs;
	table.add(commandIds.openDashboard, async (...args) => {
		const question = { title: 'Open the dashboard of a run', what: 'can be read', applies: anyRun };
		const view = await picker.one(args, question);
		if (view !== undefined) await dashboards.open(view.folder, dashboardPlaceOf(args[1]));
	});
	table.add(commandIds.openRollouts, async (...args) => {
		const question = { title: 'Open the rollouts of a run', what: 'can be read', applies: anyRun };
		const view = await picker.one(args, question);
		if (view !== undefined) await rollouts.open(view.folder, placeOf(args[1]));
	});
	table.add(commandIds.openAddress, async (address?: unknown) => {
		const text = typeof address === 'string' ? address : await askAddress();
		if (text === undefined) return;
		const { openAddress } = await import('../agents/openAddress.ts');
		await openAddress(text, store);
	});
	table.add(commandIds.openRunFolder, async (...args) => {
		const question = { title: 'Open the folder of a run', what: 'was found', applies: () => true };
		const view = await picker.one(args, question);
		if (view !== undefined) await openFolder(vscode.Uri.file(view.folder));
	});
	table.add(commandIds.openLog, async (...args) => {
		const view = await picker.one(args, { title: 'Open the log of a run', what: 'was found', applies: () => true });
		if (view !== undefined) await openLog(view);
	});
	table.add(commandIds.addRunFolder, async (folder?: unknown, format?: unknown) => {
		const chosen =
			typeof folder === 'string' ? folder : folder instanceof vscode.Uri ? folder.fsPath : await askFolder();
		if (chosen === undefined) return;
		const { addRuns } = await import('./addRuns.ts');
		const added = await addRuns(chosen, registry, typeof format === 'string' ? format : undefined);
		if (added === null) return;
		await store.refresh();
		// A single added run is opened immediately.
		const [only] = added;
		if (added.length === 1 && only?.foreign) await dashboards.open(await store.expect(only.folder));
	});
	table.add(commandIds.forgetRun, async (...args) => {
		const question = {
			title: 'Remove a run from the list',
			what: 'was written by another trainer',
			applies: isForeign,
		};
		for (const { folder } of (await picker.many(args, question)) ?? []) {
			await registry.remove(folder);
			store.forget(folder);
		}
		await store.refresh();
	});
	table.add(commandIds.refreshRuns, async () => {
		workspaceRuns.rescan();
		await store.refresh();
	});
}

function askAddress(): Thenable<string | undefined> {
	return showInputBox({ title: 'Open address', placeHolder: 'rl://RUN/step/12/group/3/completion/5#tokens=40-60' });
}

async function askFolder(): Promise<string | undefined> {
	const chosen = await vscode.window.showOpenDialog({
		canSelectFiles: false,
		canSelectFolders: true,
		title: 'Select a run folder from any trainer, or a folder with runs',
		openLabel: 'Open',
	});
	return chosen?.[0]?.fsPath;
}

export async function openLog({ folder }: { readonly folder: string }): Promise<void> {
	const path = join(folder, runFiles.log);
	const stat = await lstat(path).catch(() => null);
	// Do not follow links, which could point anywhere.
	if (!stat?.isFile())
		throw new Failure('missing', `${folder} does not have a log.`, 'The log is created when the engine starts.');
	await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: true });
}
