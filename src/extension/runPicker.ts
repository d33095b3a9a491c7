import * as vscode from 'vscode';
import { Failure } from '../base/failure.ts';
import { noOwnRuns } from './noOwnRuns.ts';
import { showQuickPick } from './quickInput.ts';
import { presentRun } from './runPresentation.ts';
import type { RunStore } from './runStore.ts';
import type { RunsTree } from './runsTree.ts';
import { nameOf, type RunView, sharedNames } from './runView.ts';

export interface RunQuestion {
	/** Title of the list, such as "Stop a run". */
	readonly title: string;
	/** Returns whether the action applies to a run. */
	readonly applies: (view: RunView) => boolean;
	/**
	 * Predicate that completes "No run ..." if there is no match, and is negated in "NAME ..." if a specific run does not
	 * match: "is paused".
	 */
	readonly what: string;
}

/** Argument passed by the view's key bindings instead of a run. */
export const selectionArgument = 'selection';

/**
 * Determines the runs a command acts on: those in its arguments, the selected runs, the only matching run, or the
 * user's choice.
 */
export class RunPicker {
	readonly #store: RunStore;
	readonly #tree: RunsTree;

	constructor(store: RunStore, tree: RunsTree) {
		this.#store = store;
		this.#tree = tree;
	}

	/** Returns undefined if the user canceled. */
	async one(args: readonly unknown[], question: RunQuestion): Promise<RunView | undefined> {
		return (await this.many(args.slice(0, 1), question))?.[0];
	}

	/** Same as {@link one}, for several runs; menus in the view pass all selected runs. */
	async many(args: readonly unknown[], question: RunQuestion): Promise<RunView[] | undefined> {
		await this.#store.ready;
		const named = this.#named(args);
		if (named.length > 0) {
			const views = await Promise.all(named.map((folder) => this.#store.require(folder)));
			const fit = views.filter(question.applies);
			if (fit.length > 0) return fit;
			const [first] = views;
			throw new Failure('unsupported', `${first ? nameOf(first) : 'The run'} ${negated(question.what)}.`);
		}
		const candidates = this.#store.own.filter(question.applies);
		if (candidates.length === 0) throw noOwnRuns(this.#store, `No run ${question.what}.`);
		if (candidates.length === 1) return candidates;
		const now = Date.now() / 1000;
		const shared = sharedNames(this.#store.runs);
		const picked = await showQuickPick(
			candidates.map((view) => {
				const { label, description, icon } = presentRun(view, now, shared.get(nameOf(view)));
				return { label: `$(${icon.id}) ${label}`, description, view };
			}),
			// When the palette closes, a panel that had focus regains it, possibly after this list has opened.
			{ title: question.title, placeHolder: 'Select a run', matchOnDescription: true },
		);
		return picked && [picked.view];
	}

	#named(args: readonly unknown[]): string[] {
		const [first, selected] = args;
		if (first === selectionArgument) return [...this.#tree.selection];
		const folder = folderOf(first);
		if (folder === null) return [];
		const all = Array.isArray(selected) ? selected.map(folderOf).filter((entry) => entry !== null) : [];
		return all.includes(folder) ? all : [folder];
	}
}

function folderOf(argument: unknown): string | null {
	if (typeof argument === 'string' && argument !== '') return argument;
	if (argument instanceof vscode.Uri) return argument.fsPath;
	return null;
}

/** Negates a predicate: "is paused" becomes "is not paused". */
function negated(what: string): string {
	return what.replace(/^(is|has|can) /, '$1 not ').replace(/^can not /, 'cannot ');
}
