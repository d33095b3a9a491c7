import * as vscode from 'vscode';
import type { CommandTable } from '../commandTable.ts';
import { commandIds } from '../ids.ts';
import type { LabProgress } from '../lab/labProgress.ts';
import type { WindowLab } from '../lab/windowLab.ts';

/** *Rebuild Index* and *Pause or Continue Indexing*. */
export function addLabCommands(table: CommandTable, lab: WindowLab): void {
	let progress: Promise<LabProgress> | null = null;
	const shown = () => {
		progress ??= import('../lab/labProgress.ts').then(({ LabProgress }) => lab.attach(new LabProgress(lab)));
		return progress;
	};
	lab.onStarted(() => void shown());
	table.add(commandIds.pauseIndexing, async () => (await shown()).toggle());
	table.add(commandIds.rebuildIndex, async () => {
		await vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: 'Clearing the index of rollouts' },
			() => lab.request('rebuild', {}),
		);
	});
}
