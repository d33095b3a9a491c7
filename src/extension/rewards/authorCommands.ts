import * as vscode from 'vscode';
import type { Notices } from '../notices.ts';
import type { ReadOnlyDocuments } from '../readOnlyDocuments.ts';
import { builtInText, pickBuiltIn } from './builtInSource.ts';
import { newReward, newRewardAnswers } from './newReward.ts';
import type { RewardFileList } from './rewardFileList.ts';
import { isRewardItem } from './rewardsTree.ts';
import type { RewardTargets } from './rewardTarget.ts';
import type { RewardVerifications } from './rewardVerifications.ts';
import { type UseAnswers, useReward } from './useReward.ts';

interface Needs {
	readonly extension: vscode.Uri;
	readonly files: RewardFileList;
	readonly targets: RewardTargets;
	readonly verifications: RewardVerifications;
	readonly notices: Notices;
	readonly documents: ReadOnlyDocuments;
}

/** Default weight for rewards that do not suggest one; much lower than the weight of the accuracy reward. */
const standardWeight = 0.1;

/** Commands for writing rewards: create a reward, view a built-in reward, and add a reward to a recipe. */
export class AuthorCommands {
	readonly #needs: Needs;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	newReward(...args: unknown[]): Promise<vscode.Uri | undefined> {
		return newReward(this.#needs, newRewardAnswers(args[0]));
	}

	async showBuiltIn(...args: unknown[]): Promise<void> {
		const [item] = args;
		const info = await pickBuiltIn(isRewardItem(item) ? (item.kind === 'builtIn' ? item.use : undefined) : item);
		if (info === undefined) return;
		const text = await builtInText(info, vscode.Uri.joinPath(this.#needs.extension, 'dist'));
		await this.#needs.documents.show(`${info.name}.ts`, text, { preview: true });
	}

	/** @param args the reward, followed by answers that skip the prompts */
	async use(...args: unknown[]): Promise<vscode.Uri | undefined> {
		const [item, , given] = args;
		const answers = answersOf(given);
		if (isRewardItem(item) && item.kind === 'builtIn') {
			return useReward({ use: item.use }, answers, this.#needs.notices, 1);
		}
		const known = (file: string) => this.#needs.verifications.get(file)?.rewards.map(({ name }) => name) ?? [];
		const target = await this.#needs.targets.reward(args, 'Use a reward in a run', known);
		if (target === undefined) return undefined;
		const described = this.#needs.verifications.get(target.file)?.rewards.find(({ name }) => name === target.reward);
		return useReward(target, answers, this.#needs.notices, described?.weight ?? standardWeight);
	}
}

function answersOf(argument: unknown): UseAnswers {
	if (typeof argument !== 'object' || argument === null || Array.isArray(argument)) return {};
	const { recipe, weight } = argument as Record<string, unknown>;
	return {
		...(recipe instanceof vscode.Uri ? { recipe } : {}),
		...(typeof weight === 'number' ? { weight } : {}),
	};
}
