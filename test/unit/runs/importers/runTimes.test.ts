import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { elapsedSeconds } from '../../../../src/protocol/runElapsed.ts';
import { runTimes } from '../../../../src/runs/importers/runTimes.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { fixtureFolder, fixtures } from './foreignFixtures.ts';
import { writeFiles } from './madeRun.ts';

const every = (seconds: number, count: number, from = 1000) =>
	Array.from({ length: count }, (_, i) => from + i * seconds);
const none = { recorded: [], latest: null, written: [], steps: [], flushSeconds: 0, now: 0 };

async function folderOf(context: TestContext): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'times-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

describe('timestamps of an external run', () => {
	it('come from its rows, however its files were copied', () => {
		const recorded = every(10, 9);
		const copied = { ...none, recorded, written: every(0, 9, 5000), steps: every(0.01, 4, 5000), now: 5001 };
		assert.deepEqual(runTimes(copied), { created: 1000, updated: 1080, working: false });
		assert.equal(runTimes({ ...copied, now: 1139 }).working, true, 'within six steps of 10 s');
		assert.equal(runTimes({ ...copied, now: 1141 }).working, false);
		assert.equal(runTimes({ ...copied, now: 1141, flushSeconds: 150 }).working, true, 'rows may still be buffered');
	});

	it('come from its files if nothing is recorded, unless all were written at the same time', () => {
		const live = { ...none, written: [1000, ...every(20, 4, 1100)], steps: every(20, 4, 1100), now: 1200 };
		assert.deepEqual(runTimes(live), { created: 1000, updated: 1160, working: true });
		assert.equal(runTimes({ ...live, now: 1281 }).working, false, 'six times 20 s have passed');
		const copy = { ...none, written: every(0.01, 5, 1100), steps: every(0.01, 4, 1100), now: 1100.1 };
		const { created, updated, working } = runTimes(copy);
		assert.deepEqual([created, working], [updated, false]);
		assert.equal(
			elapsedSeconds({ created, updated, live: false, foreign: true }, 2000),
			null,
			'unknown rather than 0 s',
		);
		assert.equal(
			runTimes({ ...none, written: [1100], steps: [1100], now: 1101 }).working,
			false,
			'one step is not enough to know the pace',
		);
	});

	for (const { name } of fixtures) {
		it(`a fresh copy of ${name} counts as finished`, async (context) => {
			const folder = join(await folderOf(context), 'copy');
			await cp(fixtureFolder(name), folder, { recursive: true });
			const record = await (await openRun(folder)).record();
			assert.equal(record.status, 'finished');
			assert.ok(record.updated >= record.created);
		});
	}

	it('a run with files written a step apart, the last one just now, counts as running until its last step', async (context) => {
		const folder = await folderOf(context);
		const row = (step: number) => [{ input: 'p', output: 'c', score: 1, step }];
		const steps = [1, 2, 3, 4];
		await writeFiles(folder, Object.fromEntries(steps.map((step) => [`${step}.jsonl`, row(step)])));
		const now = Date.now() / 1000;
		const age = async (last: number) => {
			for (const step of steps) {
				const time = now - last - (4 - step) * 60;
				await utimes(join(folder, `${step}.jsonl`), time, time);
			}
			return (await openRun(folder)).record();
		};
		const running = await age(5);
		assert.equal(running.status, 'running');
		const span = { ...running, live: true, foreign: true };
		assert.equal(Math.round(elapsedSeconds(span, now + 1000) ?? -1), 180, 'until the last update, not until now');
		assert.equal((await age(361)).status, 'finished');
	});
});
