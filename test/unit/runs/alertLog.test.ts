import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Alert } from '../../../src/protocol/alert.ts';
import { AlertLog, alertsFile } from '../../../src/runs/alertLog.ts';

const alert = (id: string, more: Partial<Alert> = {}): Alert => ({
	id,
	rule: id,
	level: 'warning',
	step: 20,
	lastStep: 30,
	time: 1e9,
	message: 'It is so.',
	action: 'Do this.',
	metrics: ['kl'],
	evidence: [{ step: 20, group: 1, index: 2 }],
	recipe: { path: ['stages', 0, 'beta'], suggestion: 'more' },
	...more,
});

let folder = '';
beforeEach(async () => {
	folder = join(await mkdtemp(join(tmpdir(), 'alerts-')), 'annotations');
});
afterEach(() => rm(join(folder, '..'), { recursive: true, force: true }));

const lines = async () => (await readFile(join(folder, alertsFile), 'utf8')).trimEnd().split('\n');

const extent = { batches: 40, unsampled: 0 };

describe('the alert log', () => {
	it('is empty until there is an alert', async () => {
		const log = new AlertLog(folder);
		assert.deepEqual(await log.read(), { alerts: [], dismissed: new Set(), of: null, extent: null });
		await log.save([], 1, null, extent);
		await assert.rejects(lines());
	});

	it('appends only new alerts, whichever process wrote the others', async () => {
		const [one, other] = [new AlertLog(folder), new AlertLog(folder)];
		await one.save([alert('a')], 1, null, extent);
		await other.save([alert('a')], 2, null, extent);
		assert.equal((await lines()).length, 1);
		await other.save([alert('a', { lastStep: 40 }), alert('b')], 3, null, extent);
		assert.equal((await lines()).length, 3);
		const { alerts } = await one.read();
		assert.deepEqual(
			alerts.map(({ id, lastStep }) => [id, lastStep]),
			[
				['a', 40],
				['b', 30],
			],
		);
	});

	it('starts over when an alert is withdrawn, and remembers dismissed alerts', async () => {
		const log = new AlertLog(folder);
		await log.save([alert('a'), alert('b')], 1, null, extent);
		await log.dismiss('b', true, 2);
		await log.dismiss('b', true, 3);
		await log.save([alert('b')], 4, null, extent);
		const state = await new AlertLog(folder).read();
		assert.deepEqual(
			state.alerts.map(({ id }) => id),
			['b'],
		);
		assert.deepEqual(state.dismissed, new Set(['b']));
		await log.dismiss('b', false, 5);
		assert.deepEqual((await new AlertLog(folder).read()).dismissed, new Set());
		assert.equal((await lines()).filter((line) => line.includes('"dismissed"')).length, 1);
	});

	it('records the run state for which it is complete, until something is appended', async () => {
		const log = new AlertLog(folder);
		await log.save([], 1, 'run 1 480', extent);
		assert.equal((await new AlertLog(folder).read()).of, 'run 1 480');
		await log.save([], 2, 'run 1 480', extent);
		assert.equal((await lines()).length, 1);
		await log.save([alert('a')], 3, null, extent);
		assert.equal((await log.read()).of, null);
	});

	it('skips invalid lines, and continues after a partial line', async () => {
		await mkdir(folder);
		await appendFile(
			join(folder, alertsFile),
			'{"format":1,"time":1,"type":"alert","alert":{"id":5}}\nnot json\n{"format":9,"type":"begin"}\n{"format":1,"ti',
		);
		const log = new AlertLog(folder);
		await log.save([alert('a')], 1, null, extent);
		assert.deepEqual(
			(await new AlertLog(folder).read()).alerts.map(({ id }) => id),
			['a'],
		);
	});

	it('does not follow links', async () => {
		await mkdir(folder);
		const elsewhere = join(folder, '..', 'elsewhere');
		await symlink(elsewhere, join(folder, alertsFile));
		await assert.rejects(new AlertLog(folder).save([alert('a')], 1, null, extent), /not a regular file/);
		await assert.rejects(readFile(elsewhere));
	});
});
