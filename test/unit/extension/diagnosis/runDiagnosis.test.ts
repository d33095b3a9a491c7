import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { access, appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { Sequencer } from '../../../../src/base/async.ts';
import { Emitter } from '../../../../src/base/event.ts';
import type { RunView } from '../../../../src/extension/runView.ts';
import { formatLine } from '../../../../src/files/jsonLines.ts';
import type { MetricsLine } from '../../../../src/protocol/metricsLine.ts';
import { root } from '../../../scripts/paths.ts';
import { but, healthy, rows } from '../../core/diagnosis/syntheticRun.ts';
import { writeRecord } from '../fixtureRun.ts';
import { configured } from '../vscodeStandIn.ts';

const temporary = await mkdtemp(join(tmpdir(), 'run-diagnosis-'));
process.env.REASONING_LAB_HOME = join(temporary, 'home');
after(() => rm(temporary, { recursive: true, force: true }));

const { RunDiagnosis } = await import('../../../../src/extension/diagnosis/runDiagnosis.ts');
const { DiagnosisWatch } = await import('../../../../src/extension/diagnosis/diagnosisWatch.ts');
const { dashboardAlertsOf } = await import('../../../../src/extension/diagnosis/dashboardAlerts.ts');

const started: { dispose(): void }[] = [];
afterEach(() => {
	for (const one of started.splice(0)) one.dispose();
	configured.clear();
});
let runs = 0;
const newRun = () => join(temporary, `run${runs++}`);

const text = (lines: readonly MetricsLine[]) =>
	lines.map(({ step, time, stage, values }) => formatLine({ step, time, stage, ...values })).join('');
/** Record fields of a run whose engine appears to be running. */
const live = () => ({ status: 'running', heartbeat: Date.now() / 1000 + 3600 }) as const;
const cutOff = but(() => ({ 'completions/clipped_ratio': 0.5 }));

function diagnose(folder: string) {
	const warned: string[] = [];
	const diagnosis = new RunDiagnosis(folder, {
		turns: new Sequencer(),
		warn: (message) => warned.push(message),
		restMs: 30,
		pollMs: 30,
	});
	started.push(diagnosis);
	return { diagnosis, warned };
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
	const end = Date.now() + 20_000;
	while (!(await holds())) {
		if (Date.now() > end) assert.fail(`Timed out waiting for: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}

const idsOf = ({ state }: InstanceType<typeof RunDiagnosis>) => state.alerts.map(({ alert }) => alert.id);
const logOf = (folder: string) => readFile(join(folder, 'annotations/alerts.jsonl'), 'utf8').catch(() => '');

describe('run diagnosis in the editor', () => {
	it('scans an ended run, stores the findings, and reads only those next time', async () => {
		const folder = newRun();
		await writeRecord(folder, { step: 60 });
		await writeFile(join(folder, 'metrics.jsonl'), text(rows(60, cutOff)));
		const { diagnosis, warned } = diagnose(folder);
		await until('ready', () => diagnosis.state.phase === 'ready');
		assert.deepEqual(idsOf(diagnosis), ['overlong']);
		assert.ok(diagnosis.state.alerts[0]?.holds);
		await until('the stored findings', async () => (await logOf(folder)).includes('"diagnosed"'));
		assert.deepEqual(warned, []);
		// Delete the data to check that the stored file is enough.
		await rm(join(folder, 'metrics.jsonl'));
		const again = diagnose(folder).diagnosis;
		await until('ready again', () => again.state.phase === 'ready');
		assert.deepEqual(idsOf(again), ['overlong']);
		assert.ok(again.state.alerts[0]?.holds);
	});

	it('follows a live run through its end and resume', async () => {
		const folder = newRun();
		await writeRecord(folder, live());
		await writeFile(join(folder, 'metrics.jsonl'), text(rows(40, healthy)));
		const { diagnosis } = diagnose(folder);
		await until('ready', () => diagnosis.state.phase === 'ready');
		assert.deepEqual(idsOf(diagnosis), []);
		assert.ok(diagnosis.live);
		await appendFile(join(folder, 'metrics.jsonl'), text(rows(30, cutOff, { from: 41 })));
		await until('an alert', () => idsOf(diagnosis).length > 0);
		assert.deepEqual(idsOf(diagnosis), ['overlong']);
		assert.ok(!(await logOf(folder)).includes('"diagnosed"'));
		await appendFile(join(folder, 'metrics.jsonl'), text(rows(40, healthy, { from: 71 })));
		await until('the end of the alert', () => diagnosis.state.alerts[0]?.holds === false);
		await writeRecord(folder, { step: 110 });
		await until('the complete log', async () => (await logOf(folder)).includes('"diagnosed"'));
		// Resumed from a checkpoint before the first finding.
		await writeFile(join(folder, 'metrics.jsonl'), text(rows(40, healthy)));
		await writeRecord(folder, { ...live(), attempt: 2 });
		await until('a restarted diagnosis', () => diagnosis.live && idsOf(diagnosis).length === 0);
		assert.match(await logOf(folder), /"type":"begin"/);
	});

	it('follows nothing if disposed as soon as it is ready', async () => {
		const folder = newRun();
		await writeRecord(folder, live());
		await writeFile(join(folder, 'metrics.jsonl'), text(rows(40, healthy)));
		const { diagnosis } = diagnose(folder);
		let ready = false;
		diagnosis.onDidChange(() => {
			if (diagnosis.state.phase !== 'ready') return;
			ready = true;
			diagnosis.dispose();
		});
		await until('ready', () => ready);
		const { diagnosis: other } = diagnose(folder);
		await until('the other diagnosis to be ready', () => other.state.phase === 'ready');
		await writeRecord(folder, { ...live(), step: 77 });
		await until('the other diagnosis to see the change', () => other.record?.step === 77);
		await new Promise((resolve) => setTimeout(resolve, 200));
		assert.notEqual(diagnosis.record?.step, 77);
	});

	it('shares dismissed findings between windows', async () => {
		const folder = newRun();
		await writeRecord(folder, { step: 60 });
		await writeFile(join(folder, 'metrics.jsonl'), text(rows(60, cutOff)));
		const { diagnosis } = diagnose(folder);
		await until('ready', () => diagnosis.state.phase === 'ready');
		await diagnosis.dismiss('overlong', true);
		assert.ok(diagnosis.state.alerts[0]?.dismissed);
		const other = diagnose(folder).diagnosis;
		await until('ready', () => other.state.phase === 'ready');
		assert.ok(other.state.alerts[0]?.dismissed);
		await other.dismiss('overlong', false);
		assert.ok(!other.state.alerts[0]?.dismissed);
	});

	it('writes nothing to the folders of other trainers', async () => {
		const folder = newRun();
		await cp(join(root, 'test/fixtures/trl-run'), folder, { recursive: true });
		const { diagnosis, warned } = diagnose(folder);
		await until('ready', () => diagnosis.state.phase === 'ready' && idsOf(diagnosis).length > 0);
		assert.deepEqual(idsOf(diagnosis), ['overlong']);
		await assert.rejects(access(join(folder, 'annotations')));
		assert.deepEqual(warned, []);
	});

	it('shows findings even where they cannot be stored, and waits for a run that does not exist yet', async () => {
		const folder = newRun();
		const { diagnosis, warned } = diagnose(folder);
		await mkdir(folder);
		await writeFile(join(folder, 'annotations'), 'a file in place of the folder');
		await writeFile(join(folder, 'metrics.jsonl'), text(rows(60, cutOff)));
		await writeRecord(folder, { step: 60 });
		await until('ready', () => diagnosis.state.phase === 'ready' && idsOf(diagnosis).length > 0);
		assert.deepEqual(idsOf(diagnosis), ['overlong']);
		assert.ok(warned.length > 0);
	});

	it('reports that a run is too short to diagnose, even from its log', async () => {
		const folder = newRun();
		await writeRecord(folder, { step: 6 });
		await writeFile(join(folder, 'metrics.jsonl'), text(rows(6, () => ({ reward: 0, reward_std: 0 }))));
		for (let i = 0; i < 2; i++) {
			const { diagnosis } = diagnose(folder);
			await until('ready', () => diagnosis.state.phase === 'ready');
			assert.deepEqual(dashboardAlertsOf(diagnosis.state).summary, {
				kind: 'short',
				text: 'Too few batches to diagnose (6 of 20).',
			});
		}
	});

	it('limits the size of lines for the dashboard', () => {
		const alert = {
			id: 'x'.repeat(9000),
			rule: 'overlong',
			level: 'warning',
			step: 1,
			lastStep: 2,
			time: 3,
			message: `a\u202eb\n${'m'.repeat(5000)}`,
			action: null,
			metrics: [],
			evidence: [],
			recipe: { path: ['stages', 1, 'temperature'], suggestion: 'more' },
		} as const;
		const shown = dashboardAlertsOf({
			phase: 'ready',
			alerts: [
				{
					alert: {
						...alert,
						metrics: [],
						evidence: [],
						recipe: { path: ['stages', 1, 'temperature'], suggestion: 'more' },
					},
					holds: true,
					dismissed: false,
				},
			],
			extent: { batches: 40, unsampled: 0 },
		}).alerts[0];
		assert.ok(shown && shown.message.length <= 1000 && shown.message.startsWith('a b'));
		assert.equal(shown.title, 'Overlong completions');
		assert.equal(shown.recipe?.key, 'stages[1].temperature');
	});
});

describe('live run monitoring', () => {
	function openWindow(storage: string, folder: string, status: RunView['status'] = 'running') {
		const changed = new Emitter<void>();
		const shown: { level: string; text: string; actions: string[] }[] = [];
		const notice =
			(level: string) =>
			async (words: string, actions: readonly { title: string }[] = []) => {
				shown.push({ level, text: words, actions: actions.map(({ title }) => title) });
			};
		let views = [{ folder, status, record: { id: 'r', name: 'sums' } } as unknown as RunView];
		const watch = new DiagnosisWatch({
			store: {
				get own() {
					return views;
				},
				get: () => views[0],
				onDidChange: changed.event,
			},
			notices: { information: notice('information'), warning: notice('warning') },
			storage: { fsPath: storage } as never,
			log: { warn: () => undefined } as never,
			openDashboard: () => undefined,
			openRollouts: () => undefined,
		});
		started.push(watch);
		const set = (next: RunView['status']) => {
			views = views.map((view) => ({ ...view, status: next }));
			changed.fire();
		};
		return { watch, shown, see: () => changed.fire(), set };
	}

	const withTrouble = async () => {
		const folder = newRun();
		await writeRecord(folder, live());
		await writeFile(join(folder, 'metrics.jsonl'), text(rows(60, cutOff)));
		return folder;
	};
	const pause = () => new Promise((resolve) => setTimeout(resolve, 300));

	it('reports each finding once, in one window, across reloads', async () => {
		const folder = await withTrouble();
		const storage = newRun();
		const first = openWindow(storage, folder);
		first.see();
		await until('a notification', () => first.shown.length > 0);
		assert.match(
			first.shown[0]?.text ?? '',
			/^sums: likely cause: completions truncated\. 50% of the completions .*truncated/,
		);
		assert.deepEqual(first.shown[0]?.actions, ['Open Dashboard']);
		assert.equal(first.shown[0]?.level, 'information');
		first.see();
		const second = openWindow(storage, folder);
		second.see();
		await pause();
		assert.equal(first.shown.length, 1);
		assert.equal(second.shown.length, 0);
		first.watch.dispose();
		const reloaded = openWindow(storage, folder);
		reloaded.see();
		await pause();
		assert.equal(reloaded.shown.length, 0);
	});

	it('ignores ended runs and respects disabled notifications and a disabled monitor', async () => {
		const folder = await withTrouble();
		const ended = openWindow(newRun(), folder, 'finished');
		ended.see();
		configured.set('reasoningLab.notifications.alerts', false);
		const quiet = openWindow(newRun(), folder);
		quiet.see();
		await until('the stored findings', async () => (await logOf(folder)).includes('overlong'));
		await pause();
		assert.deepEqual([ended.shown, quiet.shown], [[], []]);
		quiet.watch.dispose();
		await rm(join(folder, 'annotations'), { recursive: true });
		configured.set('reasoningLab.diagnosis.enabled', false);
		const off = openWindow(newRun(), folder);
		off.see();
		assert.equal(await off.watch.diagnoses(), null);
		await pause();
		assert.equal(await logOf(folder), '');
	});

	it('diagnoses a run once for all its viewers, then releases it', async () => {
		const folder = await withTrouble();
		const { watch } = openWindow(newRun(), folder);
		const diagnoses = await watch.diagnoses();
		const [one, other] = [diagnoses?.lease(folder), diagnoses?.lease(folder)];
		assert.ok(one && other && one.diagnosis === other.diagnosis);
		one.dispose();
		one.dispose();
		assert.ok(!other.diagnosis.disposed);
		other.dispose();
		assert.ok(other.diagnosis.disposed);
		assert.notEqual(diagnoses?.lease(folder).diagnosis, one.diagnosis);
	});
});
