import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { expected, fixtureFolder, readAll } from '../foreignFixtures.ts';
import { groupsIn, madeRun } from '../madeRun.ts';

let folder: string;
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'trackers-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** Copies the fixture and opens its database as trackio does. */
async function openedProject(name: string): Promise<{ path: string; database: DatabaseSync }> {
	const { DatabaseSync } = await import('node:sqlite');
	const path = join(folder, name);
	await cp(fixtureFolder('trackio'), path, { recursive: true });
	const database = new DatabaseSync(join(path, 'sums.db'));
	database.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0');
	return { path, database };
}

async function metricsOf(path: string) {
	const lines: [number, number | null | undefined][] = [];
	for await (const portion of (await openRun(path)).metrics()) {
		for (const { step, values } of portion) lines.push([step, values.reward]);
	}
	return lines;
}

const logged = `insert into metrics (run_id, timestamp, run_name, step, metrics)
	select run_id, timestamp, run_name, 5, '{"train/reward": 0.75}' from metrics where run_name = 'second' limit 1`;
const trace = (id: string, key: string, metadata: string) => `insert into traces
	(id, run_id, timestamp, run_name, step, key, trace_index, messages, metadata, search_text)
	values ('${id}', 'r', '2026-11-26T00:00:00+00:00', 'second', 5, '${key}', 0,
		'[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]', '${metadata}', '')`;

describe('trackio', () => {
	it('is read with what a writer has logged so far, without leaving files behind', async () => {
		const { path, database } = await openedProject('live');
		database.exec(logged);
		database.exec(trace('t5', 'rollouts', '{"rewards": {"a": 1, "b": 0.5}, "advantage": -1, "note": "x"}'));
		assert.deepEqual((await metricsOf(path)).at(-1), [5, 0.75]);
		const { rollouts } = await readAll(await openRun(path));
		const last = rollouts.find(({ line }) => line.step === 5)?.line;
		assert.deepEqual([last?.reward, last?.rewards, last?.advantage], [1.5, { a: 1, b: 0.5 }, -1]);
		assert.deepEqual(last?.extra, { run: 'second', log: 'rollouts', metadata: { note: 'x' } });
		const before = (await readdir(path)).sort();
		database.close();
		// If SQLite opened a database in WAL mode read-only, it would create a -shm file.
		assert.deepEqual(before, ['sums.db', 'sums.db-shm', 'sums.db-wal']);
		await rm(join(path, 'sums.db-shm'), { force: true });
		await metricsOf(path);
		assert.deepEqual(await readdir(path), ['sums.db']);
	});

	it('separates evaluations by the name of the log, and reports what it cannot read', async () => {
		const { path, database } = await openedProject('evaluation');
		database.exec(trace('e1', 'eval/rollouts', '{"score": 0.25}'));
		database.exec(
			trace('e2', 'rollouts', '{}').replace('[{"role": "user"', '{"role": "user"').replace('"a"}]', '"a"}'),
		);
		database.exec(logged.replace('{"train/reward": 0.75}', '{"train/rew'));
		database.close();
		const run = await openRun(path);
		const { rollouts } = await readAll(run, 'validation');
		assert.deepEqual(
			rollouts.map(({ line }) => [line.reward, line.step]),
			[[0.25, 5]],
		);
		await readAll(run);
		assert.deepEqual(await metricsOf(path), [
			[1, 0.125],
			[2, 0.25],
			[3, 0.375],
			[4, 0.5],
		]);
		assert.ok(run.faults.some(({ message }) => /^row \d+ has no messages$/.test(message)));
		assert.ok(run.faults.some(({ message }) => /^row \d+ has no metrics$/.test(message)));
	});
});

describe('trackio at the end of a TRL run', () => {
	it('counts the last table only once, although it is logged again', async () => {
		const { path, database } = await openedProject('copies');
		const count = async () => (await readAll(await openRun(path))).rollouts.length;
		const before = await count();
		database.exec(`insert into metrics (run_id, timestamp, run_name, step, metrics)
			select run_id, timestamp, run_name, step, metrics from metrics where metrics like '%trackio.table%'`);
		assert.equal(await count(), before);
		database.exec(`insert into metrics (run_id, timestamp, run_name, step, metrics)
			select 'other', timestamp, run_name, step, metrics from metrics where metrics like '%trackio.table%' limit 1`);
		assert.equal(await count(), before + 2);
		database.close();
	});

	it('is not read from an export next to the database', async () => {
		const { path, database } = await openedProject('exported');
		database.close();
		const before = await metricsOf(path);
		await cp(fixtureFolder('trackio-parquet'), path, { recursive: true });
		assert.deepEqual(await metricsOf(path), before);
		assert.equal((await readAll(await openRun(path))).rollouts.length, expected('trackio').rollouts);
	});
});

describe('MLflow', () => {
	it('is read from its database: metrics of all runs, and traces by their root spans', async () => {
		const run = await openRun(fixtureFolder('mlflow'));
		const rows: unknown[] = [];
		for await (const portion of run.metrics()) {
			for (const { step, values } of portion) {
				const other = Object.entries(values).filter(([name]) => /^[0-9a-f]{8}\/train\/reward$/.test(name));
				rows.push([step, values.reward, values.loss, other.map(([, value]) => value)]);
			}
		}
		assert.deepEqual(rows, [
			[1, 0.125, 1, [0.125]],
			[2, 0.25, undefined, [0.25]],
			[3, 0.375, 1 / 3, []],
			[4, 0.5, 0.25, []],
		]);
		const { rollouts, faults } = await readAll(run);
		assert.deepEqual(faults, []);
		assert.deepEqual(
			rollouts.map(({ line }) => [line.step, line.reward, line.completion, line.extra?.error]),
			[
				[null, null, [{ role: 'assistant', content: '8' }], undefined],
				[null, null, '', 'The model is broken'],
			],
		);
		const notes = (await run.record()).foreign?.notes ?? [];
		assert.ok(
			notes.some((note) => /2 runs: second \([0-9a-f]{8}, finished\), first/.test(note)),
			notes.join('\n'),
		);
	});
});

describe('a W&B log', () => {
	it('is read up to a damaged or truncated part, which is reported', async () => {
		const path = join(folder, 'wandb');
		await cp(fixtureFolder('wandb'), path, { recursive: true });
		const log = join(path, 'run-fixture1.wandb');
		const bytes = await readFile(log);
		const steps = async () => (await metricsOf(path)).map(([step]) => step);
		assert.deepEqual(await steps(), [10, 20, 30, 40]);
		const third = bytes.indexOf('train/reward', bytes.indexOf('train/reward') + 500);
		await writeFile(log, bytes.subarray(0, third));
		const cut = await openRun(path);
		for await (const _ of cut.metrics());
		assert.match(cut.faults[0]?.message ?? '', /truncated within a record/);
		bytes[third] = 0;
		await writeFile(log, bytes);
		const damaged = await openRun(path);
		for await (const _ of damaged.metrics());
		assert.match(damaged.faults[0]?.message ?? '', /^damaged between bytes \d+ and \d+$/);
		assert.ok((await steps()).length < 4);
	});
});

describe('chat rows', () => {
	it('are read with messages, or with a request and a response', async () => {
		const messages = [
			{ role: 'user', content: 'q' },
			{ role: 'assistant', content: 'a' },
		];
		const response = {
			body: {
				model: 'm',
				choices: [{ message: messages[1], finish_reason: 'length' }],
				usage: { completion_tokens: 3 },
			},
		};
		const { train, faults } = await madeRun(
			{
				'log.jsonl': [
					{ messages, score: 1 },
					{ messages, rewards: { x: 0.5, y: null } },
					{ custom_id: 'c', request: { messages: messages.slice(0, 1) }, response },
					{ custom_id: 'd', response: { body: { error: { message: 'limit' } } }, messages: messages.slice(0, 1) },
					{ text: 'x' },
				],
			},
			'chat',
		);
		assert.deepEqual(
			train.map(({ reward, truncated, row }) => [reward, truncated, row]),
			[
				[1, null, undefined],
				[0.5, null, undefined],
				[null, true, 'c'],
				[null, null, 'd'],
			],
		);
		assert.deepEqual(groupsIn(train), [0, 0, 0, 0]);
		assert.deepEqual(train[2]?.extra, { model: 'm', length: 3 });
		assert.deepEqual(train[3]?.extra, { error: 'limit' });
		assert.deepEqual(
			faults.map(({ line, message }) => [line, message]),
			[[5, 'has no messages']],
		);
	});
});

describe('OpenTelemetry', () => {
	const attribute = (key: string, value: unknown) => ({
		key,
		value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: String(value) },
	});
	const span = (attributes: object[], more: object = {}) => ({
		traceId: 't',
		spanId: 's',
		startTimeUnixNano: '1000000000',
		endTimeUnixNano: '3500000000',
		attributes: [attribute('gen_ai.operation.name', 'chat'), ...attributes],
		...more,
	});
	const batch = (...spans: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });

	it('shows each model call, with messages in attributes or events', async () => {
		const input = [{ role: 'user', parts: [{ type: 'text', content: 'q' }] }];
		const output = [
			{
				role: 'assistant',
				parts: [
					{ type: 'reasoning', content: 'hm' },
					{ type: 'tool_call', id: 'c', name: 'add', arguments: { x: 1 } },
				],
				finish_reason: 'tool_calls',
			},
		];
		const events = [
			{ name: 'gen_ai.user.message', attributes: [attribute('content', 'q')] },
			{ name: 'gen_ai.choice', attributes: [attribute('message', '{"content": "a"}')] },
		];
		const { train, faults } = await madeRun({
			'spans.jsonl': [
				batch(
					span([
						attribute('gen_ai.input.messages', JSON.stringify(input)),
						attribute('gen_ai.output.messages', JSON.stringify(output)),
						attribute('gen_ai.usage.output_tokens', 7),
					]),
					{ name: 'a tool', attributes: [attribute('gen_ai.operation.name', 'execute_tool')] },
				),
				batch(span([], { events }), span([], { spanId: 'u', status: { code: 2, message: 'timeout' } })),
				{ other: 1 },
			],
		});
		assert.deepEqual(train[0]?.completion, [
			{
				role: 'assistant',
				content: null,
				reasoning_content: 'hm',
				tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: { x: 1 } } }],
			},
		]);
		const call = { kind: 'generation', name: 'chat', start: 0, seconds: 2.5 };
		assert.deepEqual(train[0]?.extra, { length: 7, trace: 't', seconds: 2.5, timeline: [{ ...call, tokens: 7 }] });
		assert.deepEqual(train[1]?.completion, [{ role: 'assistant', content: 'a' }]);
		assert.deepEqual(groupsIn(train), [0, 0, 1]);
		assert.deepEqual(train[2]?.extra, {
			...{ text: 'not recorded', trace: 't', seconds: 2.5, error: 'timeout' },
			timeline: [{ ...call, error: 'timeout' }],
		});
		assert.equal(train.length, 3);
		assert.deepEqual(
			faults.map(({ line, message }) => [line, message]),
			[[3, 'has no resourceSpans']],
		);
	});
});
