import * as vscode from 'vscode';
import { CodeLenses } from '../codeLenses.ts';
import { commandIds } from '../ids.ts';
import { classLine, environmentFilePattern } from './environmentFiles.ts';
import type { EnvironmentVerifications } from './environmentVerifications.ts';

const actions = [
	['Verify', commandIds.verifyEnvironment, 'Play episodes with the built-in policies'],
	['Verify with Policy', commandIds.verifyEnvironmentWithPolicy, 'Also play episodes with a checkpoint or a server'],
	['Step Through', commandIds.stepEnvironment, 'Play an episode by hand, turn by turn'],
	['Episodes', commandIds.openEpisode, 'Open an episode from the verification'],
] as const;

/** Code lenses above the environment's class. In an untrusted workspace, a single lens explains why they are missing. */
export class EnvironmentLenses extends CodeLenses {
	readonly #view: EnvironmentVerifications;
	readonly #known = new Set<string>();

	constructor(view: EnvironmentVerifications) {
		super({ scheme: 'file', pattern: environmentFilePattern });
		this.#view = view;
		this.register(
			view.onDidChange((file) => {
				// The class is unknown before the first verification.
				if (this.#known.has(file) || view.get(file)?.verification == null) return;
				this.#known.add(file);
				this.changed();
			}),
		);
	}

	protected lensesOf(document: vscode.TextDocument): vscode.CodeLens[] {
		const name = this.#view.get(document.uri.fsPath)?.verification?.environment.name;
		const line = (name === undefined ? null : classLine(document.getText(), name)) ?? 0;
		const range = new vscode.Range(line, 0, line, 0);
		if (!vscode.workspace.isTrusted) {
			const title = '$(shield) Trust this workspace to verify the environment';
			return [new vscode.CodeLens(range, { title, command: 'workbench.trust.manage' })];
		}
		return actions.map(
			([title, command, tooltip]) => new vscode.CodeLens(range, { title, command, tooltip, arguments: [document.uri] }),
		);
	}
}
