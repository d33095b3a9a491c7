import * as vscode from 'vscode';
import { commandIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import type { RunController } from '../runController.ts';
import type { RunPicker } from '../runPicker.ts';
import { isLive, isRunning, nameOf, type RunView } from '../runView.ts';

interface Needs {
	readonly picker: RunPicker;
	readonly controller: RunController;
	readonly notices: Notices;
}

/** Handlers for the commands that control a running engine. */
export function controlCommands({ picker, controller, notices }: Needs) {
	return {
		[commandIds.pauseRun]: async (...args: unknown[]) => {
			const question = {
				title: 'Pause a run',
				what: 'is running',
				applies: isRunning,
			};
			const view = await picker.one(args, question);
			if (view !== undefined) await controller.pause(view);
		},
		[commandIds.continueRun]: async (...args: unknown[]) => {
			const question = {
				title: 'Continue a run',
				what: 'is paused',
				applies: (view: RunView) => view.status === 'paused',
			};
			const view = await picker.one(args, question);
			if (view !== undefined) await controller.continue(view);
		},
		[commandIds.stopRun]: async (...args: unknown[]) => {
			const views = await picker.many(args, { title: 'Stop a run', what: 'is active', applies: isLive });
			await Promise.all((views ?? []).map((view) => controller.stop(view)));
		},
		[commandIds.saveCheckpoint]: async (...args: unknown[]) => {
			const view = await picker.one(args, { title: 'Save a checkpoint', what: 'is active', applies: isLive });
			if (view === undefined) return undefined;
			const folder = await controller.checkpoint(view);
			vscode.window.setStatusBarMessage(`Checkpoint of ${nameOf(view)} saved`, 5000);
			return folder;
		},
		[commandIds.setHyperparameters]: async (...args: unknown[]) => {
			const view = await picker.one(args, { title: 'Set hyperparameters', what: 'is active', applies: isLive });
			if (view === undefined) return undefined;
			const { askChanges, givenChanges } = await import('./hyperparameterChanges.ts');
			const changes = givenChanges(args[1]) ?? (await askChanges(view));
			if (changes === undefined) return undefined;
			const fromStep = await controller.setHyperparameters(view, changes);
			const words = Object.entries(changes).map(([name, value]) => `${name} = ${value}`);
			void notices.information(`${nameOf(view)}: ${words.join(', ')}, effective from step ${fromStep}.`);
			return fromStep;
		},
	};
}
