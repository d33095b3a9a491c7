import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { formatLine } from '../../../src/files/jsonLines.ts';
import { diagnoseRun } from '../../../src/runs/diagnoseRun.ts';
import { openRun } from '../../../src/runs/openRun.ts';
import { healthy, rows } from '../core/diagnosis/syntheticRun.ts';
import { writeRecord } from '../extension/fixtureRun.ts';

const temporary = await mkdtemp(join(tmpdir(), 'look-at-run-'));
process.env.REASONING_LAB_HOME = join(temporary, 'home');
after(() => rm(temporary, { recursive: true, force: true }));

it('one check detects that an engine writes heartbeats but no rows, unless the run was paused meanwhile', async () => {
	const now = Date.now() / 1000;
	const folder = join(temporary, 'run');
	const ids = async () => (await diagnoseRun(await openRun(folder))).alerts.map(({ id }) => id);
	await writeRecord(folder, { status: 'running', heartbeat: now });
	const lines = rows(40, healthy).map((line, i) => ({ ...line, time: now - 640 + i }));
	await writeFile(
		join(folder, 'metrics.jsonl'),
		lines.map(({ step, time, stage, values }) => formatLine({ step, time, stage, ...values })).join(''),
	);
	assert.deepEqual(await ids(), ['stalled']);
	const events = ['paused', 'continued'].map((type, i) => formatLine({ time: now - 300 + 290 * i, step: 40, type }));
	await writeFile(join(folder, 'events.jsonl'), events.join(''));
	assert.deepEqual(await ids(), []);
	await rm(join(folder, 'events.jsonl'));
	await writeRecord(folder, { status: 'paused', heartbeat: now });
	assert.deepEqual(await ids(), []);
	await writeRecord(folder, { status: 'running', heartbeat: now - 500 });
	assert.deepEqual(await ids(), [], 'a silent engine on another machine has crashed');
});
