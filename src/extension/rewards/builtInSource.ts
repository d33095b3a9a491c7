import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { type BuiltInInfo, builtInInfos } from '../../core/reward/builtInInfos.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';

/**
 * Returns the built-in reward with the given name, or asks the user to pick one if no name is given. Returns undefined
 * if the user canceled.
 */
export async function pickBuiltIn(use: unknown): Promise<BuiltInInfo | undefined> {
	if (typeof use === 'string') {
		const info = builtInInfos.find(({ name }) => name === use);
		if (info === undefined) throw new Failure('missing', `Built-in reward "${displayText(use, 60)}" not found.`);
		return info;
	}
	const picked = await showQuickPick(
		builtInInfos.map((info) => ({ label: info.name, description: info.range, detail: info.sentence, info })),
		{ title: 'Built-in rewards', placeHolder: 'Select a built-in reward', matchOnDetail: true },
	);
	return picked?.info;
}

/** Returns a built-in reward's description and source code. @param dist folder where the build copies the sources */
export async function builtInText(info: BuiltInInfo, dist: vscode.Uri): Promise<string> {
	const source = vscode.Uri.joinPath(dist, 'rewards', basename(info.file));
	let code: string;
	try {
		code = new TextDecoder().decode(await vscode.workspace.fs.readFile(source));
	} catch (error) {
		throw Failure.from(error, `Cannot read the source of "${info.name}"`);
	}
	const lines = [
		`${info.title}: ${info.sentence}`,
		`In a recipe: { "use": "${info.name}", "weight": 1 }`,
		`Value: ${info.formula}`,
		`Range: ${info.range}. Does not apply (null): ${info.nullRule}.`,
		`Source: ${info.source}`,
	];
	return `${lines.map((line) => `// ${line}`).join('\n')}\n\n${code}`;
}
