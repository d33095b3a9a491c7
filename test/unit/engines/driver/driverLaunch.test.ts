import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { listCheckpoints, readRecord } from '../../../../src/runs/runReader.ts';
import { Workplace } from '../../cli/cliFixtures.ts';
import { ScriptedPlace, scriptedRecipe } from './driverPlace.ts';

it('the CLI launches the program the recipe requests: run, resume, branch, and rejected commands', async (context) => {
	const place = await ScriptedPlace.make();
	context.after(() => place[Symbol.asyncDispose]());
	Object.assign(process.env, place.environment);
	const work = await Workplace.make(context);
	await work.write('scripted.recipe.json', scriptedRecipe);

	const first = await work.run(context, 'run', 'scripted.recipe.json', '--json');
	assert.equal(first.status, 0, first.stderr);
	const runs = join(work.folder, 'runs');
	const [name] = await readdir(runs);
	const run = join(runs, name as string);
	assert.deepEqual([(await readRecord(run)).engine, (await readRecord(run)).status], ['pytorch', 'finished']);

	const branch = await work.run(context, 'resume', run, '--checkpoint', '16', '--json');
	assert.equal(branch.status, 0, branch.stderr);
	const child = join(runs, (await readdir(runs)).find((other) => other !== name) as string);
	const record = await readRecord(child);
	assert.deepEqual([record.engine, record.status, record.parent?.run], ['pytorch', 'finished', name]);

	const checkpoint = (await listCheckpoints(run)).at(-1)?.path as string;
	const onnx = await work.run(context, 'export-onnx', checkpoint);
	assert.equal(onnx.status, 2);
	assert.match(onnx.stderr, /is a PyTorch checkpoint/);
	// The embedded engine cannot start from this checkpoint and reports that.
	const other = await work.run(
		context,
		'run',
		'scripted.recipe.json',
		'--set',
		'engine="embedded"',
		'--set',
		`model={"path":${JSON.stringify(checkpoint)}}`,
	);
	assert.notEqual(other.status, 0);
	assert.match(other.stderr, /pytorch/i);
});
