import assert from 'node:assert/strict';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { torchCheckpointStateSchema } from '../../../../src/protocol/trainerLink.ts';
import { rolloutPath } from '../../../../src/runs/runFiles.ts';
import {
	listCheckpoints,
	readEvaluations,
	readEvents,
	readMetrics,
	readRecord,
} from '../../../../src/runs/runReader.ts';
import { eventually } from '../embedded/engineProcess.ts';
import { outcomeOf, ScriptedPlace, stepWritten } from './driverPlace.ts';

const place = await ScriptedPlace.make();
after(() => place[Symbol.asyncDispose]());

const whole = (async () => {
	const run = await place.prepare();
	const exit = await place.run('--run', run);
	assert.equal(exit.code, 0, exit.stderr);
	return run;
})();

it('a run with an external trainer has everything that other runs have: record, metrics, rollouts, evaluations, checkpoints', async () => {
	const run = await whole;
	const record = await readRecord(run);
	assert.equal(record.engine, 'pytorch');
	assert.equal(record.status, 'finished');
	assert.equal(record.step, 18);
	assert.equal(record.device, 'cpu (scripted)');
	assert.equal(record.versions.torch, '0.0');
	assert.deepEqual(record.rewards, [
		{ name: 'accuracy', weight: 1 },
		{ name: 'format', weight: 0.2 },
	]);
	assert.ok(Object.values(record.hashes).every((hash) => hash.length === 64));
	const metrics = await readMetrics(run);
	assert.deepEqual(
		metrics.map(({ step }) => step),
		Array.from({ length: 18 }, (_, i) => i + 1),
	);
	const accuracy = metrics.map(({ values }) => values['eval/heldout/accuracy']).filter((value) => value !== undefined);
	assert.ok((accuracy.at(-1) as number) > (accuracy[0] as number), `${accuracy}`);
	assert.deepEqual(
		(await readEvaluations(run)).map(({ step, problems }) => [step, problems]),
		[5, 6, 10, 15, 18].map((step) => [step, 30]),
	);
	assert.equal((await readdir(join(run, 'rollouts'))).length, 12);
	const first = JSON.parse(
		(await readFile(join(run, 'rollouts', 'step_000007.jsonl'), 'utf8')).split('\n')[0] as string,
	);
	assert.deepEqual(Object.keys(first.rewards), ['accuracy', 'format']);
	const types = (await readEvents(run)).map(({ type }) => type);
	for (const type of ['device', 'started', 'stage', 'checkpoint', 'stage-ended', 'finished']) {
		assert.ok(types.includes(type), type);
	}
	const last = (await listCheckpoints(run)).at(-1);
	assert.equal(last?.step, 18);
	const text = await readFile(join(last?.path as string, 'state.json'), 'utf8');
	const state = decodeOrThrow(torchCheckpointStateSchema, JSON.parse(text), 'state.json');
	assert.deepEqual(Object.keys(state.files), ['weights/skill.json']);
	assert.deepEqual(state.trainer, { cursor: 36, tokens: 180 });
	assert.deepEqual(await place.trainers(), []);
});

it('rollouts of a step are available before its metrics', async () => {
	const run = await place.prepare();
	const engine = place.start('--run', run);
	let over = false;
	const end = engine.exit.finally(() => {
		over = true;
	});
	const steps = new Set<number>();
	while (!over) {
		for (const { step, stage } of await readMetrics(run).catch(() => [])) {
			if (stage !== 'grpo' || steps.has(step)) continue;
			steps.add(step);
			await access(rolloutPath(run, step));
		}
		await new Promise(setImmediate);
	}
	assert.equal((await end).code, 0);
	assert.ok(steps.size >= 10, `${steps.size} steps were seen`);
});

it('a killed trainer is reported, and a resumed run ends as if uninterrupted', async () => {
	const run = await place.prepare();
	place.fault = 'SIGKILL@11';
	const exit = await place.run('--run', run);
	place.fault = '';
	assert.equal(exit.code, 2, exit.stderr);
	const record = await readRecord(run);
	assert.equal(record.status, 'crashed');
	assert.equal(record.error?.reason, 'unavailable');
	assert.match(record.error?.message ?? '', /killed after step 10.*SIGKILL/);
	assert.match(record.error?.action ?? '', /checkpoint at step 8/);
	const again = await place.run('--run', run, '--resume');
	assert.equal(again.code, 0, again.stderr);
	assert.equal((await readRecord(run)).attempt, 2);
	assert.deepEqual(await outcomeOf(run), await outcomeOf(await whole));
});

it('killing the driver also ends its trainer, and a resumed run ends as if uninterrupted', async () => {
	const run = await place.prepare();
	place.fault = 'hang@15';
	const engine = place.start('--run', run);
	await stepWritten(run, 14);
	place.fault = '';
	assert.equal((await place.trainers()).length, 1);
	engine.kill('SIGKILL');
	await engine.exit;
	await eventually(async () => (await place.trainers()).length === 0, 'the trainer exits');
	const again = await place.run('--run', run, '--resume');
	assert.equal(again.code, 0, again.stderr);
	assert.deepEqual(await outcomeOf(run), await outcomeOf(await whole));
});

it('a second SIGTERM ends the driver and the trainer immediately', async () => {
	const run = await place.prepare();
	place.fault = 'hang@3';
	const engine = place.start('--run', run);
	await stepWritten(run, 2);
	place.fault = '';
	engine.kill('SIGTERM');
	// Signals sent before the first one is handled coalesce, so keep sending.
	await eventually(async () => {
		engine.kill('SIGTERM');
		return engine.process.signalCode !== null;
	}, 'the driver exits');
	await eventually(async () => (await place.trainers()).length === 0, 'the trainer exits');
});

it('a run branched from another run owns a copy of the checkpoint, records its parent, and ends the same', async () => {
	const parent = await whole;
	const run = await place.prepare();
	const checkpoint = (await listCheckpoints(parent))[0];
	assert.equal(checkpoint?.step, 16);
	const exit = await place.run('--run', run, '--parent-checkpoint', checkpoint?.path as string);
	assert.equal(exit.code, 0, exit.stderr);
	const record = await readRecord(run);
	assert.deepEqual(record.parent, { run: (await readRecord(parent)).id, checkpoint: checkpoint?.path });
	assert.deepEqual(
		(await readMetrics(run)).map(({ step }) => step),
		[17, 18],
	);
	assert.equal((await listCheckpoints(run)).at(-1)?.step, 18);
	assert.equal((await outcomeOf(run)).skill, (await outcomeOf(parent)).skill);
});

it('a damaged checkpoint, a changed recipe and a different engine are rejected', async () => {
	const run = await place.prepare();
	place.fault = 'raise@11';
	assert.equal((await place.run('--run', run)).code, 1);
	place.fault = '';
	const recipe = await readFile(join(run, 'recipe.json'), 'utf8');
	await writeFile(join(run, 'recipe.json'), recipe.replace('"seed": 7', '"seed": 8'));
	const changed = await place.run('--run', run, '--resume');
	assert.equal(changed.code, 2);
	assert.match(changed.stderr, /recipe.json.*has changed since the run started/);
	await writeFile(join(run, 'recipe.json'), recipe);
	const newest = (await listCheckpoints(run)).at(-1);
	const file = join(newest?.path as string, 'weights', 'skill.json');
	await writeFile(file, (await readFile(file, 'utf8')).replaceAll(/[1-9]/g, '0'));
	const damaged = await place.run('--run', run, '--resume');
	assert.equal(damaged.code, 2);
	assert.match(damaged.stderr, /is damaged: the content of weights\/skill.json does not match its hash/);
	const other = await place.prepare({ engine: 'embedded' });
	const refused = await place.run('--run', other);
	assert.equal(refused.code, 2);
	assert.match(refused.stderr, /does not contain a recipe for the pytorch or ray engine/);
	assert.deepEqual(await place.trainers(), []);
});
