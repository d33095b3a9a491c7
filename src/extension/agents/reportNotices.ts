import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { ensureFolder } from '../../files/atomicFile.ts';
import { readWrittenReport, writtenReportName, writtenReportsFolder } from '../../runs/writtenReports.ts';
import { commandIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import { displayText } from '../runView.ts';

/**
 * Offers to open reports that agents write with the `write_report` tool: on runs in the workspace, and on other runs if
 * the agent works in a workspace folder.
 */
export class ReportNotices extends Disposable {
	/** Resolves once reports on runs outside the workspace are being watched. */
	readonly ready: Promise<void>;
	readonly #notices: Pick<Notices, 'information'>;
	readonly #log: (message: string) => void;
	readonly #seen = new Set<string>();
	#watcher: FSWatcher | null = null;

	constructor(notices: Pick<Notices, 'information'>, log: (message: string) => void) {
		super();
		this.#notices = notices;
		this.#log = log;
		const pattern = '**/annotations/reports/*.md';
		const watcher = this.register(vscode.workspace.createFileSystemWatcher(pattern, false, true, true));
		this.register(
			watcher.onDidCreate((uri) => {
				if (uri.scheme === 'file') this.#offer(dirname(dirname(dirname(uri.fsPath))), uri);
			}),
		);
		this.register(toDisposable(() => this.#watcher?.close()));
		this.ready = this.#watch();
	}

	async #watch(): Promise<void> {
		const folder = writtenReportsFolder();
		try {
			await ensureFolder(folder);
			if (this.disposed) return;
			this.#watcher = watch(folder, (_, name) => {
				if (name === null || !writtenReportName.test(name) || this.#seen.has(name)) return;
				this.#seen.add(name);
				void this.#read(name);
			});
			this.#watcher.on('error', (error) => this.#log(`report notices: ${error.message}`));
		} catch (error) {
			this.#log(`report notices: ${Failure.from(error)}`);
		}
	}

	async #read(name: string): Promise<void> {
		try {
			const { run, path, folders } = await readWrittenReport(name);
			const uri = vscode.Uri.file(path);
			const inWorkspace = (file: vscode.Uri) => vscode.workspace.getWorkspaceFolder(file) !== undefined;
			// The other watcher sees files in the workspace.
			if (!inWorkspace(uri) && folders.some((folder) => inWorkspace(vscode.Uri.file(folder)))) this.#offer(run, uri);
		} catch (error) {
			this.#log(`report notices: ${Failure.from(error)}`);
		}
	}

	#offer(run: string, report: vscode.Uri): void {
		const words = `New report on ${displayText(basename(run), 80)}: ${displayText(basename(report.fsPath), 80)}.`;
		const open = () => vscode.commands.executeCommand(commandIds.openReport, report);
		void this.#notices.information(words, [{ title: 'Open Report', run: open }]);
	}
}
