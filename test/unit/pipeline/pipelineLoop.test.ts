import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cold, made, PipelinePlace, stageOf, states } from './pipelinePlace.ts';

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

test('a loop that fails during a round resumes to the same artifacts, and a longer loop only adds rounds', async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder: whole, record: expected } = await place.runHere(rounds(2));
	assert.equal(expected.status, 'finished', expected.error?.message);
	assert.deepEqual(
		states(expected),
		names.map((name) => `${name} finished`),
	);
	assert.deepEqual(stageOf(expected, 'learn-2').round, { of: 'learn', number: 2 });
	assert.equal(stageOf(expected, 'cold').round, undefined);
	// Each round searches different problems.
	assert.notDeepEqual(made(expected, 'solve-1'), made(expected, 'solve-2'));

	// An engine that cannot start in the second round. `npm run acceptance -- faults` kills processes of pipelines.
	const failing = await place.runHere(rounds(2), {}, { failing: 'learn-2' });
	assert.deepEqual(states(failing.record).slice(-2), ['solve-2 finished', 'learn-2 failed']);
	const record = await place.resumedHere(failing.folder);
	assert.deepEqual(states(record), states(expected), record.error?.message);
	for (const name of names) assert.deepEqual(made(record, name), made(expected, name), name);
	assert.equal(stageOf(record, 'solve-2').started, stageOf(failing.record, 'solve-2').started);

	const longer = await place.resumed(whole, { recipe: await place.write(rounds(3), {}, 'longer') });
	assert.equal(longer.status, 'finished', longer.error?.message);
	assert.deepEqual(states(longer).slice(-2), ['solve-3 finished', 'learn-3 finished']);
	for (const name of names) assert.equal(stageOf(longer, name).started, stageOf(expected, name).started, name);
});
