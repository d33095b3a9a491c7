import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { listCheckpoints, readRecord } from '../../../src/runs/runReader.ts';
import { objects, tinyRecipe, Workplace } from './cliFixtures.ts';

/** Generous timeout that only ends the test if something hangs. */
const limit = { timeout: 180_000 };

const [sft] = tinyRecipe.stages;
const story = {
	...tinyRecipe,
	name: 'story',
	stages: [
		{ ...sft, name: 'cold' },
		{ name: 'measure', type: 'evaluate', from: 'cold', problems: 4 },
	],
};

test('a recipe with named stages runs as a pipeline, is shown, and cannot run twice', limit, async (context) => {
	const place = await Workplace.make(context);
	await place.write('story.recipe.json', story);
	const ran = await place.run(context, 'run', 'story.recipe.json', '--json', '--seed', '4');
	assert.equal(ran.status, 0, ran.stderr);
	const lines = objects(ran.stdout);
	assert.equal(lines[0]?.kind, 'started');
	assert.equal(lines.at(-1)?.kind, 'ended');
	assert.equal(lines.at(-1)?.status, 'finished');
	const events = lines.filter(({ kind }) => kind === 'stage').map(({ name, status }) => `${name} ${status}`);
	for (const event of ['cold finished', 'measure finished']) assert.ok(events.includes(event), events.join());
	const folder = String(lines[0]?.folder);
	assert.equal((await readRecord(join(folder, 'cold'))).seeds.recipe, 4);

	const status = await place.call('pipeline', 'status');
	assert.match(status.stdout, /story: finished {2}.*\n.*\ncold +sft +finished +3\/3/);
	assert.match(status.stdout, /measure +evaluate +finished +\d+\/\d+ +[01]\.\d{3}/);
	const [{ pipelines }] = objects((await place.call('pipeline', 'status', 'story', '--json')).stdout) as [
		{ pipelines: { folder: string; stages: { name: string; done: number }[] }[] },
	];
	assert.deepEqual(
		pipelines.map((one) => [one.folder, one.stages.map(({ name, done }) => [name, done > 0])]),
		[
			[
				folder,
				[
					['cold', true],
					['measure', true],
				],
			],
		],
	);
	// Its stages are ordinary runs.
	assert.match((await place.call('status')).stdout, /story-cold +finished +sft +3\/3/);

	const again = await place.call('pipeline', 'resume', 'story');
	assert.equal(again.status, 0, again.stderr);
	assert.doesNotMatch(again.stdout, /runs$/m);
	assert.equal((await readRecord(join(folder, 'cold'))).attempt, 1);
	const stopped = await place.call('pipeline', 'stop', folder);
	assert.match(stopped.stdout, /is not running \(status: finished\)/);
});

test('Ctrl+C stops the running stage with a checkpoint, and resuming continues it', limit, async (context) => {
	const place = await Workplace.make(context);
	const long = { ...story, stages: [{ ...sft, name: 'cold', steps: 1_000_000 }], checkpoint: { every: 1_000_000 } };
	await place.write('story.recipe.json', long);
	const { process: child, ended } = place.start(context, 'run', 'story.recipe.json');
	const name = await until(async () => (await readdir(join(place.folder, 'runs')))[0] ?? null);
	const folder = join(place.folder, 'runs', name);
	await until(async () => ((await readRecord(join(folder, 'cold'))).step > 2 ? true : null));
	child.kill('SIGINT');
	const { status, stdout, stderr } = await ended;
	assert.equal(status, 0, stderr);
	assert.match(stdout, /Saving checkpoints and stopping the running stages/);
	assert.match(stdout, /cold stopped at \d+\/1000000/);
	const record = await readRecord(join(folder, 'cold'));
	assert.equal((await listCheckpoints(join(folder, 'cold'))).at(-1)?.step, record.step);

	const detached = await place.run(context, 'pipeline', 'resume', folder, '--detach');
	assert.equal(detached.status, 0, detached.stderr);
	const busy = await place.call('pipeline', 'resume', folder);
	assert.equal(busy.status, 2);
	assert.match(busy.stderr, /is running \(process \d+\)/);
	await until(async () => ((await readRecord(join(folder, 'cold'))).attempt === 2 ? true : null));
	const stop = await place.call('pipeline', 'stop', folder, '--json');
	assert.deepEqual(objects(stop.stdout), [{ folder, status: 'stopped' }]);
});

test('errors are reported before anything is created', limit, async (context) => {
	const place = await Workplace.make(context);
	const refused = async (pattern: RegExp, ...args: string[]) => {
		const { status, stderr } = await place.call(...args);
		assert.equal(status, 2, stderr);
		assert.match(stderr, pattern);
	};
	await place.write('story.recipe.json', { ...story, stages: [{ ...sft, name: 'cold', from: 'warm' }] });
	await refused(
		/line \d+, column \d+: "from" references the stage "warm", which does not exist/,
		'run',
		'story.recipe.json',
	);
	assert.deepEqual(await readdir(place.folder), ['story.recipe.json']);
	await refused(/Pipeline nothing not found/, 'pipeline', 'status', 'nothing');
	await refused(/action of reasoning-lab pipeline is "begin"/, 'pipeline', 'begin', 'x');
	await refused(/requires a pipeline/, 'pipeline', 'stop');
	await refused(/options are only for pipeline resume/, 'pipeline', 'stop', 'x', '--detach');
});

async function until<T>(look: () => Promise<T | null>): Promise<T> {
	const end = Date.now() + 60_000;
	for (;;) {
		const found = await look().catch(() => null);
		if (found !== null) return found;
		if (Date.now() > end) throw new Error(`Timed out after a minute: ${look}`);
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}
