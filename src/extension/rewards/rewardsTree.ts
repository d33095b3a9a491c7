import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { commandIds, type ItemFlag, viewIds } from '../ids.ts';
import { displayText } from '../runView.ts';
import type { VerificationView } from './inlineResults.ts';
import type { RewardFileList } from './rewardFileList.ts';
import type { RewardStanding } from './rewardWords.ts';

/** An element of the *Rewards* view; menus pass it to their commands. */
export type RewardItem =
	| { readonly kind: 'file'; readonly file: string }
	| { readonly kind: 'reward'; readonly file: string; readonly reward: string }
	| { readonly kind: 'builtIns' }
	| { readonly kind: 'builtIn'; readonly use: string };

export function isRewardItem(value: unknown): value is RewardItem {
	const kind = (value as { kind?: unknown } | null | undefined)?.kind;
	return kind === 'file' || kind === 'reward' || kind === 'builtIns' || kind === 'builtIn';
}

const icons: Readonly<Record<RewardStanding, readonly [id: string, color: string | null, words: string]>> = {
	unknown: ['circle-large-outline', null, 'not verified'],
	busy: ['loading~spin', null, 'verifying'],
	good: ['pass', 'testing.iconPassed', 'verified'],
	warning: ['warning', 'problemsWarningIcon.foreground', 'verified, with warnings'],
	error: ['error', 'problemsErrorIcon.foreground', 'failing'],
	stale: ['history', null, 'verified before the last edit'],
};

/** The *Rewards* view: reward files in the workspace with their latest verification, and the built-in rewards. */
export class RewardsTree extends Disposable implements vscode.TreeDataProvider<RewardItem> {
	readonly #files: RewardFileList;
	readonly #changed = this.register(new vscode.EventEmitter<RewardItem[] | undefined>());
	readonly #nodes = new Map<string, RewardItem>();
	/** Rewards last shown below each file. A second map contains the failures of files that could not be loaded. */
	readonly #below = new Map<string, readonly string[]>();
	readonly #failed = new Map<string, string>();
	#view: VerificationView | null = null;
	/** Set together with the view, because nothing is verified before then. */
	#words: typeof import('./rewardWords.ts') | null = null;
	readonly onDidChangeTreeData = this.#changed.event;

	constructor(files: RewardFileList) {
		super();
		this.#files = files;
		const tree = vscode.window.createTreeView(viewIds.rewards, { treeDataProvider: this, showCollapseAll: false });
		this.register(tree);
		// If the search fails, keep the rows as they are.
		const look = () => files.refresh().catch(() => undefined);
		this.register(tree.onDidChangeVisibility(({ visible }) => void (visible && look())));
		this.register(files.onDidChange(() => this.#changed.fire(undefined)));
	}

	/** Shows verification results in the rows from now on. */
	follow(view: VerificationView, words: typeof import('./rewardWords.ts')): void {
		this.#view = view;
		this.#words = words;
		this.register(view.onDidChange((file) => this.#changed.fire(this.#changedRows(file))));
	}

	/**
	 * Returns the reward rows of a file if only those have changed, or else the file row. Refreshing the file row would
	 * discard its children until they are read again, and an action clicked in the meantime would reach its command
	 * without a reward.
	 */
	#changedRows(file: string): RewardItem[] {
		const below = this.#below.get(file);
		const loaded = this.#loadedNames(file);
		const names = loaded.length > 0 ? loaded : below;
		const same = names?.length === below?.length && names?.every((name, i) => name === below?.[i]);
		return names !== undefined && same && this.#failed.get(file) === this.#failureOf(file)
			? names.map((reward) => this.#node({ kind: 'reward', file, reward }))
			: [this.#node({ kind: 'file', file })];
	}

	#loadedNames(file: string): readonly string[] {
		return this.#view?.get(file)?.rewards.map(({ name }) => name) ?? [];
	}

	#failureOf(file: string): string | undefined {
		const state = this.#view?.get(file);
		return state?.phase === 'failed' ? this.#words?.failureWords(state) : undefined;
	}

	async getChildren(element?: RewardItem): Promise<RewardItem[]> {
		if (element === undefined) {
			const files = await this.#files.files();
			if (files.length === 0) return []; // An empty list shows the welcome content.
			const items = files.map((file): RewardItem => ({ kind: 'file', file }));
			return [...items, { kind: 'builtIns' } as const].map((item) => this.#node(item));
		}
		if (element.kind === 'builtIns') {
			// Loaded on demand to keep activation fast.
			const { builtInRewardNames } = await import('../../protocol/recipeKeys/builtInRewards.ts');
			return builtInRewardNames.map((use) => this.#node({ kind: 'builtIn', use }));
		}
		if (element.kind !== 'file') return [];
		const { file } = element;
		const loaded = this.#loadedNames(file);
		const names = loaded.length > 0 ? loaded : await this.#files.rewardsOf(file);
		this.#below.set(file, names);
		return names.map((reward) => this.#node({ kind: 'reward', file, reward }));
	}

	getParent(element: RewardItem): RewardItem | undefined {
		if (element.kind === 'reward') return this.#node({ kind: 'file', file: element.file });
		return element.kind === 'builtIn' ? this.#node({ kind: 'builtIns' }) : undefined;
	}

	getTreeItem(element: RewardItem): vscode.TreeItem {
		switch (element.kind) {
			case 'file':
				return this.#fileItem(element.file);
			case 'reward':
				return this.#rewardItem(element.file, element.reward);
			case 'builtIns': {
				const item = new vscode.TreeItem('Built-in', vscode.TreeItemCollapsibleState.Collapsed);
				item.id = 'builtIns';
				item.iconPath = new vscode.ThemeIcon('library');
				return item;
			}
			case 'builtIn': {
				const item = new vscode.TreeItem(element.use);
				item.id = `builtIn ${element.use}`;
				item.iconPath = new vscode.ThemeIcon('symbol-function');
				item.contextValue = 'builtInReward' satisfies ItemFlag;
				item.command = {
					command: commandIds.showBuiltInReward,
					title: 'Show Built-in Reward',
					arguments: [element.use],
				};
				return item;
			}
		}
	}

	#fileItem(file: string): vscode.TreeItem {
		const uri = vscode.Uri.file(file);
		const item = new vscode.TreeItem(uri, vscode.TreeItemCollapsibleState.Expanded);
		item.id = `file ${file}`;
		const folder = vscode.workspace.asRelativePath(vscode.Uri.joinPath(uri, '..'), false);
		const shown = folder === '' || vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath === folder ? '' : folder;
		const failure = this.#failureOf(file);
		if (failure === undefined) this.#failed.delete(file);
		else this.#failed.set(file, failure);
		item.description = failure ?? displayText(shown, 120);
		item.iconPath =
			failure === undefined
				? vscode.ThemeIcon.File
				: new vscode.ThemeIcon('error', new vscode.ThemeColor('problemsErrorIcon.foreground'));
		item.contextValue = 'rewardFile' satisfies ItemFlag;
		item.command = { command: 'vscode.open', title: 'Open', arguments: [uri] };
		return item;
	}

	#rewardItem(file: string, reward: string): vscode.TreeItem {
		const state = this.#view?.get(file);
		const standing = this.#words?.standingOf(state, reward) ?? 'unknown';
		const [id, color, words] = icons[standing];
		const item = new vscode.TreeItem(displayText(reward, 80));
		item.id = `reward ${reward} ${file}`;
		item.iconPath = new vscode.ThemeIcon(id, color === null ? undefined : new vscode.ThemeColor(color));
		item.description =
			standing === 'error' && state?.phase === 'failed'
				? ''
				: (this.#words?.shortSummary(state?.results.get(reward)) ?? '');
		item.contextValue = 'reward' satisfies ItemFlag;
		item.accessibilityInformation = { label: [reward, words, item.description].filter(Boolean).join(', ') };
		item.tooltip = [`${displayText(reward, 80)}: ${words}`, this.#words?.inlineLine(state, reward)?.text]
			.filter(Boolean)
			.join('\n');
		const line = state?.rewards.find(({ name }) => name === reward)?.location?.line ?? null;
		const place = line === null ? undefined : new vscode.Range(line - 1, 0, line - 1, 0);
		item.command = {
			command: 'vscode.open',
			title: 'Open',
			arguments: [vscode.Uri.file(file), place === undefined ? {} : { selection: place }],
		};
		return item;
	}

	/** Returns the same object for the same row, because the editor compares elements by identity. */
	#node(item: RewardItem): RewardItem {
		const key = JSON.stringify(item);
		const known = this.#nodes.get(key);
		if (known !== undefined) return known;
		this.#nodes.set(key, item);
		return item;
	}
}
