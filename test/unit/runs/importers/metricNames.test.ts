import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openRun } from '../../../../src/runs/openRun.ts';
import { type FixtureName, fixtureFolder } from './foreignFixtures.ts';

async function namesIn(name: FixtureName): Promise<Set<string>> {
	const names = new Set<string>();
	for await (const lines of (await openRun(fixtureFolder(name))).metrics()) {
		for (const { values } of lines) for (const metric of Object.keys(values)) names.add(metric);
	}
	return names;
}

/** Metrics that panels and diagnosis rules need under canonical names, and those that keep the trainer's name. */
const known: Readonly<Partial<Record<FixtureName, { canonical: readonly string[]; own: readonly string[] }>>> = {
	verl: {
		canonical: [
			'reward',
			'entropy',
			'kl',
			'loss',
			'grad_norm',
			'learning_rate',
			'completions/mean_length',
			'completions/clipped_ratio',
			'eval/gsm8k/accuracy',
			'step_time',
			'throughput/tokens',
		],
		own: ['training/global_step', 'critic/rewards/mean'],
	},
	'prime-rl': {
		canonical: [
			'reward',
			'rewards/correct_answer/mean',
			'completions/mean_length',
			'groups/solved_some',
			'entropy',
			'loss',
			'grad_norm',
			'learning_rate',
			'sampling/mismatch_kl',
			'step_time',
		],
		own: ['progress/rollouts', 'train/agg/effective/agent/reward/mean'],
	},
	tinker: {
		canonical: ['reward', 'rewards/correct/mean', 'entropy', 'sampling/mismatch_kl', 'learning_rate', 'step_time'],
		own: ['progress/done_frac'],
	},
	art: { canonical: ['reward', 'loss', 'grad_norm', 'eval/val/reward'], own: ['train/exception_rate'] },
	skyrl: { canonical: ['eval/math500/reward', 'eval/all/pass@4'], own: ['eval/all/generate/max_num_tokens'] },
};

describe('external metrics', () => {
	for (const [name, { canonical, own }] of Object.entries(known)) {
		it(`in ${name} use canonical names where these exist, and otherwise keep their own`, async () => {
			const names = await namesIn(name as FixtureName);
			assert.deepEqual(
				[...canonical, ...own].filter((metric) => !names.has(metric)),
				[],
			);
		});
	}
});
