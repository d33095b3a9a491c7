import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { readPipeline, readPipelineRecipe } from '../../../src/runs/pipeline/pipelineFolder.ts';
import { startPipelineAgain, stopPipeline } from '../../../src/runs/pipeline/startPipeline.ts';
import { trashPipeline } from '../../../src/runs/pipeline/trashPipeline.ts';
import { restoreRun } from '../../../src/runs/runActions.ts';
import { eventually } from '../engines/embedded/engineProcess.ts';
import { cold, ended, PipelinePlace, states } from './pipelinePlace.ts';

const busyIsNull = (error: unknown): null => {
	assert.equal(Failure.from(error).reason, 'busy');
	return null;
};

const limit = { timeout: 180_000 };

test('an idle pipeline can be trashed, restored, and started again in a new folder', limit, async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder } = await place.start([{ ...cold, steps: 400 }]);
	await assert.rejects(trashPipeline(folder), { reason: 'busy' });
	await stopPipeline(folder);
	await ended(folder);
	// The runner may still be removing its lock.
	const { path, runs } = await eventually(
		() => trashPipeline(folder).catch(busyIsNull),
		'the pipeline is moved to the trash',
	);
	assert.deepEqual(await readdir(join(place.folder, 'runs')), ['.trash']);
	assert.deepEqual(
		runs.map((run) => basename(run)),
		['cold'],
	);
	assert.equal(await restoreRun(path), folder);
	assert.deepEqual(states(await readPipeline(folder)), ['cold stopped']);

	const again = await startPipelineAgain(folder, place.options);
	assert.notEqual(again.folder, folder);
	assert.deepEqual(await readPipelineRecipe(again.folder), await readPipelineRecipe(folder));
	await stopPipeline(again.folder);
	await ended(again.folder);
	assert.ok((await stat(folder)).isDirectory());
});
