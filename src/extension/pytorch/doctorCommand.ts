import { homedir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { DoctorReport } from '../../protocol/torchEnvironment.ts';
import type { Notices } from '../notices.ts';
import type { ReadOnlyDocuments } from '../readOnlyDocuments.ts';
import { rewardSettings } from '../rewards/rewardSettings.ts';
import { settings } from '../settings.ts';
import { runDoctor } from './doctorProcess.ts';
import { doctorSentence, doctorText } from './doctorText.ts';
import type { InterpreterChooser } from './interpreterChooser.ts';
import { pytorchSettings } from './pytorchSettings.ts';
import type { SetUpCommand } from './setUpCommand.ts';

interface Needs {
	readonly extension: vscode.Uri;
	readonly notices: Notices;
	readonly documents: ReadOnlyDocuments;
	readonly selected: () => Promise<string | null>;
	readonly setUp: SetUpCommand;
	readonly chooser: InterpreterChooser;
}

/** Implements *Doctor*: shows a report that can be copied, with buttons for fixes. */
export class DoctorCommand {
	readonly #needs: Needs;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	/** @param options `{ quick: true }` skips imports @returns the report, for tests */
	async run(options?: unknown): Promise<DoctorReport> {
		const { extension, documents, notices, selected, setUp, chooser } = this.#needs;
		const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri;
		const quick = (options as { quick?: unknown } | null | undefined)?.quick === true;
		const report = await vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: 'Doctor', cancellable: true },
			async (progress, token) => {
				const abort = new AbortController();
				token.onCancellationRequested(() => abort.abort());
				return runDoctor({
					...{ cli: join(extension.fsPath, 'dist', 'cli.js'), node: settings.nodePath() },
					...{ python: pytorchSettings.python(), folder: pytorchSettings.folder(), selected: await selected(), quick },
					sandbox: rewardSettings.sandboxMode(folder),
					cwd: folder?.fsPath ?? homedir(),
					signal: abort.signal,
					onProgress: (message) => progress.report({ message }),
				});
			},
		);
		await documents.preview('PyTorch Doctor.md', doctorText(report));
		const actions = [
			{ title: 'Set Up', run: () => setUp.run() },
			{ title: 'Choose Interpreter', run: () => chooser.run() },
		];
		const sentence = doctorSentence(report);
		const errors = report.rows.some(({ status }) => status === 'error');
		void (errors ? notices.error(sentence, actions) : notices.information(sentence));
		return report;
	}
}
