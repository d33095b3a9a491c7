import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { objects, tinyRecipe, Workplace } from './cliFixtures.ts';

test('a sweep bases its plan on the longest run, and checks all values first', async (context) => {
	const place = await Workplace.make(context);
	await place.write('tiny.recipe.json', JSON.stringify(tinyRecipe));
	const sweep = (...args: string[]) => place.call('sweep', 'tiny.recipe.json', '--dry-run', '--json', ...args);
	const varied = await sweep('--vary', 'stages.1.steps=10,100', '--seeds', '2', '--budget', '250');
	assert.equal(varied.status, 0, varied.stderr);
	const [plan] = objects(varied.stdout);
	assert.deepEqual(plan, { kind: 'plan', runs: 2, combinations: 4, rungs: [103], counts: [2], cost: 2 * 103 });
	const refused = await sweep('--vary', 'stages.1.steps=10,100', '--halving');
	assert.equal(refused.status, 2, refused.stdout);
	assert.match(refused.stderr, /runs of the same length/);
	const wrong = await sweep('--vary', 'stages.1.learning_rate=1e-4,fast');
	assert.equal(wrong.status, 2, wrong.stdout);
});

const recipe = {
	...tinyRecipe,
	checkpoint: { every: 5, keep: 2 },
	stages: [{ ...tinyRecipe.stages[0], steps: 40 }],
};
const options = [
	'--vary',
	'stages.0.learning_rate=1e-4,1e-3',
	'--halving',
	'--eta',
	'2',
	'--first',
	'20',
	'--metric',
	'loss',
];
interface Line {
	readonly kind: string;
	readonly folder?: string;
	readonly rung?: number;
	readonly label?: string;
	readonly results?: readonly { label: string; rung: number; score: number | null; status: string; folder: string }[];
}

test('a killed sweep continues where it stopped, and gives the same results as an uninterrupted one', {
	timeout: 180_000,
}, async (context) => {
	const place = await Workplace.make(context);
	await place.write('tiny.recipe.json', JSON.stringify(recipe));
	const whole = await place.run(context, 'sweep', 'tiny.recipe.json', '--json', ...options);
	assert.equal(whole.status, 0, whole.stderr);
	const resultsOf = (text: string) =>
		(objects(text) as unknown as Line[]).find(({ kind }) => kind === 'results')?.results ?? [];
	const expected = resultsOf(whole.stdout);
	assert.deepEqual(expected.map(({ rung }) => rung).sort(), [0, 1]);

	const { process: child, ended } = place.start(context, 'sweep', 'tiny.recipe.json', '--json', ...options);
	let seen = '';
	await new Promise<void>((resolve) => {
		child.stdout?.on('data', (text: string) => {
			seen += text;
			if (seen.includes('"kind":"run"')) resolve();
		});
	});
	// The first run has reached the rung, and the second one is starting. Its engine may outlive the sweep.
	child.kill('SIGKILL');
	await ended.catch(() => undefined);
	const lines = objects(seen) as unknown as Line[];
	const folder = String(lines.find(({ kind }) => kind === 'sweep')?.folder);
	const before = lines.find(({ kind }) => kind === 'run');
	const refused = await place.run(context, 'sweep', folder, '--seeds', '2');
	assert.match(refused.stderr, /Omit the options/);
	const again = await place.run(context, 'sweep', folder, '--json');
	assert.equal(again.status, 0, again.stderr);
	const comparable = (results: NonNullable<Line['results']>) =>
		results.map(({ label, rung, score, status }) => ({ label, rung, score, ...(rung === 1 ? { status } : {}) }));
	assert.deepEqual(comparable(resultsOf(again.stdout)), comparable(expected));
	// The first run was not trained again for the first rung.
	const repeated = (objects(again.stdout) as unknown as Line[]).filter(
		({ kind, rung }) => kind === 'run' && rung === 0,
	);
	assert.ok(!repeated.some(({ label }) => label === before?.label), JSON.stringify(repeated));

	// Nothing is left to do, and a changed recipe is rejected.
	const done = await place.run(context, 'sweep', folder, '--json');
	assert.equal(done.status, 0);
	assert.deepEqual(comparable(resultsOf(done.stdout)), comparable(expected));
	await place.write('tiny.recipe.json', JSON.stringify({ ...recipe, seed: 9 }));
	const changed = await place.run(context, 'sweep', folder);
	assert.equal(changed.status, 2);
	assert.match(changed.stderr, /has changed since the sweep was started/);
	await writeFile(join(folder, 'sweep.json'), '{"format":1,"recipe":"../../x"}');
	assert.match((await place.run(context, 'sweep', folder)).stderr, /sweep\.json/);
});
