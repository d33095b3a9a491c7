import * as vscode from 'vscode';
import type { CommandTable } from '../commandTable.ts';
import { type CommandId, commandIds, rewardContextKeys } from '../ids.ts';
import { Lazy } from '../lazy.ts';
import type { RewardFileList } from './rewardFileList.ts';
import { isRewardUri } from './rewardFiles.ts';
import type { RewardWorkbench } from './rewardWorkbench.ts';

/** Loads the reward features only when a reward file is visible or a reward command runs. */
export class LazyRewards extends Lazy<RewardWorkbench> {
	readonly #files: RewardFileList;

	constructor(files: RewardFileList, load: () => Promise<RewardWorkbench>) {
		super(load);
		this.#files = files;
		this.register(vscode.window.onDidChangeVisibleTextEditors(() => this.#look()));
		this.register(files.onDidChange(() => void this.#count()));
	}

	/** Checks the documents that are already open; called once after activation. */
	start(): void {
		this.#look();
		void this.#count();
	}

	/** Searches for reward files again. */
	refresh(): Promise<void> {
		return this.#files.refresh();
	}

	#look(): void {
		if (this.isLoaded) return;
		if (!vscode.window.visibleTextEditors.some(({ document }) => isRewardUri(document.uri))) return;
		void vscode.commands.executeCommand('setContext', rewardContextKeys.hasRewards, true);
		this.get().catch(() => {});
	}

	async #count(): Promise<void> {
		const some = (await this.#files.files()).length > 0;
		if (some) void vscode.commands.executeCommand('setContext', rewardContextKeys.hasRewards, true);
	}
}

/** Registers the commands of the *Rewards* view, reward files, and code lenses. */
export function addRewardCommands(table: CommandTable, rewards: LazyRewards): void {
	const add = (id: CommandId, run: (workbench: RewardWorkbench, args: unknown[]) => unknown) =>
		table.add(id, async (...args: unknown[]) => run(await rewards.get(), args));
	table.add(commandIds.refreshRewards, () => rewards.refresh());
	add(commandIds.verifyReward, ({ verify }, args) => verify.verify(...args));
	add(commandIds.verifyOnRollouts, ({ verify }, args) => verify.verifyOnRollouts(...args));
	add(commandIds.verifySelection, ({ verify }, args) => verify.verifySelection(...args));
	add(commandIds.showVerification, ({ verify }, args) => verify.showVerification(...args));
	add(commandIds.debugRow, ({ verify }, args) => verify.debugRow(...args));
	add(commandIds.auditReward, ({ judge }, args) => judge.audit(...args));
	add(commandIds.compareReward, ({ judge }, args) => judge.compare(...args));
	add(commandIds.exportReward, (workbench, args) => workbench.export.run(...args));
	add(commandIds.newReward, ({ author }, args) => author.newReward(...args));
	add(commandIds.useReward, ({ author }, args) => author.use(...args));
	add(commandIds.showBuiltInReward, ({ author }, args) => author.showBuiltIn(...args));
	add(commandIds.showRewardLog, ({ log }) => log.show());
	add(commandIds.setApiKey, (workbench, args) => workbench.setApiKey(args[0]));
	add(commandIds.removeApiKey, (workbench, args) => workbench.removeApiKey(args[0]));
}
