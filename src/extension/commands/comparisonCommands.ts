import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { comparedRuns } from '../../protocol/comparedRuns.ts';
import { commandIds } from '../ids.ts';
import { noOwnRuns } from '../noOwnRuns.ts';
import { showQuickPick } from '../quickInput.ts';
import type { RunPicker } from '../runPicker.ts';
import { presentRun } from '../runPresentation.ts';
import type { RunStore } from '../runStore.ts';
import { nameOf, type RunView, sharedNames } from '../runView.ts';

export interface ComparisonOpener {
	open(folders: readonly string[]): unknown;
}

interface Needs {
	readonly picker: RunPicker;
	readonly store: RunStore;
	readonly comparisons: ComparisonOpener;
}

/**
 * Handler for *Compare Runs*, which compares the runs selected in the *Runs* view or asks which to compare. Only reads
 * files.
 */
export function comparisonCommands({ picker, store, comparisons }: Needs) {
	return {
		[commandIds.compareRuns]: async (...args: unknown[]) => {
			const named = args.length === 0 ? [] : await picker.many(args, { title: '', what: 'can be read', applies });
			const folders = (named ?? []).map((view) => view.folder);
			const enough = folders.length >= comparedRuns.min;
			const chosen = enough ? folders : await pick(store, new Set(folders));
			if (chosen === undefined) return;
			if (chosen.length < comparedRuns.min || chosen.length > comparedRuns.max) {
				throw new Failure(
					'invalid',
					`${formatCounted(chosen.length, 'run is', 'runs are')} chosen.`,
					`Select ${comparedRuns.min} to ${comparedRuns.max} runs to compare.`,
				);
			}
			await comparisons.open(chosen);
		},
	};
}

const applies = (view: RunView): boolean => view.record !== null;

async function pick(store: RunStore, chosen: ReadonlySet<string>): Promise<string[] | undefined> {
	await store.ready;
	const views = store.own.filter(applies);
	if (views.length < comparedRuns.min) {
		throw noOwnRuns(
			store,
			views.length === 0 ? 'There are no runs to compare.' : 'There is only one run. A comparison requires two.',
			'Start another run, or add a run folder.',
		);
	}
	const now = Date.now() / 1000;
	const shared = sharedNames(store.runs);
	const picked = await showQuickPick(
		views.map((view) => {
			const { label, description, icon } = presentRun(view, now, shared.get(nameOf(view)));
			return { label: `$(${icon.id}) ${label}`, description, folder: view.folder, picked: chosen.has(view.folder) };
		}),
		{
			title: 'Compare Runs',
			placeHolder: `Choose ${comparedRuns.min} to ${comparedRuns.max} runs`,
			canPickMany: true,
			matchOnDescription: true,
		},
	);
	return picked?.map(({ folder }) => folder);
}
