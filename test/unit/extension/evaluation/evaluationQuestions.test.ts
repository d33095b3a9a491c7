import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepareRun } from '../../../../src/runs/prepareRun.ts';
import { stepName } from '../../../../src/runs/runFiles.ts';
import { guessing } from '../../episodes/guessingEnvironment.ts';
import { folderFor } from '../../search/searchFixtures.ts';
import { viewOf } from '../fixtureRun.ts';
import { picks } from '../vscodeStandIn.ts';

const { answersOf, evaluationChoice, questionChoices } = await import(
	'../../../../src/extension/evaluation/evaluationQuestions.ts'
);

test('a policy that was trained on episodes is evaluated on them, with the limits of its recipe', async (context) => {
	const folder = await folderFor(context);
	await writeFile(join(folder, 'made.env.py'), guessing);
	await writeFile(
		join(folder, 'rows.jsonl'),
		Array.from({ length: 20 }, (_, i) => `{"prompt":"${i}","number":${i}}`).join('\n'),
	);
	const recipe = {
		...{ name: 'guess', dataset: { path: 'rows.jsonl' }, model: { layers: 1, width: 16, heads: 2 } },
		...{ environment: { file: 'made.env.py', maxTurns: 3, turnSeconds: 25 }, rewards: [{ use: 'environment' }] },
		stages: [{ type: 'grpo', steps: 1, learning_rate: 1e-3 }],
	};
	await writeFile(join(folder, 'guess.recipe.json'), JSON.stringify(recipe));
	const { folder: run } = await prepareRun(join(folder, 'guess.recipe.json'));
	const checkpoint = join(run, 'checkpoints', stepName(1));
	await mkdir(checkpoint, { recursive: true });
	await writeFile(join(checkpoint, 'model.safetensors'), 'weights');
	const files = [{ name: 'model.safetensors', bytes: 7 }];
	const manifest = { format: 1, step: 1, stage: 'grpo', score: null, time: 1, files };
	await writeFile(join(checkpoint, 'checkpoint.json'), JSON.stringify(manifest));
	const view = viewOf(run, 'finished', 1);
	const file = join(run, 'rewards/made.env.py');
	const episodes = ['--environment', file, '--turns', '3', '--timeout', '25'];

	const choice = (argument: unknown) => evaluationChoice(view, answersOf(argument));
	const own = await choice({ step: 1, samples: 2 });
	assert.deepEqual(own?.args, ['--run', run, '--samples', '2', ...episodes]);
	assert.equal(own?.environment?.file, file);
	const plain = await choice({ step: 1, dataset: '/w/sums.jsonl', episodes: false });
	assert.deepEqual([plain?.args, plain?.environment], [['--dataset', '/w/sums.jsonl'], null]);

	const first = (items: readonly unknown[]) => items[0];
	picks.push(first, first, (items) => items.at(-1));
	const asked = await choice(undefined);
	assert.deepEqual(asked?.args, ['--run', run, ...episodes, '--samples', '1']);
	assert.equal(asked?.checkpoint, checkpoint);
});

test('the evaluation choices indicate where only the first turn is sampled', () => {
	const environment = { server: 'http://localhost:8000', maxTurns: 4, turnSeconds: 10 };
	const played = questionChoices(environment);
	assert.deepEqual(played.map(({ label }) => label).slice(0, 3), [
		"$(play) Episodes on the run's held-out problems",
		'$(play) Episodes on rows of a file...',
		'$(file) A file...',
	]);
	assert.equal(played[0]?.description, 'in http://localhost:8000, scored by its reward');
	assert.ok(played.slice(2).every(({ description }) => description?.startsWith('first turn only; ')));
	const others = questionChoices(null);
	assert.equal(others[0]?.label, "$(database) The run's held-out problems");
	assert.ok(others.every(({ description, played: episodes }) => !description?.includes('first turn') && !episodes));
});
