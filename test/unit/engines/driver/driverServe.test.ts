import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { joinAnnouncementSchema } from '../../../../src/protocol/trainerLink.ts';
import { listCheckpoints, readRecord } from '../../../../src/runs/runReader.ts';
import { ServedCheckpoint } from '../../../../src/runs/servedCheckpoint.ts';
import { builtProgram } from '../../../support/programs.ts';
import { eventually } from '../embedded/engineProcess.ts';
import { outcomeOf, ScriptedPlace } from './driverPlace.ts';

const embedded = builtProgram('dist/engine.js');
const scripted = fileURLToPath(new URL('../../../trainer/scriptedTrainer.py', import.meta.url));

const place = await ScriptedPlace.make();
after(() => place[Symbol.asyncDispose]());

const short = {
	stages: [{ type: 'grpo', steps: 6, num_generations: 2, prompts_per_step: 1, learning_rate: 1e-3 }],
	evaluate: { every: 3, problems: 4 },
	checkpoint: { every: 2, keep: 3 },
};

/** Starts a trainer that joins a running driver. */
function joining(announcement: string, fault = '') {
	const { socket, token } = decodeOrThrow(joinAnnouncementSchema, JSON.parse(announcement), 'The announcement');
	return spawn('python3', [scripted], {
		stdio: 'ignore',
		env: {
			...process.env,
			REASONING_LAB_TRAINER_SOCKET: socket,
			REASONING_LAB_TRAINER_TOKEN: token,
			TRAINER_FAULT: fault,
		},
	});
}

it('a driver that a trainer joins gives the same results; if the trainer disappears, it exits and leaves a resumable run', async () => {
	const alone = await place.prepare(short);
	assert.equal((await place.run('--run', alone)).code, 0);

	const run = await place.prepare(short);
	// --resume is accepted on the first start too, so a supervisor can use the same command every time.
	const first = place.start('--run', run, '--join', '--resume');
	const trainer = joining(await first.firstLine, 'SIGKILL@4');
	trainer.unref();
	assert.equal((await first.exit).code, 2);
	const lost = await readRecord(run);
	assert.equal(lost.status, 'crashed');
	assert.match(lost.error?.message ?? '', /Lost the connection to the trainer after step 3/);
	assert.equal(lost.attempt, 1);

	const second = place.start('--run', run, '--join', '--resume');
	joining(await second.firstLine).unref();
	const { code, stderr } = await second.exit;
	assert.equal(code, 0, stderr);
	assert.equal((await readRecord(run)).attempt, 2);
	assert.deepEqual(await outcomeOf(run), await outcomeOf(alone));
});

it('a driver exits if no trainer can join it anymore', async () => {
	const run = await place.prepare(short);
	const driver = place.start('--run', run, '--join');
	await driver.firstLine;
	driver.process.stdin?.end();
	assert.equal((await driver.exit).code, 2);
	assert.match((await readRecord(run)).error?.message ?? '', /trainer process exited/);
});

it('a checkpoint is served by the engine that wrote it, until the client disposes of it', async () => {
	const run = await place.prepare(short);
	assert.equal((await place.run('--run', run)).code, 0);
	const [checkpoint] = await listCheckpoints(run);
	const served = await ServedCheckpoint.open(checkpoint?.path as string, {
		engine: embedded,
		name: 'test',
		environment: place.environment,
	});
	const { completions } = await served.client.request('policy/generate', { prompts: ['1+1='] });
	assert.equal(completions[0]?.[0]?.text, 'skill 0.040');
	assert.ok(!served.client.engine.capabilities.includes('run/status'));
	assert.equal((await place.trainers()).length, 1);
	served.dispose();
	await eventually(async () => (await place.trainers()).length === 0, 'the trainer exits');
});

it('a trainer that cannot serve reports the reason to the client', async () => {
	const run = await place.prepare(short);
	assert.equal((await place.run('--run', run)).code, 0);
	const [checkpoint] = await listCheckpoints(run);
	await assert.rejects(
		ServedCheckpoint.open(checkpoint?.path as string, {
			engine: embedded,
			name: 'test',
			environment: { ...place.environment, TRAINER_FAULT: 'version' },
		}),
		/version 1 of the trainer link, but the trainer uses version 2/,
	);
	assert.deepEqual(await place.trainers(), []);
});
