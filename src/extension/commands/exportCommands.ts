import { commandIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import type { RunPicker } from '../runPicker.ts';
import { nameOf, type RunView } from '../runView.ts';

const anyRun = (view: RunView) => view.record !== null;

/**
 * Handler for the command that exports rollouts as training data for other tools. Works without workspace trust or an
 * engine.
 */
export function exportCommands({ picker, notices }: { readonly picker: RunPicker; readonly notices: Notices }) {
	return {
		[commandIds.exportRollouts]: async (...args: unknown[]) => {
			const view = await picker.one(args, {
				title: "Export a run's rollouts",
				what: 'can be read',
				applies: anyRun,
			});
			if (view === undefined) return false;
			const { exportRun } = await import('../rollouts/exportCommand.ts');
			return exportRun({ folder: view.folder, name: nameOf(view) }, args[1], notices);
		},
	};
}
