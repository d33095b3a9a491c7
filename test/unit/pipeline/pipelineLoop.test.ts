import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPipeline } from '../../../src/runs/pipeline/pipelineFolder.ts';
import { readRecord } from '../../../src/runs/runReader.ts';
import { eventually } from '../engines/embedded/engineProcess.ts';
import { cold, ended, kill, made, PipelinePlace, stageOf, states, stepsOf } from './pipelinePlace.ts';

const rounds = (times: number) => [
	cold,
	{
		loop: 'round',
		times,
		stages: [
			{
				...{ name: 'solve', type: 'search', from: { previous: 'learn', first: 'cold' }, problems: 4, params: { n: 2 } },
				...{ keep: 'all', searches: 2 },
			},
			{
				...{ name: 'learn', type: 'sft', from: { previous: 'learn', first: 'cold' }, data: { stage: 'solve' } },
				...{ steps: 4, learning_rate: 1e-3, batch_size: 4 },
			},
		],
	},
];
const names = ['cold', 'solve-1', 'learn-1', 'solve-2', 'learn-2'];

test('a loop killed during a round resumes to the same artifacts, and a longer loop only adds rounds', async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder: whole, record: expected } = await place.run(rounds(2));
	assert.equal(expected.status, 'finished', expected.error?.message);
	assert.deepEqual(
		states(expected),
		names.map((name) => `${name} finished`),
	);
	assert.deepEqual(stageOf(expected, 'learn-2').round, { of: 'learn', number: 2 });
	assert.equal(stageOf(expected, 'cold').round, undefined);
	// Each round searches different problems.
	assert.notDeepEqual(made(expected, 'solve-1'), made(expected, 'solve-2'));

	const { folder } = await place.start(rounds(2));
	await eventually(async () => (await stepsOf(folder, 'learn-2')) >= 1, 'the second round trains');
	await kill(await readPipeline(folder));
	await kill(await readRecord(join(folder, 'learn-2')));
	const { attempt } = (await place.resume(folder)).record;
	const record = await ended(folder, attempt);
	assert.deepEqual(states(record), states(expected), record.error?.message);
	for (const name of names) assert.deepEqual(made(record, name), made(expected, name), name);

	const longer = await place.resumed(whole, { recipe: await place.write(rounds(3), {}, 'longer') });
	assert.equal(longer.status, 'finished', longer.error?.message);
	assert.deepEqual(states(longer).slice(-2), ['solve-3 finished', 'learn-3 finished']);
	for (const name of names) assert.equal(stageOf(longer, name).started, stageOf(expected, name).started, name);
});
