import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { commandIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import { displayText } from '../runView.ts';

/** Offers to open reports that agents write to a run in the workspace with the `write_report` tool. */
export class ReportNotices extends Disposable {
	constructor(notices: Pick<Notices, 'information'>) {
		super();
		const pattern = '**/annotations/reports/*.md';
		const watcher = this.register(vscode.workspace.createFileSystemWatcher(pattern, false, true, true));
		this.register(
			watcher.onDidCreate((uri) => {
				if (uri.scheme !== 'file') return;
				const run = dirname(dirname(dirname(uri.fsPath)));
				const words = `New report on ${displayText(basename(run), 80)}: ${displayText(basename(uri.fsPath), 80)}.`;
				const open = () => vscode.commands.executeCommand(commandIds.openReport, uri);
				void notices.information(words, [{ title: 'Open Report', run: open }]);
			}),
		);
	}
}
