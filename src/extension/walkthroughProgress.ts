import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import type { CommandResult, CommandTable } from './commandTable.ts';
import { type CommandId, commandIds, type WalkthroughStep, walkthroughContextKeys } from './ids.ts';
import type { RunStore } from './runStore.ts';
import { isForeign, type RunView } from './runView.ts';

interface Needs {
	readonly table: Pick<CommandTable, 'onDidComplete'>;
	readonly store: Pick<RunStore, 'own' | 'onDidChange'>;
}

const hasTrained = ({ record }: RunView): boolean => record !== null && (record.step ?? 0) > 0;

/** Steps completed by a run in the window. */
const shownByRuns: readonly (readonly [step: WalkthroughStep, run: (view: RunView) => boolean])[] = [
	['demo', (view) => !isForeign(view) && hasTrained(view)],
	['otherTrainer', isForeign],
	['pretrained', (view) => (view.record?.engine === 'pytorch' || view.record?.engine === 'ray') && hasTrained(view)],
];

/** Steps completed when a command returns a value: the run that was opened or started, or the log of the search. */
const shownByCommands: Readonly<Partial<Record<CommandId, WalkthroughStep>>> = {
	[commandIds.openRollouts]: 'rollouts',
	[commandIds.startRun]: 'ownData',
	[commandIds.newSearch]: 'search',
};

/**
 * Checks off walkthrough steps once the user has done what they describe, by whatever means. The editor
 * remembers completed steps.
 */
export class WalkthroughProgress extends Disposable {
	readonly #done = new Set<WalkthroughStep>();

	constructor({ table, store }: Needs) {
		super();
		const look = () => {
			for (const [step, shows] of shownByRuns) if (store.own.some(shows)) this.#complete(step);
		};
		this.register(store.onDidChange(look));
		this.register(table.onDidComplete((result) => this.#onCommand(result)));
		look();
	}

	#onCommand({ id, result }: CommandResult): void {
		const step = shownByCommands[id];
		if (step !== undefined && result !== undefined) this.#complete(step);
	}

	#complete(step: WalkthroughStep): void {
		if (this.#done.has(step)) return;
		this.#done.add(step);
		void vscode.commands.executeCommand('setContext', walkthroughContextKeys[step], true);
	}
}
