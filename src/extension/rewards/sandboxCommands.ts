import { homedir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { IsolationReport } from '../../protocol/isolation.ts';
import { commandIds } from '../ids.ts';
import { requireTrust } from '../launchSettings.ts';
import type { Notices } from '../notices.ts';
import type { ReadOnlyDocuments } from '../readOnlyDocuments.ts';
import { settings } from '../settings.ts';
import { rewardSettings } from './rewardSettings.ts';

interface Needs {
	readonly extension: vscode.Uri;
	readonly documents: ReadOnlyDocuments;
	readonly notices: Notices;
}

/** Command handlers for the sandbox that runs model-written code. */
export function sandboxCommands({ extension, documents, notices }: Needs) {
	return {
		/** @returns the report, for tests */
		[commandIds.checkSandbox]: async (): Promise<IsolationReport> => {
			requireTrust();
			// Loaded on demand to keep activation fast.
			const { runIsolationCheck } = await import('./isolationProcess.ts');
			const { isolationSentence, isolationText } = await import('./isolationText.ts');
			const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri;
			const report = await vscode.window.withProgress(
				{ location: vscode.ProgressLocation.Notification, title: 'Checking the sandbox', cancellable: true },
				async (progress, token) => {
					const abort = new AbortController();
					token.onCancellationRequested(() => abort.abort());
					return runIsolationCheck({
						cli: join(extension.fsPath, 'dist', 'cli.js'),
						node: settings.nodePath(),
						mode: rewardSettings.sandboxMode(folder),
						folder: folder?.fsPath ?? homedir(),
						signal: abort.signal,
						onAttempt: ({ id }, done, total) =>
							progress.report({ message: `${done} of ${total}: ${id}`, increment: 100 / total }),
					});
				},
			);
			await documents.show('Sandbox isolation.md', isolationText(report), { preview: true });
			const sentence = isolationSentence(report);
			void (report.failed === 0 && report.untried === 0 ? notices.information(sentence) : notices.warning(sentence));
			return report;
		},
	};
}
