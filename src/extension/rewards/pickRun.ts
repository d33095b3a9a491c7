import type * as vscode from 'vscode';
import { noOwnRuns } from '../noOwnRuns.ts';
import { showQuickPick } from '../quickInput.ts';
import { presentRun } from '../runPresentation.ts';
import type { RunStore } from '../runStore.ts';
import { nameOf, sharedNames } from '../runView.ts';

interface RunQuestion {
	readonly title: string;
	readonly placeHolder: string;
	/** Folder of the currently selected run. */
	readonly chosen?: string | null;
	/** Additional item for selecting no run. */
	readonly none?: vscode.QuickPickItem | undefined;
}

/** Asks for a known run, newest first. Returns null for no run and undefined if the user canceled. */
export async function pickRun(store: RunStore, question: RunQuestion): Promise<string | null | undefined> {
	await store.ready;
	const now = Date.now() / 1000;
	const runs = store.own.filter((view) => view.record !== null);
	if (runs.length === 0) throw noOwnRuns(store, 'There are no runs.', 'Start a run, or add a run folder.');
	const shared = sharedNames(store.runs);
	const items: (vscode.QuickPickItem & { folder: string | null })[] = runs.map((view) => {
		const { label, description, icon } = presentRun(view, now, shared.get(nameOf(view)) ?? 'time');
		const chosen = view.folder === question.chosen ? '$(check) ' : '';
		return { label: `${chosen}$(${icon.id}) ${label}`, description, folder: view.folder };
	});
	if (question.none !== undefined) items.unshift({ ...question.none, folder: null });
	const { title, placeHolder } = question;
	const picked = await showQuickPick(items, { title, placeHolder, matchOnDescription: true });
	return picked?.folder;
}
