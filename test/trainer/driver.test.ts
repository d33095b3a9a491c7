/** Tests a run of the real trainer behind the real driver: controlled, stopped, killed, resumed, read and served. */
// @reaches driver trainer
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { RolloutIndex } from '../../src/rolloutIndex/rolloutIndex.ts';
import type { ControlClient } from '../../src/rpc/controlClient.ts';
import {
	listCheckpoints,
	readEvaluationLines,
	readEvaluations,
	readMetrics,
	readRecord,
	readRollouts,
} from '../../src/runs/runReader.ts';
import { ServedCheckpoint } from '../../src/runs/servedCheckpoint.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { forkingPython } from '../support/loadedPython.ts';
import { withOneThread } from '../support/oneThread.ts';
import { builtProgram } from '../support/programs.ts';
import { connected, stepWritten } from '../unit/engines/driver/driverPlace.ts';
import { eventually, Workplace } from '../unit/engines/embedded/engineProcess.ts';
import { readOutcome } from '../unit/engines/embedded/runOutcome.ts';

const execute = promisify(execFile);
const found = await findTestPython(console.log);
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const driver = builtProgram('dist/driver.js');
const embedded = builtProgram('dist/engine.js');

/**
 * A dense reward: every completion gets a value between 0 and 1, with gradual improvement. If a file `hold` exists, a
 * process that has scored some batches writes `held` and waits until `hold` is removed.
 */
const denseReward = (folder: string) => `import { existsSync, writeFileSync } from 'node:fs';
let rows = 0;
export const ones = async ({ completion }: { completion: string }) => {
	rows++;
	while (rows > 70 && existsSync(${JSON.stringify(join(folder, 'hold'))})) {
		writeFileSync(${JSON.stringify(join(folder, 'held'))}, '');
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
	return share(completion);
};
const share = (text: string) => (text === '' ? 0 : (text.split('1').length - 1) / text.length);
`;
const share = (text: string) => (text === '' ? 0 : (text.split('1').length - 1) / text.length);

const recipe = {
	name: 'driven',
	engine: 'pytorch',
	device: 'cpu',
	seed: 7,
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 2 },
	model: { layers: 1, width: 32, heads: 2 },
	rewards: [{ file: 'ones.reward.ts' }],
	stages: [
		{ type: 'sft', steps: 4, learning_rate: 1e-3, batch_size: 8 },
		{
			type: 'grpo',
			steps: 20,
			num_generations: 4,
			prompts_per_step: 4,
			steps_per_generation: 2,
			max_completion_length: 12,
			learning_rate: 1e-2,
		},
	],
	evaluate: { every: 8, problems: 16 },
	checkpoint: { every: 4, keep: 3 },
};

/** Returns the process id of a driver's trainer. */
async function trainerOf(pid: number): Promise<number> {
	const { stdout } = await execute('ps', ['axww', '-o', 'pid=,ppid=,command='], { maxBuffer: 64 << 20 });
	const line = stdout
		.split('\n')
		.map((text) => text.trim().split(/\s+/))
		.find(([, parent, ...command]) => Number(parent) === pid && command.includes('reasoning_lab_trainer'));
	assert.ok(line, `process ${pid} has a trainer`);
	return Number(line[0]);
}

describe('a run controlled by the driver', { skip, timeout: 900_000 }, async () => {
	const place = await Workplace.make(driver);
	after(() => place[Symbol.asyncDispose]());
	const python = 'python' in found ? found.python : '';
	place.environment.REASONING_LAB_TORCH_PYTHON = forkingPython(python);
	await writeFile(join(place.folder, 'ones.reward.ts'), denseReward(place.folder));

	/** Pauses before the first step, changes a hyperparameter, and continues. */
	const started = async (run: string, meanwhile: (client: ControlClient) => Promise<void> = async () => {}) => {
		const engine = place.start('--run', run);
		const client = await connected(run);
		assert.equal((await client.request('run/pause', {})).step, 0);
		assert.deepEqual(await client.request('run/setHyperparameters', { learning_rate: 3e-2 }), { fromStep: 1 });
		await meanwhile(client);
		await client.request('run/continue', {});
		return { engine, client };
	};

	const whole = (async () => {
		const run = await withOneThread(await place.prepare(recipe, 'whole'));
		const { engine, client } = await started(run, async (paused) => {
			const asked = { prompts: ['12+34=', '5+6='], n: 2, maxTokens: 5, logprobs: true, seed: 3 };
			const { completions } = await paused.request('policy/generate', asked);
			assert.deepEqual(
				completions.map((list) => list.length),
				[2, 2],
			);
			assert.deepEqual((await paused.request('policy/generate', asked)).completions, completions);
			const { logprobs } = await paused.request('policy/score', { prompts: ['12+34='], completions: ['46'] });
			assert.equal(logprobs[0]?.length, 2);
			assert.ok(logprobs[0]?.every((logprob) => logprob < 0 && logprob > -20));
			const { path } = await paused.request('run/checkpoint', {});
			assert.equal((await listCheckpoints(run)).at(-1)?.path, path);
		});
		client.dispose();
		const { code, stderr } = await engine.exit;
		assert.equal(code, 0, stderr);
		return run;
	})();
	whole.catch(() => undefined);

	it('accepts requests while it trains, finishes, and improves the held-out reward', async () => {
		const run = await whole;
		const record = await readRecord(run);
		assert.deepEqual([record.status, record.step, record.engine], ['finished', 24, 'pytorch']);
		assert.ok(record.versions.trl);
		const metrics = await readMetrics(run);
		assert.equal(metrics[0]?.values.learning_rate, 3e-2, 'the changed learning rate is in effect');
		assert.equal(metrics[4]?.values.learning_rate, 1e-2, 'the change ends with its stage');
		const reward = async (step: number) => {
			const lines = await readEvaluationLines(run, step, 'heldout');
			return lines.reduce((sum, { completion }) => sum + share(String(completion)), 0) / lines.length;
		};
		const steps = (await readEvaluations(run)).map(({ step }) => step);
		assert.deepEqual(steps, [4, 8, 16, 24]);
		const [before, now] = [await reward(4), await reward(24)];
		assert.ok(now > before + 0.2, `held-out reward ${before} before GRPO, ${now} after it`);
	});

	it('is an ordinary run in the views: rollouts by group, and the rollout index', async () => {
		const run = await whole;
		const rollouts = await readRollouts(run, 5);
		assert.equal(rollouts.length, 16);
		assert.deepEqual([...new Set(rollouts.map(({ group }) => group))], [0, 1, 2, 3]);
		for (const { tokens, rewards, completion } of rollouts) {
			assert.ok(Math.abs((rewards.ones as number) - share(completion as string)) < 1e-6);
			assert.equal(tokens?.logprob.length, tokens?.text.length);
		}
		const lab = await RolloutIndex.open({ storage: null });
		try {
			await lab.setRuns([run]);
			await lab.index(run);
			const { rows } = await lab.sql({ sql: 'select count(*), count(distinct step) from rollouts', limit: 1 });
			assert.deepEqual(rows[0]?.map(Number), [10 * 16, 10]);
		} finally {
			await lab.close();
		}
	});

	it('gives the same result after being stopped, losing its trainer and being resumed', async () => {
		// Wait, because the rewards of both runs look for the same file.
		await whole;
		const run = await withOneThread(await place.prepare(recipe, 'broken'));
		// A separate real process, which is killed and must train like the fork.
		place.environment.REASONING_LAB_TORCH_PYTHON = python;
		const { engine, client: first } = await started(run);
		place.environment.REASONING_LAB_TORCH_PYTHON = forkingPython(python);
		// Kill in the middle of a batch after the newest checkpoint, written at the end of a stage, so that lost work is
		// repeated.
		await stepWritten(run, 5);
		process.kill(await trainerOf(engine.process.pid as number), 'SIGKILL');
		first.dispose();
		assert.equal((await engine.exit).code, 2);
		assert.match((await readRecord(run)).error?.message ?? '', /The trainer was killed after step \d+.*SIGKILL/);

		// Make sure it is stopped in the middle, however fast it trains.
		const [hold, held] = [join(place.folder, 'hold'), join(place.folder, 'held')];
		await writeFile(hold, '');
		const again = place.start('--run', run, '--resume');
		const client = await connected(run);
		await eventually(async () => existsSync(held), 'the trainer is holding a batch');
		const stopping = client.request('run/stop', { checkpoint: true });
		await rm(hold);
		const stopped = await stopping;
		assert.equal(stopped.status, 'stopped');
		assert.ok(stopped.step > 5 && stopped.step < 24, `${stopped.step}`);
		client.dispose();
		assert.equal((await again.exit).code, 0);
		assert.equal((await listCheckpoints(run)).at(-1)?.step, stopped.step);

		const last = await place.run('--run', run, '--resume');
		assert.equal(last.code, 0, last.stderr);
		assert.equal((await readRecord(run)).attempt, 3);
		const [mine, theirs] = [await readOutcome(run), await readOutcome(await whole)];
		assert.deepEqual(mine.metrics, theirs.metrics);
		assert.deepEqual(mine.rollouts, theirs.rollouts);
		assert.deepEqual(mine.evaluations, theirs.evaluations);
		assert.equal(mine.weights, theirs.weights);
		assert.equal(mine.optimizer, theirs.optimizer);
	});

	it('serves checkpoints that give the same answers as during training', async () => {
		const run = await whole;
		const checkpoint = (await listCheckpoints(run)).at(-1)?.path as string;
		assert.match(await readFile(join(checkpoint, 'state.json'), 'utf8'), /"engine": "pytorch"/);
		const served = await ServedCheckpoint.open(checkpoint, {
			engine: embedded,
			name: 'test',
			environment: place.environment,
		});
		try {
			const asked = { prompts: ['12+34='], n: 8, maxTokens: 12, seed: 1 };
			const { completions } = await served.client.request('policy/generate', asked);
			const mean = (completions[0] ?? []).reduce((sum, { text }) => sum + share(text), 0) / 8;
			assert.ok(mean > 0.3, `the policy has learned: ${mean}`);
		} finally {
			served.dispose();
		}
	});
});
