import * as vscode from 'vscode';
import type { RunRegistry } from '../../runs/runRegistry.ts';
import { commandIds } from '../ids.ts';
import { openLog } from '../openLog.ts';
import type { DashboardPlace } from '../panels/dashboard/dashboardSession.ts';
import type { RolloutsPlace } from '../panels/rollouts/rolloutsSession.ts';
import { showInputBox } from '../quickInput.ts';
import { openFolder } from '../revealFolder.ts';
import type { RunPicker } from '../runPicker.ts';
import type { WorkspaceRuns } from '../runSources.ts';
import type { RunStore } from '../runStore.ts';
import type { RunsTree } from '../runsTree.ts';
import { isForeign, type RunView } from '../runView.ts';
import type { AddedRun } from './addRuns.ts';

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
	readonly tree: RunsTree;
	readonly store: RunStore;
	readonly registry: RunRegistry;
	readonly workspaceRuns: WorkspaceRuns;
	readonly dashboards: DashboardOpener;
	readonly rollouts: RolloutsOpener;
}

const anyRun = (view: RunView) => view.record !== null;

/** Handlers for the commands that show parts of a run. They work without workspace trust or an engine. */
export function openCommands(needs: Needs) {
	const { picker, tree, store, registry, workspaceRuns, dashboards, rollouts } = needs;
	return {
		[commandIds.openDashboard]: async (...args: unknown[]) => {
			const question = { title: 'Open a run dashboard', what: 'can be read', applies: anyRun };
			const view = await picker.one(args, question);
			if (view !== undefined) await dashboards.open(view.folder, dashboardPlaceOf(args[1]));
		},
		[commandIds.openRollouts]: async (...args: unknown[]) => {
			const question = { title: "Open a run's rollouts", what: 'can be read', applies: anyRun };
			const view = await picker.one(args, question);
			if (view !== undefined) await rollouts.open(view.folder, placeOf(args[1]));
			return view?.folder;
		},
		[commandIds.openAddress]: async (address?: unknown) => {
			const text = typeof address === 'string' ? address : await askAddress();
			if (text === undefined) return;
			const { openAddress } = await import('../agents/openAddress.ts');
			await openAddress(text, store);
		},
		[commandIds.openRunFolder]: async (...args: unknown[]) => {
			const question = { title: 'Open a run folder', what: 'was found', applies: () => true };
			const view = await picker.one(args, question);
			if (view !== undefined) await openFolder(vscode.Uri.file(view.folder));
		},
		[commandIds.openLog]: async (...args: unknown[]) => {
			const view = await picker.one(args, { title: 'Open a run log', what: 'was found', applies: () => true });
			if (view !== undefined) await openLog(view);
		},
		[commandIds.openAsRun]: async (place?: unknown, reader?: unknown) => {
			const { hasMetrics, runPlaceOf } = await import('../runFileEditor.ts');
			const { folder, format } =
				place instanceof vscode.Uri ? await runPlaceOf(place) : { folder: place, format: reader };
			const added = await add(needs, folder, format);
			// With several runs, open the first one in the list.
			const [first] = added ?? [];
			if (first === undefined) return;
			const run = await store.expect(first.folder);
			// Evaluations and samples have no curves.
			if (await hasMetrics(run)) await dashboards.open(run);
			else await rollouts.open(run);
		},
		[commandIds.showOtherRuns]: () => tree.showOthers(),
		[commandIds.addRunFolder]: async (folder?: unknown, format?: unknown) => {
			const added = await add(needs, folder, format);
			// A single added run is opened immediately.
			const [only] = added ?? [];
			if (added?.length === 1 && only?.foreign) await dashboards.open(await store.expect(only.folder));
		},
		[commandIds.forgetRun]: async (...args: unknown[]) => {
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
		},
		[commandIds.refreshRuns]: async () => {
			workspaceRuns.rescan();
			await store.refresh();
		},
	};
}

/** Adds the runs in a folder to the list and to the window. Asks for the folder if there is none. */
async function add(
	{ registry, store }: Pick<Needs, 'registry' | 'store'>,
	folder: unknown,
	format?: unknown,
): Promise<AddedRun[] | null> {
	const chosen = typeof folder === 'string' ? folder : folder instanceof vscode.Uri ? folder.fsPath : await askFolder();
	if (chosen === undefined) return null;
	const { addRuns } = await import('./addRuns.ts');
	const added = await addRuns(chosen, registry, typeof format === 'string' ? format : undefined);
	if (added === null) return null;
	for (const run of added) await store.adopt(run.folder);
	await store.refresh();
	return added;
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
