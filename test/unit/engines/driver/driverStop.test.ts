import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { FileLock } from '../../../../src/files/fileLock.ts';
import { ownIdentity, processState } from '../../../../src/processes/processIdentity.ts';
import { engineReleased } from '../../../../src/runs/engineRelease.ts';
import { trashRun } from '../../../../src/runs/runActions.ts';
import { runFiles } from '../../../../src/runs/runFiles.ts';
import { readRecord } from '../../../../src/runs/runReader.ts';
import { builtProgram } from '../../../support/programs.ts';
import { connected, ScriptedPlace, stepWritten } from './driverPlace.ts';

const cli = builtProgram('dist/cli.js');
const long = {
	stages: [{ type: 'grpo', steps: 100_000, num_generations: 2, prompts_per_step: 1, learning_rate: 1e-3 }],
	evaluate: { every: 100_000, problems: 4 },
	checkpoint: { every: 100_000, keep: 3 },
};

describe('stopping a run', { timeout: 300_000 }, () => {
	let place: ScriptedPlace;
	before(async () => {
		place = await ScriptedPlace.make();
		// Like PyTorch, the trainer needs a while to exit after it is asked to stop.
		place.fault = 'linger';
	});
	after(() => place[Symbol.asyncDispose]());

	const lab = (...args: string[]): Promise<string> =>
		new Promise((resolve, reject) => {
			const env = { ...process.env, ...place.environment, NO_COLOR: '1' };
			execFile(process.execPath, [cli, ...args], { cwd: place.folder, env }, (error, stdout, stderr) => {
				if (error === null) resolve(stdout);
				else reject(new Error(`${args[0]} failed: ${stderr}${stdout}`));
			});
		});
	const assertReleased = async (run: string) => {
		assert.equal(await FileLock.holder(join(run, runFiles.lock)), null, 'the lock is free');
		assert.deepEqual(await place.trainers(), [], 'no trainer is left');
		assert.equal(await processState(await readRecord(run)), 'dead', 'the driver is gone');
	};

	it('the command returns once the lock, driver and trainer are gone, so an immediate resume works', async () => {
		const run = await place.prepare(long);
		place.start('--run', run);
		await stepWritten(run, 1);
		assert.match(await lab('stop', run), /is stopped at step \d+\./);
		await assertReleased(run);
		await lab('resume', run, '--detach');
		await stepWritten(run, (await readRecord(run)).step + 1);
		assert.match(await lab('stop', run, '--now'), /is crashed at step \d+\./);
		await assertReleased(run);
	});

	it('resume, stop and trash wait for an engine that has reported its end but not exited', async () => {
		const run = await place.prepare(long);
		place.start('--run', run);
		await stepWritten(run, 1);
		const stop = async () => {
			const client = await connected(run);
			assert.equal((await client.request('run/stop', { checkpoint: true })).status, 'stopped');
			client.dispose();
		};
		await stop();
		await lab('resume', run, '--detach');
		await stepWritten(run, (await readRecord(run)).step + 1);
		await stop();
		assert.match(await lab('stop', run), /is not running \(status: stopped\)/);
		await assertReleased(run);
		await lab('resume', run, '--detach');
		await stepWritten(run, (await readRecord(run)).step + 1);
		await stop();
		await trashRun(run);
		assert.deepEqual(await place.trainers(), []);
	});

	it('a process that keeps the lock is named when the timeout expires', async () => {
		const run = await place.prepare(long);
		const lock = await FileLock.acquire(join(run, runFiles.lock), 'The run');
		const own = await ownIdentity();
		const reason = (error: unknown) => {
			const { reason, message } = Failure.from(error);
			return reason === 'timeout' && message.includes(`process ${process.pid} is still shutting down after 0 s`);
		};
		await assert.rejects(engineReleased(run, own, { limitMs: 0 }), reason);
		// A lock acquired by a different process since then does not count.
		await engineReleased(run, { ...own, pid: 1, processStart: 'before' }, { limitMs: 0 });
		await lock.release();
		await engineReleased(run, own, { limitMs: 0 });
	});
});
