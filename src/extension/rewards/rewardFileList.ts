import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { isRewardUri, rewardFilePattern } from './rewardFiles.ts';

/**
 * Folders excluded from the search, because rewards copied to run folders or contained in packages do not belong to the
 * workspace.
 */
export const elsewhere = '**/{node_modules,.trash,runs,.venv,venv,site-packages,__pycache__}/**';
const passedOver = /[\\/](?:node_modules|\.trash|runs|\.venv|venv|site-packages|__pycache__)[\\/]/;
/** Maximum number of reward files listed per workspace. */
const maxFiles = 500;
const largestFile = 1 << 20;

/**
 * The reward files in the workspace. They are searched for once and then tracked by file events until a refresh is
 * requested.
 */
export class RewardFileList extends Disposable {
	readonly #changed = this.register(new Emitter<void>());
	/** Fires when files are added, removed, or changed. */
	readonly onDidChange = this.#changed.event;
	#search: Promise<Set<string>> | null = null;

	constructor() {
		super();
		const watcher = this.register(vscode.workspace.createFileSystemWatcher(rewardFilePattern));
		this.register(watcher.onDidCreate((uri) => void this.#found(uri)));
		this.register(watcher.onDidDelete((uri) => void this.#lost(uri)));
		this.register(watcher.onDidChange((uri) => void this.#found(uri)));
		this.register(vscode.workspace.onDidOpenTextDocument(({ uri }) => void this.#opened(uri)));
		this.register(
			vscode.workspace.onDidChangeWorkspaceFolders(() => {
				this.#search = null;
				this.#changed.fire();
			}),
		);
	}

	/** Returns sorted absolute paths. */
	async files(): Promise<string[]> {
		return [...(await this.#find())].sort();
	}

	/**
	 * Searches again. File events can be lost, for example when a file is written to a folder that was just created, so
	 * code that creates reward files and views that may have missed events should call this method.
	 */
	async refresh(): Promise<void> {
		const before = await this.#search?.catch(() => null);
		this.#search = null;
		const found = await this.#find();
		const same = before?.size === found.size && [...found].every((file) => before.has(file));
		if (!same) this.#changed.fire();
	}

	/** Returns the names of the rewards that a file appears to declare; empty if it is unreadable. */
	async rewardsOf(file: string): Promise<string[]> {
		const { findSignatures } = await import('./rewardSignatures.ts');
		const open = vscode.workspace.textDocuments.find((document) => document.uri.fsPath === file);
		if (open !== undefined) return findSignatures(open.getText(), file).map(({ name }) => name);
		try {
			const uri = vscode.Uri.file(file);
			if ((await vscode.workspace.fs.stat(uri)).size > largestFile) return [];
			const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
			return findSignatures(text, file).map(({ name }) => name);
		} catch {
			return [];
		}
	}

	/** A failed search is not cached, so the next caller searches again. */
	#find(): Promise<Set<string>> {
		if (this.#search !== null) return this.#search;
		const search = find();
		search.catch(() => {
			if (this.#search === search) this.#search = null;
		});
		this.#search = search;
		return search;
	}

	async #found(uri: vscode.Uri): Promise<void> {
		if (!isRewardUri(uri) || passedOver.test(uri.fsPath)) return;
		const files = await this.#search?.catch(() => null);
		files?.add(uri.fsPath);
		if (files) this.#changed.fire();
	}

	async #opened(uri: vscode.Uri): Promise<void> {
		if (!isRewardUri(uri) || vscode.workspace.getWorkspaceFolder(uri) === undefined) return;
		const files = await this.#search?.catch(() => null);
		if (files && !files.has(uri.fsPath)) await this.#found(uri);
	}

	async #lost(uri: vscode.Uri): Promise<void> {
		const files = await this.#search?.catch(() => null);
		if (files?.delete(uri.fsPath)) this.#changed.fire();
	}
}

async function find(): Promise<Set<string>> {
	const found = await vscode.workspace.findFiles(rewardFilePattern, elsewhere, maxFiles);
	return new Set(found.filter(isRewardUri).map((uri) => uri.fsPath));
}
