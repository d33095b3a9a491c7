/** Tests real runs that stop making progress: an engine suspended by a signal, and a reward that never returns. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { diagnoseRun } from '../../src/runs/diagnoseRun.ts';
import { openRun } from '../../src/runs/openRun.ts';
import { readMetrics } from '../../src/runs/runReader.ts';
import { eventually, tinyRecipe, Workplace } from '../unit/engines/embedded/engineProcess.ts';

const longRecipe = {
	...tinyRecipe,
	stages: [{ type: 'grpo', steps: 100_000, num_generations: 4, prompts_per_step: 4, learning_rate: 1e-4 }],
	evaluate: { every: 100_000, problems: 8 },
	checkpoint: { every: 100_000, keep: 1 },
};
/** A stall is reported after a minute; allow several minutes on a busy machine. */
const patience = 300_000;

const stallsOf = async (folder: string) =>
	(await diagnoseRun(await openRun(folder))).alerts.filter(({ rule }) => rule === 'stalled').map(({ id }) => id);
const rowsOf = async (folder: string) => (await readMetrics(folder).catch(() => [])).length;

/** Returns the first reported stall, polling every ten seconds. */
async function stallOf(folder: string): Promise<string | undefined> {
	for (const end = Date.now() + patience; Date.now() < end; await setTimeout(10_000)) {
		const [stall] = await stallsOf(folder);
		if (stall !== undefined) return stall;
	}
	return undefined;
}

test('a suspended engine is reported as stalled until it continues', async () => {
	await using place = await Workplace.make();
	const folder = await place.prepare(longRecipe);
	const engine = place.start('--run', folder);
	await eventually(async () => (await rowsOf(folder)) > 30, 'rows');
	assert.deepEqual(await stallsOf(folder), []);
	engine.kill('SIGSTOP');
	try {
		assert.equal(await stallOf(folder), 'stalled:engine');
	} finally {
		engine.kill('SIGCONT');
	}
	const before = await rowsOf(folder);
	await eventually(async () => (await rowsOf(folder)) > before, 'a row is written after SIGCONT');
	assert.deepEqual(await stallsOf(folder), []);
});

test('a reward that never returns is reported while the engine still writes its heartbeat', async () => {
	await using place = await Workplace.make();
	await writeFile(
		join(place.folder, 'judge.reward.ts'),
		`let calls = 0;
export const judge = async () => {
	if (++calls > 400) await new Promise((resolve) => setTimeout(resolve, 1e8));
	return 1;
};
`,
	);
	const rewards = [{ use: 'accuracy' }, { file: 'judge.reward.ts', weight: 0.1 }];
	const folder = await place.prepare({ ...longRecipe, rewards, scoring: { batchSeconds: 3600 } });
	place.start('--run', folder);
	await eventually(async () => (await rowsOf(folder)) > 20, 'rows');
	assert.equal(await stallOf(folder), 'stalled');
});
