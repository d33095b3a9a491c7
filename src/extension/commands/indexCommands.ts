import * as vscode from 'vscode';
import type { CommandTable } from '../commandTable.ts';
import { commandIds } from '../ids.ts';
import type { IndexingItem } from '../rolloutIndex/indexingItem.ts';
import type { WindowRolloutIndex } from '../rolloutIndex/windowRolloutIndex.ts';

/** Registers *Rebuild Index* and *Pause or Continue Indexing*. */
export function addIndexCommands(table: CommandTable, rolloutIndex: WindowRolloutIndex): void {
	let progress: Promise<IndexingItem> | null = null;
	const shown = () => {
		progress ??= import('../rolloutIndex/indexingItem.ts').then(({ IndexingItem }) =>
			rolloutIndex.attach(new IndexingItem(rolloutIndex)),
		);
		return progress;
	};
	rolloutIndex.onStarted(() => void shown());
	table.add(commandIds.pauseIndexing, async () => (await shown()).toggle());
	table.add(commandIds.rebuildIndex, async () => {
		await vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: 'Clearing the rollout index' },
			() => rolloutIndex.request('rebuild', {}),
		);
	});
}
