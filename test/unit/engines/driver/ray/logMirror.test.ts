import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { framePrefix, readFrame } from '../../../../../src/engines/driver/ray/logFrames.ts';
import { RunMirror } from '../../../../../src/engines/driver/ray/runMirror.ts';
import { ShadowFolder } from '../../../../../src/engines/driver/ray/shadowFolder.ts';
import { readEvents, readRecord } from '../../../../../src/runs/runReader.ts';
import { RunWriter } from '../../../../../src/runs/runWriter.ts';
import { beforeRemoval, initialRecord, metricsLine, rollout, temporaryFolder } from '../../../runs/runFixtures.ts';

const program = `
import sys
from pathlib import Path
from reasoning_lab_trainer.ray.frames import FolderStream
stream = FolderStream(Path(sys.argv[1]))
for _ in sys.stdin:
    stream.tell()
    print("@told", flush=True)
`;

test('a run reported through a job log is mirrored across restarts on both sides', async (context) => {
	const root = await temporaryFolder(context);
	const [there, here, shadowPath] = ['there', 'here', 'shadow'].map((name) => join(root, name)) as [
		string,
		string,
		string,
	];
	await mkdir(there);
	await mkdir(here);
	const python = spawn('python3', ['-c', program, there], {
		stdio: ['pipe', 'pipe', 'inherit'],
		env: {
			...process.env,
			PYTHONPATH: join(import.meta.dirname, '../../../../../src/engines/trainer'),
			PYTHONDONTWRITEBYTECODE: '1',
		},
	});
	const lines = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
	const log: string[] = [];
	const append = async () => {
		python.stdin.write('\n');
		for (;;) {
			const { value, done } = await lines.next();
			if (done || value === '@told') return;
			log.push(value);
		}
	};
	let remote = await RunWriter.create(there, { ...initialRecord, engine: 'pytorch' });
	const local = await RunWriter.create(here, { ...initialRecord, engine: 'ray' });
	let shadow = new ShadowFolder(shadowPath);
	let mirror = new RunMirror(shadowPath, local, { checkpoints: false, attempt: 0 });
	beforeRemoval(context, async () => {
		python.stdin.end();
		await mirror.close();
		await shadow.close();
		await remote.close();
		await local.close();
	});
	let heard = 0;
	const follow = async () => {
		await append();
		for (; heard < log.length; heard++) {
			const frame = readFrame(log[heard] as string);
			if (frame !== null) await shadow.apply(frame);
		}
		await mirror.sync(true);
	};
	const step = async (at: number) => {
		await remote.writeRollouts(at, [rollout(at, 0), rollout(at, 1)]);
		await remote.appendMetrics(metricsLine(at, { reward: Math.random() }));
		await remote.appendEvent({ type: 'alert', level: 'info', message: `at ${at}: ä\u2028`, step: at });
	};
	const same = async () => {
		assert.equal(
			await readFile(join(here, 'metrics.jsonl'), 'utf8'),
			await readFile(join(there, 'metrics.jsonl'), 'utf8'),
		);
		assert.deepEqual(await readEvents(here), await readEvents(there));
		const names = (await readdir(join(there, 'rollouts'))).sort();
		assert.deepEqual((await readdir(join(here, 'rollouts'))).sort(), names);
		for (const name of names) {
			const [a, b] = [here, there].map((run) => readFile(join(run, 'rollouts', name), 'utf8'));
			assert.equal(await a, await b);
		}
	};
	for (const at of [1, 2, 3]) await step(at);
	await follow();
	await same();
	// The remote side loses its workers and rolls the run back.
	await remote.close();
	remote = await RunWriter.reopen(there);
	await remote.setAside(1);
	await step(2);
	await follow();
	await same();
	assert.equal((await readRecord(here)).attempt, 2);
	// The local driver is lost; its replacement reads the log from the start.
	await step(3);
	await mirror.close();
	await shadow.close();
	shadow = new ShadowFolder(join(root, 'anew'));
	mirror = new RunMirror(join(root, 'anew'), local, { checkpoints: false, attempt: mirror.attempt });
	heard = 0;
	await follow();
	await same();
	assert.equal((await readRecord(here)).attempt, 2);
	const steps = (await readFile(join(here, 'metrics.jsonl'), 'utf8')).trim().split('\n');
	assert.deepEqual(
		steps.map((line) => JSON.parse(line).step),
		[1, 2, 3],
	);
});

test('a log line cannot name a file outside a run', () => {
	const file = (path: string) =>
		readFrame(`${framePrefix}${JSON.stringify({ k: 'file', path, part: 0, parts: 1, data: '' })}`);
	assert.notEqual(file('rollouts/step_000001.jsonl'), null);
	for (const path of [
		'../run.json',
		'/etc/passwd',
		'rollouts/../../x',
		'recipe.json',
		'checkpoints/step_000001/model.safetensors',
	]) {
		assert.equal(file(path), null, path);
	}
	assert.equal(readFrame('@reasoning-lab {"k":"lines","file":"engine.log","at":0,"text":"x"}'), null);
	assert.equal(readFrame('@reasoning-lab {torn'), null);
	assert.equal(readFrame('(RayTrainWorker pid=1) @reasoning-lab {"k":"reset"}'), null);
});
