import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { formatBytes } from '../../base/format.ts';
import { diskUse } from '../../runs/runReader.ts';
import type { RunRegistry } from '../../runs/runRegistry.ts';
import { diskRows } from '../diskRows.ts';
import { commandIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import { type RunPicker, selectionArgument } from '../runPicker.ts';
import type { RunStore } from '../runStore.ts';
import { hasEnded, nameOf, type RunView } from '../runView.ts';

interface Needs {
	readonly picker: RunPicker;
	readonly store: RunStore;
	readonly registry: RunRegistry;
	readonly notices: Notices;
}

/** A run in the trash, with its start settings. */
interface Trashed {
	readonly folder: string;
	readonly started: string | undefined;
}

/** Loaded on first use to keep activation fast. */
const actions = () => import('../../runs/runActions.ts');

/** Number of recent checkpoints that pruning keeps, in addition to the best one. */
const keptCheckpoints = 1;

/**
 * Handlers for the commands that manage disk space. Deletions require confirmation; moves to the trash can be undone.
 */
export function diskCommands(needs: Needs) {
	const { picker, store, registry } = needs;
	const { askPruneCheckpoints, askPruneTokens } = pruner(needs);
	return {
		[commandIds.moveToTrash]: async (...args: unknown[]) => {
			const views = await picker.many(args, { title: 'Move a run to the trash', what: 'has ended', applies: hasEnded });
			if (views === undefined) return;
			// A key binding acts on the selection, which might not include the focused row.
			if (args[0] === selectionArgument && !(await confirmTrash(views))) return;
			const { trashRun } = await actions();
			const trashed: Trashed[] = [];
			try {
				for (const view of views) {
					const folder = await trashRun(view.folder);
					trashed.push({ folder, started: await registry.remove(view.folder) });
				}
			} finally {
				await store.refresh();
				// If moving a run fails, the user can still restore those already moved.
				if (trashed.length > 0) offerUndo(views.slice(0, trashed.length), trashed, needs);
			}
		},
		[commandIds.showDiskUse]: async (...args: unknown[]) => {
			const view = await picker.one(args, {
				title: "Show a run's disk use",
				what: 'was found',
				applies: () => true,
			});
			if (view === undefined) return;
			const use = await diskUse(view.folder);
			const picked = await showQuickPick(
				diskRows(use, hasEnded(view)).map((row) => ({
					...row,
					...(row.prune === null ? {} : { detail: row.prune === 'tokens' ? 'Prune token logs' : 'Prune checkpoints' }),
				})),
				{ title: `${nameOf(view)} uses ${formatBytes(use.total)}`, placeHolder: 'Select data to prune' },
			);
			if (picked?.prune === 'checkpoints') await askPruneCheckpoints([view]);
			if (picked?.prune === 'tokens') await askPruneTokens([view]);
		},
		[commandIds.pruneCheckpoints]: async (...args: unknown[]) => {
			const question = { title: "Prune a run's checkpoints", what: 'has ended', applies: hasEnded };
			const views = await picker.many(args, question);
			if (views !== undefined) await askPruneCheckpoints(views);
		},
		[commandIds.pruneTokenLogs]: async (...args: unknown[]) => {
			const question = { title: "Prune a run's token logs", what: 'has ended', applies: hasEnded };
			const views = await picker.many(args, question);
			if (views !== undefined) await askPruneTokens(views);
		},
	};
}

async function confirmTrash(views: readonly RunView[]): Promise<boolean> {
	const move = 'Move to Trash';
	const detail = 'The run will be moved to the ".trash" folder next to the runs. You can undo this.';
	return (await vscode.window.showWarningMessage(`Move ${whatOf(views)}?`, { modal: true, detail }, move)) === move;
}

function offerUndo(
	views: readonly RunView[],
	trashed: readonly Trashed[],
	{ store, registry, notices }: Pick<Needs, 'store' | 'registry' | 'notices'>,
): void {
	const undo = async () => {
		const { restoreRun } = await actions();
		try {
			for (const { folder, started } of trashed) await registry.add(await restoreRun(folder), undefined, started);
		} finally {
			await store.refresh();
		}
	};
	void notices.information(`${whatOf(views)} moved to the ".trash" folder next to the runs.`, [
		{ title: 'Undo', run: undo },
	]);
}

/** Returns a function that prunes run data after the user confirms. */
function pruner({ store, notices }: Pick<Needs, 'store' | 'notices'>) {
	return { askPruneCheckpoints, askPruneTokens };

	function askPruneCheckpoints(views: readonly RunView[]): Promise<void> {
		return prune(
			views,
			`Delete the checkpoints of ${whatOf(views)}?`,
			'The latest and best checkpoints are kept. All others are permanently deleted.',
			async (folder) => (await actions()).pruneCheckpoints(folder, keptCheckpoints),
		);
	}

	function askPruneTokens(views: readonly RunView[]): Promise<void> {
		return prune(
			views,
			`Delete the token logs of ${whatOf(views)}?`,
			'Prompts, completions, and rewards are kept. Per-token log-probabilities and entropies are permanently deleted.',
			async (folder) => (await actions()).pruneTokenLogs(folder),
		);
	}

	async function prune(
		views: readonly RunView[],
		ask: string,
		detail: string,
		work: (folder: string) => Promise<number>,
	): Promise<void> {
		if ((await vscode.window.showWarningMessage(ask, { modal: true, detail }, 'Delete')) !== 'Delete') return;
		const freed = await withProgress({ title: 'Deleting' }, async (signal) => {
			let sum = 0;
			for (const view of views) {
				if (signal.aborted) throw new Failure('cancelled', 'Canceled.');
				sum += await work(view.folder);
			}
			return sum;
		});
		await store.refresh();
		void notices.information(`${formatBytes(freed)} freed.`);
	}
}

function whatOf(views: readonly RunView[]): string {
	const [first] = views;
	return views.length === 1 && first !== undefined ? nameOf(first) : `${views.length} runs`;
}
