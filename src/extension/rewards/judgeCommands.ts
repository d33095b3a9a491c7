import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import type { AuditReport } from '../../protocol/audit.ts';
import { decode } from '../../protocol/decode.ts';
import {
	type ComparisonAnswers,
	comparisonAnswersSchema,
	type ResultPlace,
} from '../../protocol/verificationMessages.ts';
import type { ComparedSide } from '../../rewards/compareRewards.ts';
import type { RewardRunner } from '../../rewards/rewardRunner.ts';
import { viewIds } from '../ids.ts';
import { withProgress } from '../progress.ts';
import { showInputBox, showQuickPick } from '../quickInput.ts';
import type { RunStore } from '../runStore.ts';
import { displayText } from '../runView.ts';
import type { Judgments } from './judgments.ts';
import { pickRun } from './pickRun.ts';
import type { RewardFileList } from './rewardFileList.ts';
import type { RewardTargets } from './rewardTarget.ts';
import type { RewardVerifications } from './rewardVerifications.ts';
import type { ResultsOpener } from './verifyCommands.ts';

interface Needs {
	readonly targets: RewardTargets;
	readonly files: RewardFileList;
	readonly verifications: RewardVerifications;
	readonly store: RunStore;
	readonly results: ResultsOpener;
	readonly judgments: Judgments;
}

type With = NonNullable<ComparisonAnswers['with']>;

const choices: readonly (vscode.QuickPickItem & { readonly with: With })[] = [
	{ label: '$(git-commit) HEAD', detail: 'Compare the last commit with the working copy', with: 'HEAD' },
	{ label: '$(file) Another reward', detail: 'Compare this reward with another one', with: 'file' },
	{
		label: '$(law) Other weights',
		detail: "Compare the run's reward weights with other weights",
		with: 'weights',
	},
];

/** Commands that test a reward with an audit or compare it with another reward. */
export class JudgeCommands {
	readonly #needs: Needs;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	async audit(...args: unknown[]): Promise<void> {
		const target = await this.#needs.targets.reward(args, 'Audit a reward', this.#known);
		if (target === undefined) return;
		const { file, reward } = target;
		const words = { title: `Auditing ${reward}`, why: 'scoring all probes', view: viewIds.rewards };
		const place: ResultPlace = { view: 'audit', file, reward };
		await withProgress(words, (aborted) =>
			this.#needs.judgments.run(place, aborted, (signal) => this.#audit({ file, reward }, signal)),
		);
		await this.#needs.results.show(place);
	}

	/** @param args the reward, followed by answers that skip the prompts */
	async compare(...args: unknown[]): Promise<void> {
		const answers = answersOf(args[2]);
		const title = 'Compare a reward';
		const target = await this.#needs.targets.reward(args, title, this.#known);
		if (target === undefined) return;
		const { file, reward } = target;
		const against = answers.with ?? (await showQuickPick(choices, { title, placeHolder: 'Compare with...' }))?.with;
		if (against === undefined) return;
		const other = against === 'file' ? await this.#otherReward(target, answers) : null;
		if (other === undefined) return;
		const placeHolder = 'Select a run to rescore';
		const run = answers.run ?? (await pickRun(this.#needs.store, { title, placeHolder }));
		if (run === undefined || run === null) return;
		const weights = against === 'weights' ? (answers.weights ?? (await askWeights(run))) : null;
		if (weights === undefined) return;
		const words = { title: `Comparing ${reward}`, why: 'rescoring the rollouts', view: viewIds.rewards };
		const asked: ComparisonAnswers = {
			run,
			with: against,
			...(other === null ? {} : { file: other.file, reward: other.reward }),
			...(weights === null ? {} : { weights }),
		};
		const place: ResultPlace = { view: 'comparison', file, reward, answers: asked };
		await withProgress(words, (aborted) =>
			this.#needs.judgments.run(place, aborted, async (signal) => {
				const { compareRewards } = await import('../../rewards/compareRewards.ts');
				const opened: { dispose(): unknown }[] = [];
				try {
					const sides =
						weights !== null
							? { before: { weights: {} }, after: { weights } }
							: await this.#sides({ file, reward }, other, opened, signal);
					return await compareRewards({ run, ...sides, signal });
				} finally {
					for (const one of opened) await one.dispose();
				}
			}),
		);
		await this.#needs.results.show(place);
	}

	async #audit({ file, reward }: { file: string; reward: string }, signal: AbortSignal): Promise<AuditReport> {
		const { auditReward, defaultAuditRows } = await import('../../rewards/auditReward.ts');
		const session = this.#needs.verifications.session(file);
		const { plan, runner } = await session.open({ kind: 'data', cases: false }, signal);
		try {
			const { template, verify } = plan.data;
			const problems = plan.problems.slice(0, defaultAuditRows);
			const { described: data, remarks } = plan;
			return await auditReward(runner, { file, reward, problems, template, verify, data, remarks, signal });
		} finally {
			runner.dispose();
		}
	}

	readonly #known = (file: string): readonly string[] =>
		this.#needs.verifications.get(file)?.rewards.map(({ name }) => name) ?? [];

	/** Returns the working copy and the reward to compare it with: the version at HEAD or another reward. */
	async #sides(
		{ file, reward }: { file: string; reward: string },
		other: { file: string; reward: string } | null,
		opened: { dispose(): unknown }[],
		signal: AbortSignal,
	): Promise<{ before: ComparedSide; after: ComparedSide }> {
		const session = this.#needs.verifications.session(file);
		const now = await session.open({ kind: 'data', cases: false }, signal);
		opened.push(now.runner);
		let before: { label: string; runner: RewardRunner; reward: string };
		if (other === null) {
			const { copyRevision } = await import('../../rewards/gitRevision.ts');
			const copy = await copyRevision(file, { signal });
			opened.push(copy);
			const runner = now.verifier.open({ ...now.plan, data: { ...now.plan.data, file: copy.file } });
			opened.unshift(runner);
			before = { label: copy.label, runner, reward };
		} else {
			const { runner } = await this.#needs.verifications
				.session(other.file)
				.open({ kind: 'data', cases: false }, signal);
			opened.push(runner);
			const label = vscode.workspace.asRelativePath(other.file);
			before = { label: other.file === file ? other.reward : label, runner, reward: other.reward };
		}
		const label =
			other === null ? 'working copy' : other.file === file ? reward : vscode.workspace.asRelativePath(file);
		return { before, after: { label, runner: now.runner, reward } };
	}

	async #otherReward(
		compared: { file: string; reward: string },
		answers: ComparisonAnswers,
	): Promise<{ file: string; reward: string } | undefined> {
		if (answers.file !== undefined) {
			return this.#needs.targets.reward([answers.file, answers.reward], 'Compare with', this.#known);
		}
		const files = await this.#needs.files.files();
		const items = await Promise.all(
			files.map(async (path) =>
				(await this.#needs.files.rewardsOf(path)).map((reward) => ({
					label: displayText(reward, 80),
					description: displayText(vscode.workspace.asRelativePath(path), 200),
					file: path,
					reward,
				})),
			),
		);
		const others = items.flat().filter((one) => one.file !== compared.file || one.reward !== compared.reward);
		if (others.length === 0) {
			const name = displayText(compared.reward, 80);
			throw new Failure(
				'missing',
				`${name} is the only reward in the workspace.`,
				'Add another reward, or compare with HEAD or other weights.',
			);
		}
		const picked = await showQuickPick(others, {
			title: `Compare ${basename(compared.file)}`,
			placeHolder: 'Select a reward',
			matchOnDescription: true,
		});
		return picked && { file: picked.file, reward: picked.reward };
	}
}

function answersOf(argument: unknown): ComparisonAnswers {
	const decoded = decode(comparisonAnswersSchema, argument);
	return decoded.ok ? decoded.value : {};
}

/** Asks for weights such as "accuracy=1, format=0.2", prefilled with the run's weights. */
async function askWeights(run: string): Promise<Record<string, number> | undefined> {
	const { readResolvedRecipe } = await import('../../runs/runReader.ts');
	const { decodeResolvedRecipe } = await import('../../core/recipe/resolve.ts');
	const { rewards } = decodeResolvedRecipe(await readResolvedRecipe(run));
	const present = rewards.map((one) => {
		const name = one.name ?? ('file' in one ? basename(one.file).replace(/\.reward\.\w+$/, '') : '');
		return `${name}=${one.weight ?? 1}`;
	});
	const text = await showInputBox({
		title: 'Compare with other weights',
		prompt: 'Reward names and weights; omitted rewards keep their weights',
		value: present.join(', '),
		validateInput: (input) => (parseWeights(input) === null ? 'Use the format accuracy=1, format=0.2' : undefined),
	});
	if (text === undefined) return undefined;
	const weights = parseWeights(text);
	if (weights === null)
		throw new Failure('invalid', `"${text}" is not a valid list of weights.`, 'Use the format accuracy=1, format=0.2.');
	return weights;
}

/** Parses weights. Returns null if the text is not a valid list of weights. */
export function parseWeights(text: string): Record<string, number> | null {
	const weights: Record<string, number> = {};
	for (const part of text.split(',')) {
		const match = /^\s*([^=]+?)\s*=\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*$/i.exec(part);
		const value = match === null ? Number.NaN : Number(match[2]);
		if (match === null || !Number.isFinite(value)) return null;
		weights[match[1] as string] = value;
	}
	return weights;
}
