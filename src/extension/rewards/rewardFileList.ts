import * as vscode from 'vscode';
import { Sequencer } from '../../base/async.ts';
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
 * The reward files in the workspace and their reward names. They are found with one search and then tracked through
 * file events until a refresh is requested. Names are read before a change is announced, because the editor leaves a
 * tree row empty if the tree changes while the row's children are being read.
 */
export class RewardFileList extends Disposable {
	readonly #changed = this.register(new Emitter<void>());
	/** Fires when files are added, removed, or changed. */
	readonly onDidChange = this.#changed.event;
	/** Names of the rewards in each file. */
	#search: Promise<Map<string, readonly string[]>> | null = null;
	/** Applies events in order, so that an older read of a file does not replace a newer one. */
	readonly #events = new Sequencer();

	constructor() {
		super();
		const watcher = this.register(vscode.workspace.createFileSystemWatcher(rewardFilePattern));
		this.register(watcher.onDidCreate((uri) => void this.#events.queue(() => this.#found(uri))));
		this.register(watcher.onDidDelete((uri) => void this.#events.queue(() => this.#lost(uri))));
		this.register(watcher.onDidChange((uri) => void this.#events.queue(() => this.#found(uri))));
		this.register(
			vscode.workspace.onDidOpenTextDocument(({ uri }) => void this.#events.queue(() => this.#opened(uri))),
		);
		this.register(
			vscode.workspace.onDidChangeWorkspaceFolders(() => {
				this.#search = null;
				this.#changed.fire();
			}),
		);
	}

	/** Returns sorted absolute paths. */
	async files(): Promise<string[]> {
		return [...(await this.#find()).keys()].sort();
	}

	/**
	 * Searches again. File events can be lost, for example when a file is written to a folder that was just created, so
	 * call this method after creating reward files or when a view may have missed events.
	 */
	async refresh(): Promise<void> {
		const before = await this.#search?.catch(() => null);
		this.#search = null;
		const found = await this.#find();
		const same =
			before?.size === found.size &&
			[...found].every(([file, names]) => before.has(file) && String(before.get(file)) === String(names));
		if (!same) this.#changed.fire();
	}

	/** Returns the names of the rewards that a file appears to declare; empty if it is unreadable. */
	async rewardsOf(file: string): Promise<readonly string[]> {
		const open = vscode.workspace.textDocuments.find((document) => document.uri.fsPath === file);
		if (open === undefined) return (await this.#find()).get(file) ?? readNames(file);
		const { findSignatures } = await import('./rewardSignatures.ts');
		return findSignatures(open.getText(), file).map(({ name }) => name);
	}

	/** A failed search is not cached, so the next caller searches again. */
	#find(): Promise<Map<string, readonly string[]>> {
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
		if (!files) return;
		files.set(uri.fsPath, await readNames(uri.fsPath));
		this.#changed.fire();
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

async function find(): Promise<Map<string, readonly string[]>> {
	const found = await vscode.workspace.findFiles(rewardFilePattern, elsewhere, maxFiles);
	const files = found.filter(isRewardUri).map((uri) => uri.fsPath);
	return new Map(await Promise.all(files.map(async (file) => [file, await readNames(file)] as const)));
}

/** Reads the names of the rewards that a file appears to declare; empty if it is unreadable or too large. */
async function readNames(file: string): Promise<string[]> {
	const { findSignatures } = await import('./rewardSignatures.ts');
	try {
		const uri = vscode.Uri.file(file);
		if ((await vscode.workspace.fs.stat(uri)).size > largestFile) return [];
		const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
		return findSignatures(text, file).map(({ name }) => name);
	} catch {
		return [];
	}
}
