import { basename, join, relative } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { caseOf } from '../../../core/playground/exchangeText.ts';
import type { Exchange, PlaygroundSample, PlaygroundSide } from '../../../protocol/playgroundMessages.ts';
import { appendCase } from '../../../rewards/appendCase.ts';
import { casesPath } from '../../../rewards/casesFile.ts';
import type { Notices } from '../../notices.ts';
import { showQuickPick } from '../../quickInput.ts';
import { elsewhere, type RewardFileList } from '../../rewards/rewardFileList.ts';
import { displayText } from '../../runView.ts';

export interface SaveCaseNeeds {
	readonly files: RewardFileList;
	readonly notices: Notices;
}

/** Answers provided by another extension or a test to skip the prompts. */
export interface SaveCaseAnswers {
	readonly file?: string;
	readonly expect?: number | null;
}

const maxFiles = 100;

/**
 * Implements *Save as Case*: adds a completion to the labeled cases used by *Verify Reward*.
 * @returns the file, or null if the user canceled
 */
export async function saveCase(
	exchange: Exchange,
	side: PlaygroundSide,
	sample: PlaygroundSample,
	{ files, notices }: SaveCaseNeeds,
	answers: SaveCaseAnswers = {},
): Promise<string | null> {
	// Search for case files while the first prompt is open so that the second prompt appears without delay.
	const choices = answers.file === undefined ? caseFiles(files) : null;
	choices?.catch(() => undefined);
	const expect = answers.expect !== undefined ? answers.expect : await askExpectation(sample);
	if (expect === undefined) return null;
	const file = answers.file ?? (await askFile((await choices) ?? []));
	if (file === undefined) return null;
	const dirty = vscode.workspace.textDocuments.find(({ uri, isDirty }) => isDirty && uri.fsPath === file);
	if (dirty !== undefined) {
		throw new Failure('busy', `${basename(file)} has unsaved changes.`, 'Save the file first.');
	}
	const added = await appendCase(file, caseOf(exchange, side, sample, expect));
	const open = async () => {
		const at = new vscode.Position(added.line - 1, 0);
		await vscode.window.showTextDocument(vscode.Uri.file(file), { selection: new vscode.Range(at, at) });
	};
	const undo = () => added.undo().catch((error: unknown) => notices.failure(error));
	void notices.information(`Case added at line ${added.line} of ${displayText(basename(file), 80)}.`, [
		{ title: 'Open', run: open },
		{ title: 'Undo', run: undo },
	]);
	return file;
}

/** Asks for the expected reward, preselecting the checked result. Returns undefined if the user canceled. */
async function askExpectation({ check }: PlaygroundSample): Promise<number | null | undefined> {
	const correct = check?.correct ?? null;
	const choices = [
		{ label: '$(check) Correct', description: 'expected reward 1', expect: 1 },
		{ label: '$(close) Incorrect', description: 'expected reward 0', expect: 0 },
		{ label: '$(circle-slash) No value', description: 'the reward should not apply (null)', expect: null },
	];
	const found = correct === null ? -1 : choices.findIndex(({ expect }) => expect === (correct ? 1 : 0));
	const sorted = found <= 0 ? choices : [...choices.slice(found, found + 1), ...choices.filter((_, i) => i !== found)];
	const picked = await showQuickPick(sorted, {
		title: 'Save as Case (1/2)',
		placeHolder:
			correct === null
				? 'Select the expected reward'
				: `Judged ${correct ? 'correct' : 'incorrect'}. Select the expected reward`,
	});
	return picked?.expect;
}

interface FileChoice extends vscode.QuickPickItem {
	readonly path: string | null;
}

/** Returns existing case files, and default paths for rewards that have none. */
async function caseFiles(files: RewardFileList): Promise<FileChoice[]> {
	const [found, rewards] = await Promise.all([
		vscode.workspace.findFiles('**/*.cases.jsonl', elsewhere, maxFiles),
		files.files(),
	]);
	const there = new Set(found.map(({ fsPath }) => fsPath));
	const fresh = rewards.map(casesPath).filter((path) => !there.has(path));
	const item = (icon: string, path: string, words = ''): FileChoice => ({
		label: `$(${icon}) ${displayText(basename(path), 80)}`,
		description: `${shortPath(path)}${words}`,
		path,
	});
	return [
		...[...there].sort().map((path) => item('file', path)),
		...[...new Set(fresh)].map((path) => item('new-file', path, ', new')),
	];
}

/** Returns a path relative to the workspace. */
function shortPath(path: string): string {
	const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
	return displayText(folder === undefined ? path : relative(folder.fsPath, path), 200);
}

/** Asks for a case file: one of the choices or another file. */
async function askFile(choices: readonly FileChoice[]): Promise<string | undefined> {
	const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
	const picked = await showQuickPick<FileChoice>(
		[...choices, { label: '$(folder-opened) Other file...', path: null }],
		{
			title: 'Save as Case (2/2)',
			placeHolder: 'Select a case file',
			matchOnDescription: true,
		},
	);
	if (picked === undefined) return undefined;
	if (picked.path !== null) return picked.path;
	const target = await vscode.window.showSaveDialog({
		title: 'Select or create a case file',
		saveLabel: 'Add Case',
		filters: { Cases: ['jsonl'] },
		...(folder === undefined ? {} : { defaultUri: vscode.Uri.file(join(folder.fsPath, 'playground.cases.jsonl')) }),
	});
	if (target !== undefined && target.scheme !== 'file') {
		throw new Failure('unsupported', 'Cases can only be saved to files on this machine.', 'Choose another folder.');
	}
	return target?.fsPath;
}
