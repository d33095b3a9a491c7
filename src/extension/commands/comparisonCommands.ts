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
			const chosen = folders.length >= comparedRuns.min ? folders : await pick(store, folders[0] ?? null);
			if (chosen === undefined) return;
			if (chosen.length < comparedRuns.min || chosen.length > comparedRuns.max) {
				throw new Failure(
					'invalid',
					`${formatCounted(chosen.length, 'run is', 'runs are')} selected.`,
					`Select ${comparedRuns.min} to ${comparedRuns.max} runs to compare.`,
				);
			}
			await comparisons.open(chosen);
		},
	};
}

const applies = (view: RunView): boolean => view.record !== null;

/**
 * Asks which runs to compare.
 * @param first run to compare with another one; null to let the user choose several
 */
async function pick(store: RunStore, first: string | null): Promise<string[] | undefined> {
	await store.ready;
	const views = store.own.filter((view) => applies(view) && view.folder !== first);
	const given = first === null ? undefined : store.get(first);
	const known = views.length + (given === undefined ? 0 : 1);
	if (known < comparedRuns.min) {
		throw noOwnRuns(
			store,
			known === 0 ? 'There are no runs to compare.' : 'There is only one run. A comparison requires two.',
			'Start another run, or add a run folder.',
		);
	}
	const now = Date.now() / 1000;
	const shared = sharedNames(store.runs);
	const item = (view: RunView) => {
		const { label, description, icon } = presentRun(view, now, shared.get(nameOf(view)));
		return { label: `$(${icon.id}) ${label}`, description, folder: view.folder as string | null };
	};
	if (given !== undefined) {
		const several = { label: '$(checklist) Several runs...', description: '', folder: null };
		const other = await showQuickPick([...views.map(item), ...(views.length > 1 ? [several] : [])], {
			title: `Compare ${nameOf(given)} with`,
			placeHolder: 'Select a run',
			matchOnDescription: true,
		});
		if (other === undefined) return undefined;
		if (other.folder !== null) return [given.folder, other.folder];
	}
	const all = given === undefined ? views : [given, ...views];
	const picked = await showQuickPick(
		all.map((view) => ({ ...item(view), picked: view === given })),
		{
			title: 'Compare Runs',
			placeHolder: `Choose ${comparedRuns.min} to ${comparedRuns.max} runs`,
			canPickMany: true,
			matchOnDescription: true,
		},
	);
	return picked?.flatMap(({ folder }) => folder ?? []);
}
