import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { type ExportTarget, exportTargets, targetInfos } from '../../core/reward/export/exportTarget.ts';
import { viewIds } from '../ids.ts';
import { requireTrust } from '../launchSettings.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import type { PythonInterpreter } from './pythonInterpreter.ts';
import type { RewardTargets } from './rewardTarget.ts';

interface Needs {
	readonly targets: RewardTargets;
	readonly python: PythonInterpreter;
	readonly notices: Notices;
	/** Path to dist, which contains the programs that read Python files. */
	readonly dist: string;
}

/** Exports a Python reward as a module for another trainer and marks code that will not work there. */
export class ExportCommand extends Disposable {
	readonly #needs: Needs;
	readonly #findings = this.register(vscode.languages.createDiagnosticCollection('reasoningLab.export'));

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.register(vscode.workspace.onDidChangeTextDocument(({ document }) => this.#findings.delete(document.uri)));
	}

	/** @param args the reward file and, as the third argument, the trainer. @returns the exported module */
	async run(...args: unknown[]): Promise<vscode.Uri | undefined> {
		requireTrust();
		const title = 'Export a reward';
		const chosen = await this.#needs.targets.file(args, title);
		if (chosen === undefined) return undefined;
		const { file } = chosen;
		const target = exportTargets.find((name) => name === args[2]) ?? (await pickTarget(title));
		if (target === undefined) return undefined;
		const { adapterPath, exportRewardFile, writeAdapter } = await import('../../rewards/exportRewardFile.ts');
		const { findRewardPrograms } = await import('../../rewards/rewardPrograms.ts');
		const words = { title: `Exporting for ${targetInfos[target].title}`, view: viewIds.rewards };
		const path = adapterPath(file, target);
		const { findings, usage } = await withProgress(words, async (signal) => {
			const { python } = await findRewardPrograms({ python: await this.#needs.python.path(vscode.Uri.file(file)) });
			const made = await exportRewardFile({ file, target, python, folder: this.#needs.dist, signal });
			if (signal.aborted) throw new Failure('cancelled', 'Canceled.');
			await writeAdapter(path, made.text);
			return made;
		});
		this.#findings.set(
			vscode.Uri.file(file),
			findings.map(({ severity, line, message, action }) => {
				const at = Math.max(0, line - 1);
				const level = severity === 'error' ? vscode.DiagnosticSeverity.Error : vscode.DiagnosticSeverity.Warning;
				const diagnostic = new vscode.Diagnostic(new vscode.Range(at, 0, at, 200), `${message} ${action}`, level);
				diagnostic.source = 'Reasoning Lab';
				return diagnostic;
			}),
		);
		const uri = vscode.Uri.file(path);
		await vscode.window.showTextDocument(uri, { preview: false });
		const breaks =
			findings.length === 0
				? ''
				: ` ${formatCounted(findings.length, 'compatibility problem')} found; see the Problems panel.`;
		const where = displayText(vscode.workspace.asRelativePath(uri), 200);
		const copy = () => vscode.env.clipboard.writeText(usage(path));
		void this.#needs.notices.information(`${where} written.${breaks}`, [{ title: 'Copy Usage', run: copy }]);
		return uri;
	}
}

async function pickTarget(title: string): Promise<ExportTarget | undefined> {
	const items = exportTargets.map((target) => ({ label: targetInfos[target].title, target }));
	return (await showQuickPick(items, { title, placeHolder: 'Select a trainer' }))?.target;
}
