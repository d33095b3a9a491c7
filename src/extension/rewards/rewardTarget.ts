import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import { isRewardDocument, rewardAt } from './rewardDocuments.ts';
import type { RewardFileList } from './rewardFileList.ts';
import { isRewardUri } from './rewardFiles.ts';
import { isRewardItem } from './rewardsTree.ts';

/** The reward a command acts on. */
export interface RewardTarget {
	/** Absolute path. */
	readonly file: string;
	/** Reward name; null for all rewards in the file. */
	readonly reward: string | null;
}

/** Determines the reward a command acts on: the one in its arguments, the one at the cursor, or the user's choice. */
export class RewardTargets {
	readonly #files: RewardFileList;

	constructor(files: RewardFileList) {
		this.#files = files;
	}

	/**
	 * Returns a file, and its reward if the arguments or the cursor specify one. Returns undefined if the user canceled.
	 */
	async file(args: readonly unknown[], title: string): Promise<RewardTarget | undefined> {
		const named = namedTarget(args);
		if (named !== null) return named;
		const active = vscode.window.activeTextEditor;
		if (active !== undefined && isRewardDocument(active.document)) {
			const { document, selection } = active;
			return { file: document.uri.fsPath, reward: rewardAt(document, selection.active.line) };
		}
		const files = await this.#files.files();
		if (files.length === 0) {
			throw new Failure('missing', 'The workspace has no reward files.', 'Create one with "New Reward".');
		}
		const [only] = files;
		if (files.length === 1 && only !== undefined) return { file: only, reward: null };
		const picked = await showQuickPick(
			files.map((file) => ({ label: displayText(vscode.workspace.asRelativePath(file), 300), file })),
			{ title, placeHolder: 'Select a reward file' },
		);
		return picked && { file: picked.file, reward: null };
	}

	/** Returns a single reward in a file, asking the user if the file has several and none is specified. */
	async reward(
		args: readonly unknown[],
		title: string,
		known?: (file: string) => readonly string[],
	): Promise<{ file: string; reward: string } | undefined> {
		const target = await this.file(args, title);
		if (target === undefined) return undefined;
		const { file } = target;
		if (target.reward !== null) return { file, reward: target.reward };
		const loaded = known?.(file) ?? [];
		const names = loaded.length > 0 ? loaded : await this.#files.rewardsOf(file);
		const [only] = names;
		if (only === undefined) {
			throw new Failure(
				'missing',
				`${basename(file)} does not contain a reward.`,
				'Export a function that takes a sample.',
			);
		}
		if (names.length === 1) return { file, reward: only };
		const picked = await showQuickPick(
			names.map((name) => ({ label: displayText(name, 100), name })),
			{ title, placeHolder: `Select a reward in ${basename(file)}` },
		);
		return picked && { file, reward: picked.name };
	}
}

/** Returns the target in arguments passed by a lens, a menu, the *Rewards* view, or another command. */
function namedTarget([first, second]: readonly unknown[]): RewardTarget | null {
	if (isRewardItem(first)) {
		if (first.kind === 'file') return { file: first.file, reward: null };
		return first.kind === 'reward' ? { file: first.file, reward: first.reward } : null;
	}
	const uri =
		first instanceof vscode.Uri ? first : typeof first === 'string' && first !== '' ? vscode.Uri.file(first) : null;
	if (uri === null || !isRewardUri(uri)) return null;
	if (typeof second === 'string') return { file: uri.fsPath, reward: second };
	// A document, as passed by editor menus, stands for the reward at the cursor.
	const active = vscode.window.activeTextEditor;
	if (active?.document.uri.toString() !== uri.toString()) return { file: uri.fsPath, reward: null };
	return { file: uri.fsPath, reward: rewardAt(active.document, active.selection.active.line) };
}
