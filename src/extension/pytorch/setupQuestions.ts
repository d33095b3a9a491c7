import * as vscode from 'vscode';
import { findPythons } from '../../environment/pythons/findPythons.ts';
import { extraWords, type SetupExtra, setupExtras } from '../../environment/setup/requirements.ts';
import { planSentence, type SetupPlan } from '../../environment/setup/setupPlan.ts';
import type { ManagedEnvironment } from '../../protocol/torchEnvironment.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';

/** Action to take on an existing environment. */
export type SetupWish = 'doctor' | 'again' | 'choose' | 'log' | 'remove';

export async function askWhatToDo(record: ManagedEnvironment): Promise<SetupWish | undefined> {
	const items: (vscode.QuickPickItem & { readonly wish: SetupWish })[] = [
		{ label: '$(pulse) Check the Environment', description: 'Doctor', wish: 'doctor' },
		{
			label: '$(refresh) Recreate the Environment',
			description: 'the old one is kept until the new one works',
			wish: 'again',
		},
		{ label: '$(symbol-misc) Use Another Python', wish: 'choose' },
		{ label: '$(output) Open Log', wish: 'log' },
		{ label: '$(trash) Remove the Environment', wish: 'remove' },
	];
	const title = `The PyTorch engine is set up (Python ${record.python}, ${record.build})`;
	return (await showQuickPick(items, { title, placeHolder: 'Select an action' }))?.wish;
}

/** Shows the download size and asks for confirmation before anything is downloaded. */
export async function askToInstall(
	plan: SetupPlan,
	notes: readonly string[],
): Promise<'install' | 'change' | undefined> {
	const detail = [`${planSentence(plan)}.`, ...notes, `Target folder: ${plan.folder}.`].map((line) =>
		displayText(line, 500),
	);
	const answer = await vscode.window.showInformationMessage(
		'Set up the PyTorch engine?',
		{ modal: true, detail: detail.join('\n\n') },
		'Install',
		'Change...',
	);
	return answer === 'Install' ? 'install' : answer === 'Change...' ? 'change' : undefined;
}

/** @returns undefined if the user canceled */
export async function askForPython(current: string): Promise<string | undefined> {
	const found = await withProgress({ title: 'Searching for Python interpreters' }, (signal) => findPythons({ signal }));
	const items = found
		.filter(({ unusable }) => unusable === null)
		.map(({ path, probe }) => ({
			...{ label: `Python ${probe.python}`, description: path === current ? 'chosen' : '', detail: path, path },
		}));
	const options = {
		title: 'Set up the PyTorch engine (1/2)',
		placeHolder: 'Select the Python interpreter used to create the environment',
	};
	return (await showQuickPick(items, options))?.path;
}

/** @returns undefined if the user canceled */
export async function askForExtras(current: readonly string[]): Promise<readonly SetupExtra[] | undefined> {
	const items = setupExtras.map((extra) => ({
		...{ label: extra, description: extraWords[extra], picked: current.includes(extra), extra },
	}));
	const options = {
		title: 'Set up the PyTorch engine (2/2)',
		placeHolder: 'Select optional packages',
		canPickMany: true,
	};
	return (await showQuickPick(items, { ...options, canPickMany: true }))?.map(({ extra }) => extra);
}
