import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readPipeline } from '../../../src/runs/pipeline/pipelineFolder.ts';
import { stopPipeline } from '../../../src/runs/pipeline/startPipeline.ts';
import { readRecord } from '../../../src/runs/runReader.ts';
import { eventually } from '../engines/embedded/engineProcess.ts';
import { cold, ended, made, PipelinePlace, rl, stageOf, states, stepsOf } from './pipelinePlace.ts';

/** Short stage without evaluations before its end. */
const quick = { ...rl, steps: 2, num_generations: 2 };
const attempts = async (folder: string, ...stages: string[]) =>
	Promise.all(stages.map(async (stage) => (await readRecord(join(folder, stage))).attempt));

test('only changed stages and the stages that depend on them are rerun, and old results are kept', async (context) => {
	const place = await PipelinePlace.make(context);
	const other = { ...cold, name: 'other', steps: 2 };
	const { folder, record } = await place.runHere([cold, quick, other]);
	assert.equal(record.status, 'finished');
	const before = made(record, 'rl');

	const same = await place.resumedHere(folder, { recipe: await place.write([quick, other, cold], { workers: 2 }) });
	assert.deepEqual(states(same), ['other finished', 'cold finished', 'rl finished']);
	assert.deepEqual(await attempts(folder, 'cold', 'rl', 'other'), [1, 1, 1]);
	assert.deepEqual(made(same, 'rl'), before);

	const recipe = await place.write([{ ...cold, seed: 5 }, quick, other]);
	const changed = await place.resumedHere(folder, { recipe });
	assert.deepEqual(states(changed), ['cold finished', 'rl finished', 'other finished']);
	assert.deepEqual(stageOf(changed, 'cold').kept, ['cold~1']);
	assert.deepEqual(stageOf(changed, 'rl').kept, ['rl~1']);
	assert.equal(stageOf(changed, 'other').kept, undefined);
	assert.notDeepEqual(made(changed, 'rl'), before);
	assert.ok((await readdir(folder)).includes('cold~1'));
	// Restoring the original recipe restores the original artifacts.
	const back = await place.resumedHere(folder, { recipe: await place.write([cold, quick, other]) });
	assert.deepEqual(made(back, 'rl'), before);
	assert.deepEqual(stageOf(back, 'rl').kept, ['rl~1', 'rl~2']);
});

test('a manually edited file is named, and accepted only on request', async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder, record } = await place.run([{ ...cold, steps: 2 }, quick]);
	const path = join(folder, 'cold', stageOf(record, 'cold').outputs[0]?.path ?? '', 'tokenizer.json');
	await writeFile(path, `${await readFile(path, 'utf8')}\n`);
	await assert.rejects(place.resume(folder), {
		reason: 'mismatch',
		message: /cold\/checkpoints\/step_000002, an output of the stage "cold", has changed\./,
		action: /--accept-changes/,
	});
	assert.deepEqual(await readPipeline(folder), record);
	const accepted = await place.resumed(folder, { acceptChanges: true });
	// The stage that reads the file restarts; here the engine detects that it does not match its checkpoint.
	assert.deepEqual(states(accepted), ['cold finished', 'rl failed']);
	assert.equal(stageOf(accepted, 'rl').error?.reason, 'corrupt');
	assert.deepEqual(stageOf(accepted, 'rl').kept, ['rl~1']);

	await rm(path);
	await assert.rejects(place.resumedHere(folder), { reason: 'mismatch' });
	await rm(join(folder, 'cold', 'checkpoints'), { recursive: true });
	await assert.rejects(place.resumedHere(folder), { reason: 'mismatch', message: /is missing/ });
	const remade = await place.resumedHere(folder, { acceptChanges: true });
	assert.deepEqual(states(remade), ['cold finished', 'rl finished']);
	assert.deepEqual(made(remade, 'rl'), made(record, 'rl'));
});

test('files used by later stages are checked before the first stage starts', async (context) => {
	const place = await PipelinePlace.make(context);
	const head = { name: 'head', type: 'reward-model', from: 'cold', steps: 1, learning_rate: 0.1 };
	const stages = [cold, { ...head, pairs: { path: 'gone.jsonl' } }];
	await assert.rejects(place.start(stages), {
		reason: 'missing',
		message: /^"stages\[1\]\.pairs\.path" in .*tiny\.recipe\.json refers to .*gone\.jsonl, which does not exist\.$/,
	});
	const model = { use: 'reward-model', path: 'nothing' };
	await assert.rejects(place.start([cold, { ...quick, rewards: [{ use: 'accuracy' }, model] }]), {
		reason: 'missing',
		message: /^"stages\[1\]\.rewards\[1\]\.path" in .* refers to .*nothing, which does not exist/,
	});
	assert.deepEqual(await readdir(place.folder).then((names) => names.includes('runs')), false);
});

test('only one runner at a time works on a folder; it saves a checkpoint when it stops, and can be resumed', async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder } = await place.start([{ ...cold, steps: 1_000_000 }, quick]);
	await eventually(async () => (await stepsOf(folder, 'cold')) > 1, 'the stage progresses');
	await assert.rejects(place.resume(folder), { reason: 'busy' });
	// A process that does not check first is rejected by the lock.
	const second = await place.runner(folder);
	assert.equal(second.code, 2);
	assert.match(second.output, /"reason":"busy".*is in use by process \d+/);
	await stopPipeline(folder);
	const stopped = await ended(folder);
	assert.deepEqual([stopped.status, ...states(stopped)], ['stopped', 'cold stopped', 'rl waiting']);
	const { step } = await readRecord(join(folder, 'cold'));
	const { record: resumed } = await place.resume(folder);
	assert.equal(resumed.attempt, 2);
	await eventually(async () => {
		const run = await readRecord(join(folder, 'cold'));
		return run.attempt === 2 && run.step > step;
	}, 'the stage continues');
	await stopPipeline(folder);
});

describe('a failing stage', () => {
	test('leaves the pipeline failed and later stages waiting, and a changed recipe resumes', async (context) => {
		const place = await PipelinePlace.make(context);
		const data = join(place.folder, 'labels.jsonl');
		await writeFile(data, '{"prompt":"x"}\n');
		const head = {
			name: 'head',
			type: 'value-model',
			from: 'cold',
			labels: { path: data },
			steps: 1,
			learning_rate: 0.1,
		};
		const short = { ...cold, steps: 2 };
		const { folder, record } = await place.runHere([short, head, { ...quick, from: 'head' }]);
		assert.deepEqual([record.status, ...states(record)], ['failed', 'cold finished', 'head failed', 'rl waiting']);
		assert.match(record.error?.message ?? '', /The stage "head" failed: /);
		const next = await place.resumedHere(folder, { recipe: await place.write([short, quick]) });
		assert.deepEqual([next.status, ...states(next)], ['finished', 'cold finished', 'rl finished']);
		assert.deepEqual(await attempts(folder, 'cold'), [1]);
	});

	test('reports that it kept no data', async (context) => {
		const place = await PipelinePlace.make(context);
		// An untrained policy solves no problems.
		const untrained = { ...cold, steps: 1, learning_rate: 0 };
		const search = { name: 'solve', type: 'search', from: 'cold', problems: 2, keep: 'correct', params: { n: 1 } };
		const { folder, record } = await place.runHere([untrained, search]);
		assert.deepEqual([record.status, ...states(record)], ['failed', 'cold finished', 'solve failed']);
		assert.match(record.error?.message ?? '', /"solve" kept no completions/);
		const all = await place.resumedHere(folder, { recipe: await place.write([untrained, { ...search, keep: 'all' }]) });
		assert.equal(all.status, 'finished', all.error?.message);
	});
});

test('rejection sampling that keeps nothing stops the pipeline, and a changed recipe resumes from there', async (context) => {
	const place = await PipelinePlace.make(context);
	const untrained = { ...cold, steps: 1, learning_rate: 0 };
	const keep = { name: 'keep', type: 'rejection-sampling', from: 'cold', problems: 2, num_generations: 1 };
	const again = { ...cold, name: 'again', from: 'cold', data: { stage: 'keep' }, steps: 1 };
	const { folder, record } = await place.runHere([untrained, { ...keep, keep: { minReward: 1e6 } }, again]);
	assert.deepEqual([record.status, ...states(record)], ['failed', 'cold finished', 'keep failed', 'again waiting']);
	assert.match(record.error?.message ?? '', /kept none of 2 completions/);
	const next = await place.resumedHere(folder, {
		recipe: await place.write([untrained, { ...keep, keep: { correct: false } }]),
	});
	assert.equal(next.status, 'finished', next.error?.message);
	assert.deepEqual(stageOf(next, 'keep').kept, ['keep~1']);
	assert.equal(stageOf(next, 'cold').kept, undefined);
});

test('hostile folders are rejected', async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder, record } = await place.runHere([{ ...cold, steps: 1 }]);
	const path = join(folder, 'pipeline.json');
	const elsewhere = await mkdtemp(join(tmpdir(), 'rp-else-'));
	context.after(() => rm(elsewhere, { recursive: true, force: true }));
	const refused = async (value: unknown, reason: string) => {
		await writeFile(path, JSON.stringify(value));
		await assert.rejects(readPipeline(folder), { reason });
	};
	const [stage] = record.stages;
	await refused({ ...record, stages: [{ ...stage, name: '../x' }] }, 'invalid');
	await refused({ ...record, stages: [{ ...stage, outputs: [{ ...stage?.outputs[0], path: '../../x' }] }] }, 'invalid');
	await refused({ ...record, stages: [stage, stage] }, 'invalid');
	await refused({ ...record, format: 2 }, 'version');
	await writeFile(path, JSON.stringify(record));
	await truncate(path, 40);
	await assert.rejects(readPipeline(folder), { reason: 'corrupt' });
	await rm(path);
	await symlink(join(elsewhere, 'pipeline.json'), path);
	await assert.rejects(readPipeline(folder), { reason: 'invalid' });
	await rm(path);
	await writeFile(path, JSON.stringify(record));
	await rm(join(folder, 'pipeline.log'), { force: true });
	await symlink(join(elsewhere, 'log'), join(folder, 'pipeline.log'));
	await assert.rejects(place.resume(folder), { reason: 'invalid', message: /neither a file nor a folder/ });
	assert.deepEqual(await readdir(elsewhere), []);
});
