import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { type FoundPython, findPythons } from '../../environment/pythons/findPythons.ts';
import { namedInterpreter } from '../../environment/pythons/interpreter.ts';
import { whyUnusable } from '../../environment/pythons/judgePython.ts';
import { probePython } from '../../environment/pythons/probePython.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import { pytorchSettings } from './pytorchSettings.ts';

interface Needs {
	readonly notices: Notices;
	readonly selected: () => Promise<string | null>;
}

interface Choice extends vscode.QuickPickItem {
	/** Path; null opens a file dialog, undefined selects the managed environment. */
	readonly python?: string | null;
}

/** Implements *Choose PyTorch Interpreter*, for users who manage their own Python with torch and TRL. */
export class InterpreterChooser {
	readonly #needs: Needs;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	/** @returns the chosen interpreter, or undefined if none was chosen */
	async run(): Promise<string | undefined> {
		const found = await this.#find();
		const ready = found.filter(hasTrainer).map(describe);
		const others = found.filter((python) => !hasTrainer(python)).map(describe);
		const separator = (label: string) => ({ label, kind: vscode.QuickPickItemKind.Separator });
		const picked = await showQuickPick<Choice>(
			[
				{
					label: '$(folder-opened) Browse...',
					description: 'any Python executable, including one in a virtual environment',
					python: null,
				},
				{ label: '$(sparkle) Managed environment', description: 'created by Set Up PyTorch Engine', alwaysShow: true },
				...(ready.length > 0 ? [separator('with torch and TRL'), ...ready] : []),
				...(others.length > 0 ? [separator('without torch or TRL'), ...others] : []),
			],
			{ title: 'PyTorch interpreter', placeHolder: 'Select an interpreter', matchOnDescription: true },
		);
		if (picked === undefined) return undefined;
		if (picked.python === undefined) {
			await pytorchSettings.setPython(null);
			return 'managed';
		}
		const path = picked.python ?? (await browse());
		if (path === undefined) return undefined;
		return this.#take(path);
	}

	/** Finds all interpreters on this machine and in the workspace. */
	async #find(): Promise<FoundPython[]> {
		const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
		const selected = await this.#needs.selected();
		return withProgress({ title: 'Searching for Python interpreters' }, (signal) =>
			findPythons({ folders, named: selected === null ? [] : [selected], signal }),
		);
	}

	async #take(path: string): Promise<string | undefined> {
		const python = await namedInterpreter(path, 'The selection');
		const probe = await probePython(python);
		const why = whyUnusable(probe);
		if (why !== null)
			throw new Failure('unsupported', `Cannot use ${python}: ${why}.`, 'Choose another Python interpreter.');
		const missing = ['torch', 'trl'].filter((name) => !probe.packages[name]);
		await pytorchSettings.setPython(python);
		if (missing.length === 0) return python;
		const choose = { title: 'Choose Another', run: () => this.run() };
		void this.#needs.notices.warning(
			`${python} does not have ${missing.join(' and ')}. Install the missing packages there.`,
			[choose],
		);
		return undefined;
	}
}

const hasTrainer = ({ probe, unusable }: FoundPython): boolean =>
	unusable === null && ['torch', 'trl'].every((name) => probe.packages[name]);

function describe({ path, probe, unusable }: FoundPython): Choice {
	const { torch, trl } = probe.packages;
	const parts = [torch && `torch ${torch}`, trl && `TRL ${trl}`, unusable].filter(Boolean);
	return {
		label: `Python ${probe.python}`,
		description: displayText(parts.join(', '), 120),
		detail: path,
		python: path,
	};
}

async function browse(): Promise<string | undefined> {
	const picked = await vscode.window.showOpenDialog({ title: 'PyTorch interpreter', openLabel: 'Use' });
	return picked?.[0]?.fsPath;
}
