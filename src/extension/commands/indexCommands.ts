import * as vscode from 'vscode';
import type { CommandTable } from '../commandTable.ts';
import { commandIds } from '../ids.ts';
import { Lazy } from '../lazy.ts';
import type { WindowRolloutIndex } from '../rolloutIndex/windowRolloutIndex.ts';

/** Registers *Rebuild Rollout Index* and *Pause or Resume Indexing*. */
export function addIndexCommands(table: CommandTable, rolloutIndex: WindowRolloutIndex): void {
	const shown = rolloutIndex.attach(
		new Lazy(async () => {
			const { IndexingItem } = await import('../rolloutIndex/indexingItem.ts');
			return new IndexingItem(rolloutIndex);
		}),
	);
	rolloutIndex.onStarted(() => void shown.get());
	table.add(commandIds.pauseIndexing, async () => (await shown.get()).toggle());
	table.add(commandIds.rebuildIndex, async () => {
		await vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: 'Clearing the rollout index' },
			() => rolloutIndex.request('rebuild', {}),
		);
	});
}
