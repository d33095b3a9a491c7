import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Message, RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import type { RolloutPlace, RolloutSplit, RunContent, RunFault } from '../../../../src/runs/runContent.ts';
import { root } from '../../../scripts/paths.ts';

/** Run folders in test/fixtures with their formats. */
export const fixtures = [
	{ name: 'trl-run', folder: 'trl-run', format: 'trl' },
	{ name: 'verl', folder: 'verl', format: 'verl' },
	{ name: 'prime-rl', folder: 'prime-rl/run', format: 'prime-rl' },
	{ name: 'verifiers-v1', folder: 'verifiers-v1/outputs/gsm8k--Qwen3-0.6B--null--a1b2c3', format: 'verifiers' },
	{
		name: 'verifiers-legacy',
		folder: 'verifiers-legacy/outputs/evals/gsm8k--Qwen--Qwen3-0.6B/3f9a1c2e',
		format: 'verifiers-legacy',
	},
	{ name: 'verifiers-tools', folder: 'verifiers-tools/lab-guess--scripted--null--2944a29d', format: 'verifiers' },
	{ name: 'verifiers-0.4', folder: 'verifiers-0.4/sums-v1--qwen--qwen3-0.6b--null--e7cee16f', format: 'verifiers' },
	{ name: 'inspect', folder: 'inspect', format: 'inspect' },
	{ name: 'inspect-tools', folder: 'inspect-tools', format: 'inspect' },
	{ name: 'lm-eval', folder: 'lm-eval/adder', format: 'lm-eval' },
	{ name: 'trackio', folder: 'trackio', format: 'trackio' },
	{ name: 'trackio-parquet', folder: 'trackio-parquet', format: 'trackio' },
	{ name: 'mlflow', folder: 'mlflow', format: 'mlflow' },
	{
		name: 'mlflow run',
		folder: 'mlflow-folders/156766826914807713/eb20b1702b39449cb23107a0f372ceb1',
		format: 'mlflow-folders',
	},
	{ name: 'mlflow traces', folder: 'mlflow-folders/156766826914807713/traces', format: 'mlflow-folders' },
	{ name: 'wandb', folder: 'wandb-offline', format: 'wandb' },
	{ name: 'nemo-rl', folder: 'nemo-rl/exp_001', format: 'nemo-rl' },
	{ name: 'openrlhf', folder: 'openrlhf/tensorboard/ppo_0820T1000', format: 'openrlhf' },
	{ name: 'skyrl', folder: 'skyrl', format: 'skyrl' },
	{ name: 'art', folder: 'art/.art/fixtures/models/agent-001', format: 'art' },
	{ name: 'art legacy', folder: 'art/legacy-yaml', format: 'art' },
	{ name: 'rllm', folder: 'rllm/logs/rllm-agent/gsm8k', format: 'rllm' },
	{ name: 'tinker', folder: 'tinker/log', format: 'tinker' },
	{ name: 'slime', folder: 'slime', format: 'slime' },
	{ name: 'miles', folder: 'miles', format: 'slime' },
] as const;

export type FixtureName = (typeof fixtures)[number]['name'];

export function fixtureFolder(name: FixtureName): string {
	return join(root, 'test/fixtures', fixtures.find((fixture) => fixture.name === name)?.folder ?? '');
}

export interface Numbers {
	readonly rollouts: number;
	readonly null_rewards: number;
	readonly mean_reward: number;
}

export interface Expected extends Numbers {
	readonly steps?: readonly number[] | null;
	readonly groups: number;
	readonly group_size?: number;
	readonly per_step?: Readonly<Record<string, Numbers>>;
	readonly zero_variance_groups?: number;
	readonly text?: { readonly empty_completions: number; readonly longest_chars: number; readonly with_u2028: number };
	readonly [more: string]: unknown;
}

/** Numbers computed by independent code when the fixtures were created. */
const counted: Record<string, Expected> = JSON.parse(readFileSync(join(root, 'test/fixtures/expected.json'), 'utf8'));

export function expected(name: string): Expected {
	// The Parquet export of trackio has the same contents.
	const found = counted[name === 'trackio-parquet' ? 'trackio' : name];
	if (found === undefined) throw new Error(`expected.json has no ${name}`);
	return found;
}

export interface ReadRollout {
	readonly line: RolloutLine;
	readonly place: RolloutPlace;
}

export interface ReadRun {
	readonly rollouts: ReadRollout[];
	readonly faults: RunFault[];
}

/** Reads all rollouts of a split with their locations, and the read errors. */
export async function readAll(run: RunContent, split: RolloutSplit = 'train'): Promise<ReadRun> {
	const rollouts: ReadRollout[] = [];
	const faults: RunFault[] = [];
	for (const step of await run.steps(split)) {
		const opened = await run.open(step, split);
		try {
			for await (const { rollout, place, fault } of opened.rollouts()) {
				if (fault !== null) faults.push(fault);
				else rollouts.push({ line: rollout, place });
			}
		} finally {
			await opened.close();
		}
	}
	return { rollouts, faults };
}

export function numbersOf(rollouts: readonly ReadRollout[]): Numbers {
	const rewards = rollouts.map(({ line }) => line.reward);
	const known = rewards.filter((reward) => reward !== null);
	return {
		rollouts: rollouts.length,
		null_rewards: rewards.length - known.length,
		mean_reward: known.reduce((sum, reward) => sum + reward, 0) / known.length,
	};
}

/** Groups rollouts by step and group. */
export function groupsOf(rollouts: readonly ReadRollout[]): ReadRollout[][] {
	const groups = new Map<string, ReadRollout[]>();
	for (const rollout of rollouts) {
		const key = `${rollout.line.step} ${rollout.line.group}`;
		groups.set(key, [...(groups.get(key) ?? []), rollout]);
	}
	return [...groups.values()];
}

/** Returns the model's answer as the fixtures count it: the last message, preceded by its thinking and a NUL. */
export function answerText({ line }: ReadRollout): string {
	const { completion } = line;
	if (typeof completion === 'string') return completion;
	const last = completion.findLast(({ role }) => role === 'assistant') as Message | undefined;
	const thinking = last?.reasoning_content;
	return `${typeof thinking === 'string' ? `${thinking}\0` : ''}${last?.content ?? ''}`;
}
