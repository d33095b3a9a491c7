/** Kills a trainer at random moments and checks that the resumed run matches an uninterrupted one. */
// @reaches driver trainer
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Random } from '../../src/base/random.ts';
import { readMetrics, readRecord } from '../../src/runs/runReader.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { withOneThread } from '../support/oneThread.ts';
import { type Engine, Workplace } from '../unit/engines/embedded/engineProcess.ts';

const found = await findTestPython(console.log);
const missing = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const skip = process.platform === 'win32' ? 'needs signals' : missing;
const driver = fileURLToPath(new URL('../../src/engines/driver/main.ts', import.meta.url));

const updates = { learning_rate: 3e-3, lr_scheduler_type: 'linear' };
const sampled = { ...updates, prompts_per_step: 4, num_generations: 4, max_completion_length: 8, beta: 0.02 };
const recipe = {
	name: 'killed',
	engine: 'pytorch',
	device: 'cpu',
	seed: 11,
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 32, heads: 2 },
	pytorch: { microBatch: 4 },
	stages: [
		{ type: 'sft', steps: 12, batch_size: 8, ...updates },
		{ type: 'grpo', steps: 24, steps_per_generation: 2, num_iterations: 2, ...sampled },
		{ type: 'rloo', steps: 12, ...sampled },
	],
	evaluate: { every: 6, problems: 8 },
	checkpoint: { every: 2, keep: 3 },
};

const kills = 8;

/** Returns everything in the run that does not depend on time. */
async function result(run: string): Promise<{ metrics: object[]; rollouts: Record<string, string> }> {
	const metrics = (await readMetrics(run)).map(({ step, stage, values }) => ({
		step,
		stage,
		values: Object.fromEntries(
			Object.entries(values).filter(([name]) => !/^(time|throughput|gpu)\/|^step_time$/.test(name)),
		),
	}));
	const rollouts: Record<string, string> = {};
	for (const name of await readdir(join(run, 'rollouts'))) {
		rollouts[name] = await readFile(join(run, 'rollouts', name), 'utf8');
	}
	return { metrics, rollouts };
}

/** Returns the process id of the trainer that the driver started. */
function trainerOf(engine: Engine): number | null {
	const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
	for (const line of lines) {
		const [pid, parent] = line.trim().split(/\s+/);
		if (Number(parent) === engine.process.pid && line.includes('reasoning_lab_trainer')) return Number(pid);
	}
	return null;
}

describe('a killed trainer', { skip, timeout: 1_800_000 }, async () => {
	const place = await Workplace.make(driver);
	after(() => place[Symbol.asyncDispose]());
	if ('python' in found) place.environment.REASONING_LAB_TORCH_PYTHON = found.python;

	it('continues from its last checkpoint and reproduces every number', async (t) => {
		const seed = process.env.KILL_SEED ?? String(Date.now());
		t.diagnostic(`KILL_SEED=${seed}`);
		const random = Random.of('kill', seed);
		const whole = await withOneThread(await place.prepare(recipe, 'whole'));
		const undisturbed = place.run('--run', whole);
		const killed = await withOneThread(await place.prepare(recipe, 'killed'));
		let resume: string[] = [];
		for (let kill = 0; kill < kills; kill++) {
			const engine = place.start('--run', killed, ...resume);
			let over = false;
			engine.exit.then(() => {
				over = true;
			});
			const before = (await readMetrics(killed)).length;
			const until = before + 1 + Math.floor(random.next() * 4);
			while (!over && (await readMetrics(killed)).length < until) await setTimeout(50);
			// Kill at a random point within the step; the result must not depend on it.
			await setTimeout(random.next() * 150);
			const pid = trainerOf(engine);
			if (pid !== null) process.kill(pid, 'SIGKILL');
			const { code, stderr } = await engine.exit;
			const { status, error } = await readRecord(killed);
			assert.equal(code, 2, stderr);
			assert.equal(status, 'crashed');
			assert.match(error?.message ?? '', /killed after step \d+/);
			resume = ['--resume'];
		}
		const last = await place.run('--run', killed, '--resume');
		assert.equal(last.code, 0, last.stderr);
		const plain = await undisturbed;
		assert.equal(plain.code, 0, plain.stderr);
		const [expected, got] = [await result(whole), await result(killed)];
		assert.equal(expected.metrics.length, 48);
		assert.deepEqual(got.metrics, expected.metrics);
		assert.deepEqual(got.rollouts, expected.rollouts);
		assert.equal((await readRecord(killed)).attempt, kills + 1);
	});
});
