import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { ScorerScope } from '../../core/search/scorer.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { builtInRewardNames } from '../../protocol/recipe/builtInRewards.ts';
import type { ScorerSpec } from '../../protocol/searchSpec.ts';
import type { RewardFileList } from '../rewards/rewardFileList.ts';
import { displayText } from '../runView.ts';
import { askChoice, type NoAnswer, type Question } from './questions.ts';

type Answer = { readonly value: ScorerSpec | null } | NoAnswer;

type Kind = PolicySpec['kind'];
type Judging = readonly [label: string, description: string, spec: ScorerSpec, policies?: readonly Kind[]];

/** Policy-based scorers, each with the policy kinds that support it if support is limited. */
const judging: readonly Judging[] = [
	['Mean log-probability', 'likelihood of each thought under the policy', { use: 'mean-logprob' }],
	['Self-certainty', 'how far the token distributions are from uniform', { use: 'self-certainty' }],
	[
		'Self-evaluation',
		'the policy rates its own thoughts (requires an instruction-following model)',
		{ use: 'self-evaluation' },
		['openai', 'scripted'],
	],
	[
		'Value head',
		'requires a policy trained with a value head',
		{ use: 'value', aggregate: 'last' },
		['checkpoint', 'engine'],
	],
	[
		'Process head',
		'per-step values; requires a policy trained with a process head',
		{ use: 'process', aggregate: 'last' },
		['checkpoint', 'engine'],
	],
];
const majority: Judging = ['Majority', 'fraction of answers that agree', { use: 'majority' }];

/**
 * Prompts for the scorer, which rates each step or only finished completions.
 * @param needed whether a scorer is required
 */
export async function askScorer(
	question: Question,
	files: RewardFileList,
	{
		scope,
		needed,
		gold,
		policy,
	}: {
		readonly scope: ScorerScope;
		readonly needed: boolean;
		readonly gold: boolean;
		/** Limits the list to scorers that this policy kind supports. Default: all scorers are listed. */
		readonly policy?: PolicySpec['kind'] | undefined;
	},
	proposed: ScorerSpec | null,
): Promise<Answer> {
	const same = JSON.stringify(proposed);
	const rewards = await Promise.all(
		(await files.files()).map(async (file) => (await files.rewardsOf(file)).map((name) => ({ file, name }))),
	);
	const reward = (spec: string | Record<string, unknown>, oracle: boolean): ScorerSpec => ({
		use: 'reward',
		reward: spec,
		gold: oracle,
	});
	const separator = (label: string) => ({ label, kind: vscode.QuickPickItemKind.Separator });
	return askChoice<ScorerSpec | null>(
		question,
		[
			...(needed ? [] : [{ label: 'None', description: 'not required by this strategy', value: null }]),
			...[...judging, ...(scope === 'final' ? [majority] : [])]
				.filter(([, , , kinds]) => policy === undefined || (kinds?.includes(policy) ?? true))
				.map(([label, description, value]) => ({ label, description, value })),
			// Rewards only apply to finished completions.
			...(scope === 'step'
				? []
				: [
						separator('Rewards'),
						...rewards.flat().map(({ file, name }) => ({
							label: displayText(name, 80),
							description: displayText(basename(file), 80),
							value: reward({ file, name }, false),
						})),
						...builtInRewardNames
							.filter((name) => name !== 'accuracy')
							.map((name) => ({ label: name, description: 'built-in', value: reward(name, false) })),
						...(gold
							? [
									separator('Uses the gold answer (upper bound, not a fair result)'),
									{ label: 'accuracy', description: 'oracle', value: reward('accuracy', true) },
								]
							: []),
					]),
		],
		(value) => JSON.stringify(value) === same,
	);
}
