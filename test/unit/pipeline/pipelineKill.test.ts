import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pipelineStatus, readPipeline } from '../../../src/runs/pipeline/pipelineFolder.ts';
import { readRecord } from '../../../src/runs/runReader.ts';
import { eventually } from '../engines/embedded/engineProcess.ts';
import { cold, ended, kill, made, PipelinePlace, rl, stageOf, states, stepsOf } from './pipelinePlace.ts';

const stages = [
	{ ...cold, steps: 12 },
	{ ...rl, steps: 12 },
	{ name: 'solve', type: 'search', from: 'rl', problems: 12, keep: 'all', params: { n: 2 }, searches: 2 },
	{ name: 'measure', type: 'evaluate', from: 'rl', problems: 6, samples: 4, concurrency: 1 },
];
const data = (folder: string) => readFile(join(folder, 'solve', 'data', 'completions.jsonl'), 'utf8');

test('killing the runner, alone or with its engine, leads to the same artifacts', async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder: whole, record: expected } = await place.runHere(stages);
	assert.equal(expected.status, 'finished', expected.error?.message);

	const { folder } = await place.start(stages);
	// Kill only the runner: its engine continues and is followed again after the restart.
	await eventually(async () => (await stepsOf(folder, 'cold')) >= 2, 'the first stage trains');
	await kill(await readPipeline(folder));
	assert.equal(await pipelineStatus(await readPipeline(folder)), 'crashed');
	// Simulates a kill during a write.
	await writeFile(join(folder, '.pipeline.json.71.0123abcd.tmp'), '{');
	let attempt = (await place.resume(folder)).record.attempt;
	// Kill runner and engine.
	await eventually(async () => (await stepsOf(folder, 'rl')) >= 2, 'the second stage trains');
	await kill(await readPipeline(folder));
	await kill(await readRecord(join(folder, 'rl')));
	attempt = (await place.resume(folder)).record.attempt;
	// Kill during a search.
	await eventually(
		async () => (stageOf(await readPipeline(folder), 'solve').progress?.done ?? 0) >= 1,
		'the search starts',
	);
	await kill(await readPipeline(folder));
	attempt = (await place.resume(folder)).record.attempt;
	// Kill during an evaluation.
	await eventually(
		async () => (stageOf(await readPipeline(folder), 'measure').progress?.done ?? 0) >= 1,
		'the evaluation starts',
	);
	await kill(await readPipeline(folder));
	attempt = (await place.resume(folder)).record.attempt;
	assert.equal(attempt, 5);

	const record = await ended(folder, attempt);
	assert.deepEqual(
		(await readdir(folder)).filter((name) => name.endsWith('.tmp')),
		[],
	);
	assert.deepEqual(states(record), states(expected), record.error?.message);
	for (const { name } of stages) assert.deepEqual(made(record, name), made(expected, name), name);
	assert.equal(await data(folder), await data(whole));
	// The engine was never killed, so no second one was started.
	assert.equal((await readRecord(join(folder, 'cold'))).attempt, 1);
});
