import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { ScorerScope } from '../../core/search/scorer.ts';
import type { OfferedScorer } from '../../protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { builtInRewardNames } from '../../protocol/recipeKeys/builtInRewards.ts';
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
const majority = ['Majority', 'fraction of answers that agree', { use: 'majority' }] as const satisfies Judging;

/** Built-in rewards that don't need the gold answer. */
const builtInScorers = builtInRewardNames.filter((name) => name !== 'accuracy');

const reward = (spec: string | Record<string, unknown>, oracle: boolean): ScorerSpec => ({
	use: 'reward',
	reward: spec,
	gold: oracle,
});

async function rewardsIn(files: RewardFileList): Promise<{ file: string; name: string }[]> {
	const named = async (file: string) => (await files.rewardsOf(file)).map((name) => ({ file, name }));
	return (await Promise.all((await files.files()).map(named))).flat();
}

/** Returns all scorers that a search can use, for a form that shows only the applicable ones. */
export async function offeredScorers(files: RewardFileList): Promise<OfferedScorer[]> {
	const scorer = (label: string, detail: string, spec: ScorerSpec, steps = false, oracle = false) => ({
		...{ label: displayText(label, 80), detail: displayText(detail, 200), spec, steps, oracle },
	});
	return [
		...judging.map(([label, detail, spec]) => scorer(label, detail, spec, true)),
		scorer(...majority),
		...(await rewardsIn(files)).map(({ file, name }) => scorer(name, basename(file), reward({ file, name }, false))),
		...builtInScorers.map((name) => scorer(name, 'built-in reward', reward(name, false))),
		scorer(
			'accuracy',
			'oracle: uses the gold answer, so the result is an upper bound',
			reward('accuracy', true),
			false,
			true,
		),
	];
}

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
	const rewards = await rewardsIn(files);
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
						...rewards.map(({ file, name }) => ({
							label: displayText(name, 80),
							description: displayText(basename(file), 80),
							value: reward({ file, name }, false),
						})),
						...builtInScorers.map((name) => ({ label: name, description: 'built-in', value: reward(name, false) })),
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
