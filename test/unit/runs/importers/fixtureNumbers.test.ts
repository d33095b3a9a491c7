import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MetricsLine } from '../../../../src/protocol/metricsLine.ts';
import { inspectRun, type RolloutCounts } from '../../../../src/runs/inspectRun.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import {
	answerText,
	type Expected,
	expected,
	type FixtureName,
	fixtureFolder,
	groupsOf,
	type Numbers,
	numbersOf,
	readAll,
} from './foreignFixtures.ts';

const tolerance = 2e-6;

function equalNumbers(actual: Numbers, wanted: Numbers, of: string): void {
	assert.equal(actual.rollouts, wanted.rollouts, `rollouts of ${of}`);
	assert.equal(actual.null_rewards, wanted.null_rewards, `null rewards of ${of}`);
	assert.ok(
		Math.abs(actual.mean_reward - wanted.mean_reward) <= tolerance,
		`mean reward of ${of}: ${actual.mean_reward} is not ${wanted.mean_reward}`,
	);
}

/** Converts the counts of `inspect` to the form of the expected numbers. */
function countedBy({ rollouts, nulls, meanReward }: RolloutCounts): Numbers {
	return { rollouts, null_rewards: nulls, mean_reward: meanReward ?? Number.NaN };
}

async function metricsOf(name: FixtureName): Promise<MetricsLine[]> {
	const lines: MetricsLine[] = [];
	for await (const portion of (await openRun(fixtureFolder(name))).metrics()) lines.push(...portion);
	return lines;
}

describe('fixture numbers', () => {
	const whole = [
		'verl',
		'prime-rl',
		'verifiers-v1',
		'verifiers-legacy',
		'verifiers-0.4',
		'verifiers-tools',
		'inspect',
		'inspect-tools',
		'lm-eval',
		'trackio',
		'trackio-parquet',
		'wandb',
		'nemo-rl',
		'skyrl',
		'art',
		'rllm',
		'tinker',
		'slime',
		'miles',
	] as const;
	for (const name of whole) {
		it(`of ${name}`, async () => {
			const wanted = expected(name);
			const run = await openRun(fixtureFolder(name));
			const { rollouts, faults } = await readAll(run);
			assert.deepEqual(faults, []);
			equalNumbers(numbersOf(rollouts), wanted, name);
			assert.deepEqual(await run.steps(), wanted.steps ?? [0]);
			assert.equal(run.hasSteps, Array.isArray(wanted.steps));
			for (const [step, numbers] of Object.entries(wanted.per_step ?? {})) {
				const of = rollouts.filter(({ line }) => line.step === Number(step));
				equalNumbers(numbersOf(of), numbers, `${name} at step ${step}`);
			}
			// `inspect --json` returns the same counts as the rollout readers.
			const counts = await inspectRun(run);
			equalNumbers(countedBy(counts), wanted, `inspect of ${name}`);
			assert.equal(counts.groups, wanted.groups, `groups by inspect of ${name}`);
			assert.deepEqual(counts.steps, wanted.steps ?? null);
			assert.deepEqual(counts.byStep?.map(({ step }) => step) ?? null, wanted.steps ?? null);
			for (const [step, numbers] of Object.entries(wanted.per_step ?? {})) {
				const of = counts.byStep?.find((one) => one.step === Number(step));
				assert.ok(of, `${name} has step ${step}`);
				equalNumbers(countedBy(of), numbers, `inspect of ${name} at step ${step}`);
			}
			const groups = groupsOf(rollouts);
			assert.equal(groups.length, wanted.groups);
			for (const group of groups) {
				if (wanted.group_size !== undefined) assert.equal(group.length, wanted.group_size);
				assert.equal(new Set(group.map(({ line }) => JSON.stringify(line.prompt))).size, 1, 'prompts of a group');
				assert.deepEqual(
					group.map(({ line }) => line.index),
					group.map((_, index) => index),
				);
			}
			if (wanted.zero_variance_groups !== undefined) {
				const flat = groups.filter((group) => new Set(group.map(({ line }) => line.reward)).size === 1);
				assert.equal(flat.length, wanted.zero_variance_groups);
			}
			if (wanted.text !== undefined) {
				const texts = rollouts.map(answerText);
				assert.equal(texts.filter((text) => text === '').length, wanted.text.empty_completions);
				assert.equal(Math.max(...texts.map((text) => text.length)), wanted.text.longest_chars);
				assert.equal(texts.filter((text) => text.includes('\u2028')).length, wanted.text.with_u2028);
			}
			assert.deepEqual(run.faults, []);
		});
	}

	for (const name of whole) {
		it(`returns every rollout of ${name} by its location`, async () => {
			const run = await openRun(fixtureFolder(name));
			for (const split of ['train', 'validation'] as const) {
				for (const step of await run.steps(split)) {
					const opened = await run.open(step, split);
					for await (const { rollout, place } of opened.rollouts()) {
						if (place) assert.deepEqual(await opened.rollout(place), rollout);
					}
					await opened.close();
				}
			}
		});
	}

	it('match for validation', async () => {
		const of = async (name: FixtureName) => (await readAll(await openRun(fixtureFolder(name)), 'validation')).rollouts;
		const verl = await of('verl');
		assert.equal(verl.length, expected('verl').validation_rollouts);
		assert.deepEqual([...new Set(verl.map(({ line }) => line.step))], expected('verl').validation_steps);
		equalNumbers(numbersOf(await of('prime-rl')), expected('prime-rl').eval as Numbers, 'prime-rl');
		equalNumbers(numbersOf(await of('art')), expected('art').val as Numbers, 'ART');
		const { gsm8k } = expected('tinker').eval as unknown as { gsm8k: Numbers };
		equalNumbers(numbersOf(await of('tinker')), gsm8k, 'Tinker');
		assert.equal((await of('rllm')).length, expected('rllm').validation_episodes);
		const inspected = async (name: FixtureName) => (await inspectRun(await openRun(fixtureFolder(name)))).validation;
		const evaluation = (await inspected('prime-rl')) ?? assert.fail('prime-rl has evaluations');
		equalNumbers(countedBy(evaluation), expected('prime-rl').eval as Numbers, 'inspect of prime-rl');
		assert.deepEqual((await inspected('verl'))?.steps, expected('verl').validation_steps);
		assert.equal((await inspected('rllm'))?.rollouts, expected('rllm').validation_episodes);
		assert.equal(
			await inspected('skyrl'),
			null,
			'without training rollouts, evaluations count as the rollouts of the run',
		);
		const nemo = numbersOf(await of('nemo-rl'));
		assert.equal(nemo.rollouts, expected('nemo-rl').validation_rollouts);
		assert.ok(Math.abs(nemo.mean_reward - (expected('nemo-rl').validation_mean_reward as number)) <= tolerance);
	});

	it('match for ART versions before Parquet', async () => {
		const { rollouts } = await readAll(await openRun(fixtureFolder('art legacy')));
		equalNumbers(numbersOf(rollouts), expected('art').legacy_yaml as Numbers, 'ART in YAML');
		assert.deepEqual([...new Set(rollouts.map(({ line }) => line.step))], [7]);
		assert.equal(groupsOf(rollouts).length, 1);
	});

	it('match for metrics, with one row per step, however many rows in the file mention it', async () => {
		const steps = async (name: FixtureName) => (await metricsOf(name)).map(({ step }) => step);
		assert.deepEqual(await steps('verl'), [0, 1, 2, 3, 4]);
		assert.equal((await steps('verl')).length, expected('verl').metric_rows);
		// Six rows in the file: the orchestrator and the trainer take turns appending.
		assert.deepEqual(await steps('prime-rl'), [1, 2, 3]);
		assert.deepEqual(await steps('tinker'), [0, 1, 2]);
		assert.equal((await steps('tinker')).length, expected('tinker').metric_rows);
		// Seven rows: rewards, then losses, then validation.
		assert.deepEqual(await steps('art'), [0, 1, 2]);
		assert.deepEqual(await steps('skyrl'), [0, 5, 10]);
	});

	it('match for the metrics of trackers', async () => {
		for (const name of ['trackio', 'trackio-parquet', 'wandb'] as const) {
			assert.equal((await metricsOf(name)).length, expected(name).metric_rows, name);
		}
		for (const name of ['trackio', 'trackio-parquet'] as const) {
			const trackio = (await metricsOf(name)).map(({ step, values }) => [
				step,
				values.reward,
				values['first/train/reward'],
			]);
			assert.deepEqual(trackio, [
				[1, 0.125, 0.125],
				[2, 0.25, 0.25],
				[3, 0.375, undefined],
				[4, 0.5, undefined],
			]);
		}
		const wandb = (await metricsOf('wandb')).map(({ step, values }) => [step, values.reward, values['nested.a']]);
		assert.deepEqual(wandb, [
			[10, 0.125, 1],
			[20, 0.25, 2],
			[30, 0.375, 3],
			[40, 0.5, 4],
		]);
	});

	it('match for MLflow, whose traces have no rewards', async () => {
		for (const name of ['mlflow', 'mlflow run', 'mlflow traces'] as const) {
			const wanted = expected(name);
			const run = await openRun(fixtureFolder(name));
			const { rollouts, nulls, meanReward, groups, errored, metricRows, byStep } = await inspectRun(run);
			assert.deepEqual(
				{ rollouts, nulls, meanReward, groups, errored, metricRows, byStep },
				{
					...{ rollouts: wanted.rollouts, nulls: wanted.null_rewards, meanReward: wanted.mean_reward },
					...{ groups: wanted.groups, errored: wanted.failed, metricRows: wanted.metric_rows, byStep: null },
				},
				name,
			);
			const metrics = await metricsOf(name);
			assert.deepEqual(
				metrics.map(({ step, values }) => [step, values.reward ?? null, values.loss ?? null]),
				wanted.metrics,
			);
			assert.ok(metrics.every(({ time }) => time > 1.7e9));
		}
	});

	it('match for canonical metrics: the reward of a step equals the mean reward of its rollouts', async () => {
		for (const name of ['verl', 'prime-rl', 'art', 'tinker'] as const) {
			const per = expected(name).per_step;
			for (const { step, values } of await metricsOf(name)) {
				const wanted = per?.[String(step)];
				if (wanted === undefined) continue;
				assert.ok(Math.abs((values.reward as number) - wanted.mean_reward) <= tolerance, `${name} at step ${step}`);
			}
		}
	});

	it('match for the trained subset of prime-rl: credit is joined by trace id, without double counting', async () => {
		const { rollouts } = await readAll(await openRun(fixtureFolder('prime-rl')));
		const trained = rollouts.filter(({ line }) => line.advantage !== null);
		const effective = expected('prime-rl').effective as Expected;
		equalNumbers(numbersOf(trained), effective, 'the trained subset');
		assert.equal(groupsOf(trained).length, effective.groups);
		for (const { line } of trained) {
			assert.equal(line.tokens?.advantage?.length, line.tokens?.text.length);
			// Rounded when the fixture was created.
			const differences = line.tokens?.advantage?.map((value) => Math.abs((value ?? 9) - (line.advantage ?? 0)));
			assert.ok(Math.max(...(differences ?? [9])) < 1e-6);
		}
		const nodes = rollouts.reduce((sum, { line }) => sum + line.prompt.length + line.completion.length, 0);
		assert.equal(nodes, expected('prime-rl').nodes);
		const leaves = rollouts.reduce((sum, { line }) => sum + leavesOf(line.completion.length, line.parents), 0);
		assert.equal(leaves, expected('prime-rl').branches);
	});

	it('match for Tinker rollouts whose text is logged', async () => {
		const { rollouts } = await readAll(await openRun(fixtureFolder('tinker')));
		const result = rollouts.filter(({ line }) => line.completion !== '');
		assert.equal(result.length, expected('tinker').logtree_logged_rollouts);
		assert.equal(groupsOf(result).length, expected('tinker').logtree_logged_groups);
		assert.deepEqual(
			result.map((rollout) => [rollout.line.reward, answerText(rollout).split('\n').at(-1)]),
			[
				[1, '<answer>18</answer>'],
				[0, '<answer>19</answer>'],
				[0, '<answer>21</answer>'],
				[0, '<answer>19</answer>'],
			],
		);
	});
});

function leavesOf(length: number, parents: readonly (number | null)[] | undefined): number {
	const all = parents ?? Array.from({ length }, (_, index) => (index === 0 ? null : index - 1));
	return all.filter((_, index) => !all.includes(index)).length;
}
