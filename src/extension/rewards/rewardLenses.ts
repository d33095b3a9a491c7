import * as vscode from 'vscode';
import { CodeLenses } from '../codeLenses.ts';
import { commandIds } from '../ids.ts';
import { resultsOf } from './fileVerification.ts';
import type { VerificationView } from './inlineResults.ts';
import { rewardSelector, signaturesOf } from './rewardDocuments.ts';

const actions = [
	['Verify', commandIds.verifyReward, 'Score a sample of the dataset and the labeled cases'],
	['On Last Rollouts', commandIds.verifyOnRollouts, 'Score the latest rollouts from a run'],
	['Debug Row', commandIds.debugRow, 'Run the reward on one row in the debugger'],
	['Compare', commandIds.compareReward, 'Compare the working copy with HEAD, another file, or other weights'],
	['Audit', commandIds.auditReward, 'Search for ways to get the reward without a correct answer'],
	['Use in Run', commandIds.useReward, 'Add the reward to a recipe'],
] as const;
const results = ['Results', commandIds.showVerification, 'Distribution, groups, correlations, and every row'] as const;

/** Code lenses above each reward. In an untrusted workspace, a single lens explains why they are missing. */
export class RewardLenses extends CodeLenses {
	readonly #view: VerificationView;
	readonly #withResults = new Set<string>();

	constructor(view: VerificationView) {
		super(rewardSelector);
		this.#view = view;
		this.register(
			view.onDidChange((file) => {
				// A file's lenses change only once, when the first results become available.
				if (this.#withResults.has(file) || (view.get(file)?.results.size ?? 0) === 0) return;
				this.#withResults.add(file);
				this.changed();
			}),
		);
	}

	protected lensesOf(document: vscode.TextDocument): vscode.CodeLens[] {
		const state = this.#view.get(document.uri.fsPath);
		return signaturesOf(document).flatMap(({ name, line, column }) => {
			const range = new vscode.Range(line, column, line, column + name.length);
			if (!vscode.workspace.isTrusted) {
				const title = '$(shield) Trust this workspace to verify the reward';
				return [new vscode.CodeLens(range, { title, command: 'workbench.trust.manage' })];
			}
			const shown = resultsOf(state?.results.get(name)).length > 0 ? [...actions, results] : actions;
			return shown.map(
				([title, command, tooltip]) =>
					new vscode.CodeLens(range, { title, command, tooltip, arguments: [document.uri, name] }),
			);
		});
	}
}
