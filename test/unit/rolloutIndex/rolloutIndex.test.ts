import assert from 'node:assert/strict';
import {
	appendFile,
	cp,
	mkdir,
	mkdtemp,
	readdir,
	readFile,
	rename,
	rm,
	stat,
	utimes,
	writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Failure } from '../../../src/base/failure.ts';
import { correctness } from '../../../src/core/reward/correctness.ts';
import { countBehaviors, findBehaviors } from '../../../src/core/trace/behaviors.ts';
import { turnsOfRollout } from '../../../src/core/trace/conversation.ts';
import { messageText } from '../../../src/core/trace/messageText.ts';
import { parseTrace } from '../../../src/core/trace/parseTrace.ts';
import { findRepetition } from '../../../src/core/trace/repetition.ts';
import { IndexClient } from '../../../src/extension/rolloutIndex/indexClient.ts';
import type { IndexResult } from '../../../src/protocol/rolloutIndex.ts';
import { hasText, noStep } from '../../../src/protocol/rolloutLine.ts';
import { labelsOf, RolloutIndex } from '../../../src/rolloutIndex/rolloutIndex.ts';
import { openRun } from '../../../src/runs/openRun.ts';
import { builtProgram } from '../../support/programs.ts';
import { expected, fixtureFolder, fixtures } from '../runs/importers/foreignFixtures.ts';
import { firstTrlSteps, folderFor, gone, labFor, rolloutLine, runIn, threads } from './ownRun.ts';

const program = builtProgram('dist/rolloutIndex.js');

const one = async (rolloutIndex: RolloutIndex, sql: string): Promise<unknown[]> =>
	(await rolloutIndex.sql({ sql, limit: 1 })).rows[0] ?? [];
const total = async (rolloutIndex: RolloutIndex): Promise<unknown> =>
	(await one(rolloutIndex, 'select count(*) from rollouts'))[0];
const stepFile = (run: string, step: number) => join(run, 'rollouts', `step_00000${step}.jsonl`);

/** Compares all rollouts of a run as read by the reader with their rows in the index, and returns their number. */
async function compareWithReading(rolloutIndex: RolloutIndex, run: string): Promise<number> {
	const content = await openRun(run);
	let compared = 0;
	const counts = { turns: 0, calls: 0 };
	for (const split of ['train', 'validation'] as const) {
		const steps = await content.steps(split);
		if (steps.length === 0) continue;
		const { rows, columns } = await rolloutIndex.rollouts({ filter: { runs: [run], split }, limit: 100_000 });
		const entries = rows.map((row) => Object.fromEntries(columns.map(({ name }, i) => [name, row[i]])));
		for (const step of steps) {
			const ofStep = entries.filter((entry) => (entry.step ?? noStep) === step);
			const byKey = new Map(ofStep.map((entry) => [`${entry.group_id} ${entry.index}`, entry]));
			const rollouts = await content.open(step, split);
			for await (const { rollout, place } of rollouts.rollouts()) {
				if (rollout === null) continue;
				const row = byKey.get(`${place.group} ${place.index}`);
				assert.ok(row, `${run}: step ${step}, group ${place.group}, rollout ${place.index} is missing`);
				const text = messageText(rollout.completion);
				const { share, ngrams } = findRepetition(text);
				assert.equal(row.step === null, rollout.step === null);
				const reports = {
					reward: row.reward,
					advantage: row.advantage,
					correct: row.correct,
					truncated: row.truncated,
					stage: row.stage,
					characters: row.characters,
					repetition: row.repetition,
					place: [row.file, row.byte_offset, row.byte_length, row.item],
				};
				assert.deepEqual(reports, {
					reward: rollout.reward,
					advantage: rollout.advantage,
					correct: correctness(rollout.rewards),
					truncated: rollout.truncated,
					stage: rollout.stage,
					characters: hasText(rollout) ? text.length : null,
					repetition: ngrams === 0 ? null : share,
					place: [place.file, place.offset, place.length, place.item],
				});
				const trace = parseTrace(text);
				if (hasText(rollout) && (trace.thinkSpan !== null || trace.tags.length === 0)) {
					const counts = countBehaviors(findBehaviors(text, trace));
					const names = ['verification', 'backtracking', 'subgoal_setting', 'backward_chaining', 'reflection'];
					assert.deepEqual(
						names.map((name) => row[name]),
						Object.values(counts),
					);
				}
				const turns = turnsOfRollout(rollout);
				counts.turns += turns.length;
				counts.calls += turns.reduce((sum, { calls }) => sum + calls.length, 0);
				byKey.delete(`${place.group} ${place.index}`);
				compared++;
			}
			await rollouts.close();
			assert.equal(byKey.size, 0, `${run}: rows that no file has`);
		}
	}
	const ofRun = (view: string) => `select count(*) from ${view} join runs using (run) where folder = '${run}'`;
	const [turns] = await one(rolloutIndex, ofRun('turns'));
	const [calls] = await one(rolloutIndex, ofRun('calls'));
	assert.deepEqual({ turns, calls }, counts);
	return compared;
}

describe('the rollout index', () => {
	it('matches a direct read for runs in every format', async (context) => {
		const rolloutIndex = await labFor(context);
		let compared = 0;
		for (const { name } of fixtures) {
			const short = name === 'trl-run';
			const run = short ? await firstTrlSteps(context) : fixtureFolder(name);
			const progress = await rolloutIndex.index(run);
			assert.equal(progress.state, 'ready');
			assert.equal(progress.skipped, 0);
			compared += await compareWithReading(rolloutIndex, run);
			const [mean] = await one(
				rolloutIndex,
				`select avg(reward) from rollouts where split = 'train' and run = (select run from runs where folder = '${run}')`,
			);
			const uncounted = short || ['art legacy', 'openrlhf'].includes(name) || name.startsWith('mlflow');
			const wanted = uncounted ? null : expected(name).mean_reward;
			if (typeof wanted === 'number' && typeof mean === 'number')
				assert.ok(Math.abs(mean - wanted) < 1e-5, `${name}: ${mean}`);
		}
		assert.ok(compared > 500, `${compared}`);
	});

	it('matches a direct read for our own runs, including tokens, messages and unreadable lines', async (context) => {
		const run = await runIn(await folderFor(context), { tokensEvery: 2 });
		const messages = [
			{
				...{ role: 'assistant', content: 'Wait, let me check.' },
				tool_calls: [
					{ name: 'add', arguments: { x: 1 } },
					{ name: 'halt', arguments: 'no JSON' },
				],
			},
			{ role: 'tool', content: '4' },
			{ role: 'assistant', content: 'It is 4.' },
		];
		const turn = { calls: [{ name: 'add', arguments: { x: 1 } }], reward: 0.5, seconds: 0.25, state: { sum: 4 } };
		const episode = { episode: { turns: [{ ...turn, results: [{ name: 'add', content: '4', failed: true }] }] } };
		const long = { name: 'x'.repeat(999), content: 'ok', failed: false };
		const unseen = {
			episode: { turns: [{ calls: [{ name: long.name, arguments: 'y'.repeat(999) }], results: [long] }] },
		};
		const lines = [
			JSON.stringify(
				rolloutLine({ step: 9, group: 1, index: 0, completion: messages, rewards: { a: null, b: -1 }, extra: episode }),
			),
			'{"step": 9, "stage":',
			'',
			JSON.stringify(rolloutLine({ step: 9, group: 1, index: 1, reward: null, advantage: null, rewards: {} })),
			JSON.stringify(rolloutLine({ step: 9, group: 1, index: 1 })),
			'[1, 2]',
			JSON.stringify(rolloutLine({ step: 9, group: 2, index: 1, extra: unseen })),
			JSON.stringify(rolloutLine({ step: 9, group: 2, index: 0, extra: { length: 17 } })).replace(
				'"reward":1',
				'"reward":NaN',
			),
		];
		await writeFile(stepFile(run, 9), lines.join('\n'));
		const rolloutIndex = await labFor(context);
		const progress = await rolloutIndex.index(run);
		assert.equal(progress.rollouts, 64);
		assert.equal(progress.skipped, 3);
		assert.match(progress.message ?? '', /step_000009\.jsonl at byte \d+: invalid JSON/);
		assert.equal(await compareWithReading(rolloutIndex, run), 64);
		const { rows } = await rolloutIndex.sql({
			sql: 'select "index", tokens, turns, rewards, has_tokens from rollouts where step = 9 order by group_id, "index"',
			limit: 9,
		});
		assert.deepEqual(rows, [
			[0, null, 2, "{'a': NULL, 'b': -1}", false],
			[1, null, 1, '{}', false],
			[0, 17, 1, "{'accuracy': 1}", false],
			[1, null, 1, "{'accuracy': 1}", false],
		]);
		assert.deepEqual(
			(await rolloutIndex.sql({ sql: 'select * exclude (run) from turns order by all', limit: 9 })).rows,
			[
				['train', 9, 1, 0, 1, 0, 2, 1, 0.5, 0.25, '{"sum":4}'],
				['train', 9, 2, 1, 1, null, 1, 0, null, null, null],
			],
		);
		const sql = `select "index", turn, call, name, try_cast(arguments as json) ->> '$.x' as x, failed, characters from calls order by all`;
		assert.deepEqual((await rolloutIndex.sql({ sql, limit: 9 })).rows, [
			[0, 1, 1, 'add', '1', true, 1],
			[0, 1, 2, 'halt', null, null, null],
			[1, 1, 1, 'x'.repeat(200), null, false, 2],
		]);
		assert.deepEqual(
			await one(rolloutIndex, 'select count(*), count(tokens) from rollouts where step = 2 and has_tokens'),
			[20, 20],
		);
	});

	it('continues after appends and restarts after rewrites', async (context) => {
		const run = await runIn(await folderFor(context));
		const rolloutIndex = await labFor(context);
		await rolloutIndex.index(run);
		assert.equal(await total(rolloutIndex), 60);
		const line = (index: number) => `${JSON.stringify(rolloutLine({ step: 3, group: 7, index }))}\n`;
		await appendFile(stepFile(run, 3), line(0) + line(1).slice(0, 40));
		assert.deepEqual([(await rolloutIndex.index(run)).skipped, await total(rolloutIndex)], [1, 61]);
		// The rest of the partial line, and a duplicate.
		await appendFile(stepFile(run, 3), line(1).slice(40) + line(0));
		const progress = await rolloutIndex.index(run);
		assert.deepEqual([progress.skipped, await total(rolloutIndex)], [1, 62]);
		assert.equal(await compareWithReading(rolloutIndex, run), 62);
		// Same length and inode but different content, so only the mtime shows the change.
		const text = await readFile(stepFile(run, 2), 'utf8');
		await writeFile(stepFile(run, 2), text.replaceAll('"truncated":false', '"truncated":true '));
		await utimes(stepFile(run, 2), new Date(), new Date(Date.now() + 5000));
		await rolloutIndex.index(run);
		assert.equal(await compareWithReading(rolloutIndex, run), 62);
		// First shorter, then replaced by a larger file.
		await writeFile(stepFile(run, 1), `${JSON.stringify(rolloutLine())}\n`);
		await rolloutIndex.index(run);
		assert.equal(await total(rolloutIndex), 43);
		await writeFile(join(run, 'new'), text + text.replaceAll('"group":', '"group":10'));
		await rename(join(run, 'new'), stepFile(run, 1));
		await rolloutIndex.index(run);
		assert.equal(await compareWithReading(rolloutIndex, run), 82);
		// Rewritten and extended at the same time.
		const grown = (await readFile(stepFile(run, 2), 'utf8')).replaceAll('"group":', '"group":5');
		await writeFile(stepFile(run, 2), grown + line(0));
		await rolloutIndex.index(run);
		assert.equal(await compareWithReading(rolloutIndex, run), 83);
	});

	it('removes deleted steps, steps after a resume, and unknown runs', async (context) => {
		const folder = await folderFor(context);
		const [a, b] = [await runIn(join(folder, 'a')), await runIn(join(folder, 'b'), { seed: 1 })];
		const rolloutIndex = await labFor(context);
		await rolloutIndex.index(a);
		await rolloutIndex.index(b);
		assert.equal(await total(rolloutIndex), 120);
		await mkdir(join(a, 'superseded'));
		await rename(stepFile(a, 3), join(a, 'superseded', 'step_000003.jsonl'));
		await rolloutIndex.index(a);
		assert.equal(await total(rolloutIndex), 100);
		await rolloutIndex.setRuns([a]);
		assert.equal(await total(rolloutIndex), 40);
		assert.deepEqual((await rolloutIndex.sql({ sql: 'select folder from runs', limit: 9 })).rows, [[a]]);
		await rm(a, { recursive: true });
		await assert.rejects(rolloutIndex.index(a), { reason: 'missing' });
		assert.equal(await total(rolloutIndex), 0);
		assert.equal((await rolloutIndex.status()).runs[0]?.state, 'failed');
	});

	it('reads large files in pieces, in any order, with the same result', async (context) => {
		const run = await runIn(await folderFor(context), { rollouts: 20 });
		const file = stepFile(run, 1);
		// Most of a line is in a column that is not analyzed.
		const log = 'é "quoted"\n{"step": 1}\n'.repeat(300);
		const lines = Array.from({ length: 1200 }, (_, i) =>
			JSON.stringify(rolloutLine({ group: Math.floor(i / 8), index: i % 8, prompt: `${i} + 1`, extra: { log } })),
		);
		await writeFile(file, [...lines, ...lines.slice(0, 3), ''].join('\n'));
		const rolloutIndex = await labFor(context);
		const progress = await rolloutIndex.index(run);
		const { size } = await stat(file);
		// More than one piece.
		assert.ok(size > 8 << 20, `${size}`);
		assert.equal(progress.rollouts + progress.skipped, 1203);
		assert.equal(progress.skipped, 3);
		assert.equal(progress.done, size);
		assert.equal(await compareWithReading(rolloutIndex, run), 1200);
	});

	it('contains metrics and evaluations, and reads only what was appended', async (context) => {
		const run = await runIn(await folderFor(context));
		const rolloutIndex = await labFor(context);
		await rolloutIndex.index(run);
		assert.deepEqual(await one(rolloutIndex, 'select count(*), max(step) from metrics'), [6, 3]);
		const line = (step: number, values: object) => `${JSON.stringify({ step, time: 1, stage: 'grpo', ...values })}\n`;
		await appendFile(join(run, 'metrics.jsonl'), line(4, { reward: null, kl: 0.25 }) + line(5, { kl: 1 }).slice(0, 20));
		await rolloutIndex.index(run);
		assert.deepEqual(
			await one(rolloutIndex, "select count(*), max(value) filter (name = 'kl') from metrics"),
			[8, 0.25],
		);
		await appendFile(join(run, 'metrics.jsonl'), line(5, { kl: 1 }).slice(20));
		await rolloutIndex.index(run);
		assert.deepEqual(await one(rolloutIndex, "select count(*), max(value) filter (name = 'kl') from metrics"), [9, 1]);
		await writeFile(join(run, 'metrics.jsonl'), line(1, { reward: 1 }));
		await mkdir(join(run, 'evaluations', 'step_000002'), { recursive: true });
		const summary = {
			name: 'heldout',
			step: 2,
			problems: 50,
			samples: 4,
			temperature: 0,
			accuracy: 0.5,
			low: 0.4,
			high: 0.6,
		};
		await writeFile(join(run, 'evaluations', 'step_000002', 'heldout.json'), JSON.stringify(summary));
		await rolloutIndex.index(run);
		assert.deepEqual(await one(rolloutIndex, 'select count(*) from metrics'), [1]);
		assert.deepEqual(await one(rolloutIndex, 'select step, name, problems, accuracy from evaluations'), [
			2,
			'heldout',
			50,
			0.5,
		]);
	});

	it('is available after reopening without rereading anything', async (context) => {
		const folder = await folderFor(context);
		const run = await runIn(join(folder, 'run'));
		const first = await RolloutIndex.open({ storage: join(folder, 'index'), sharedThreads: threads });
		await first.index(run);
		await first.close();
		// Modified without a trace, so the change stays invisible unless the file is reread.
		const { mtime, atime } = await stat(stepFile(run, 1));
		const second = await labFor(context, { storage: join(folder, 'index') });
		assert.equal(await total(second), 60);
		const text = await readFile(stepFile(run, 1), 'utf8');
		await writeFile(stepFile(run, 2), text);
		await utimes(stepFile(run, 1), atime, mtime);
		await second.index(run);
		assert.deepEqual(await one(second, 'select count(distinct prompt_hash) from rollouts where step in (1, 2)'), [5]);
	});

	it('is rebuilt if its file is damaged or has another version, with a message', async (context) => {
		const folder = await folderFor(context);
		const storage = join(folder, 'index');
		const run = await runIn(join(folder, 'run'));
		const damage: (() => Promise<void>)[] = [
			() => writeFile(join(storage, 'index.duckdb'), 'this is no database'),
			() => writeFile(join(storage, 'index.duckdb'), Buffer.alloc(100_000, 7)),
			async () => {
				const bytes = await readFile(join(storage, 'index.duckdb'));
				await writeFile(join(storage, 'index.duckdb'), bytes.subarray(0, 20_000));
			},
			async () => {
				const { Database } = await import('../../../src/rolloutIndex/duckdb.ts');
				const database = await Database.open({
					path: join(storage, 'index.duckdb'),
					memoryMb: 100,
					threads: 1,
					spill: null,
				});
				const connection = await database.connect();
				await connection.run("update version set version = 'earlier'");
				connection.close();
				database.close();
			},
		];
		const whole = await RolloutIndex.open({ storage, sharedThreads: threads });
		await whole.index(run);
		await whole.close();
		for (const [i, harm] of damage.entries()) {
			await harm();
			const rolloutIndex = await RolloutIndex.open({ storage, sharedThreads: threads });
			const { message, index } = await rolloutIndex.status();
			assert.equal(index, 'own');
			assert.match(message ?? '', i === 3 ? /a different version/ : /damaged/, `case ${i}`);
			assert.equal(await total(rolloutIndex), 0);
			await rolloutIndex.index(run);
			assert.equal(await total(rolloutIndex), 60);
			await rolloutIndex.close();
		}
	});

	it('is complete or absent if the process is killed at any time', async (context) => {
		const folder = await folderFor(context);
		const run = await runIn(join(folder, 'run'), { rollouts: 320, perGroup: 8, groups: 4 });
		const storage = join(folder, 'index');
		for (const at of [96, null]) {
			const worker = new IndexClient({ program, storage, log: () => undefined });
			const enough = new Promise<void>((resolve) => {
				worker.onProgress(({ rollouts }) => at !== null && rollouts >= at && resolve());
			});
			const done = worker.request('index', { run });
			done.catch(() => undefined);
			await Promise.race([enough, done]);
			const ended = new Promise<void>((resolve) => worker.onEnded(() => resolve()));
			process.kill(worker.pid as number, 'SIGKILL');
			await ended;
			worker.dispose();
			const rolloutIndex = await RolloutIndex.open({ storage, sharedThreads: threads });
			assert.equal((await rolloutIndex.status()).message, null);
			// The recorded counts of each part must match its rows.
			const { rows } = await rolloutIndex.sql({
				sql: `select p.step, p.rollouts, count(r.step) from part p left join rollout r
					on r.run_key = p.run_key and r.step = p.step group by all having p.rollouts <> count(r.step)`,
				limit: 100,
			});
			assert.deepEqual(rows, []);
			const { rows: orphans } = await rolloutIndex.sql({
				sql: 'select distinct step from rollout where step not in (select step from part)',
				limit: 9,
			});
			assert.deepEqual(orphans, []);
			await rolloutIndex.index(run);
			assert.equal(await total(rolloutIndex), 320);
			assert.equal(await compareWithReading(rolloutIndex, run), 320);
			if (at !== null) await rolloutIndex.rebuild();
			await rolloutIndex.close();
		}
	});

	it('uses a separate temporary file for a second window', async (context) => {
		const folder = await folderFor(context);
		const storage = join(folder, 'index');
		const run = await runIn(join(folder, 'run'));
		const first = await RolloutIndex.open({ storage, sharedThreads: threads });
		assert.equal((await first.status()).index, 'own');
		const second = new IndexClient({ program, storage, log: () => undefined });
		context.after(() => second.dispose());
		await second.request('index', { run });
		assert.equal((await second.request('status', {})).index, 'second');
		const { rows } = await second.request('sql', { sql: 'select count(*) from rollouts', limit: 1 });
		assert.deepEqual(rows, [[60]]);
		await first.index(run);
		assert.equal(await total(first), 60);
		assert.ok((await readdir(storage)).includes('index-2.duckdb'));
		const pid = second.pid as number;
		second.dispose();
		await gone(pid);
		await first.close();
		assert.deepEqual(await readdir(storage), ['index.duckdb']);
	});

	it('stops when canceled, and continues from there', async (context) => {
		const run = await runIn(await folderFor(context), { rollouts: 800, perGroup: 8, groups: 10 });
		const rolloutIndex = await labFor(context);
		const first = new AbortController();
		const reports = rolloutIndex.onProgress(() => first.abort());
		await assert.rejects(rolloutIndex.index(run, first.signal), { reason: 'cancelled' });
		reports.dispose();
		// Whether it stops somewhere or the cancellation comes too late, the final index must be correct.
		for (let millis = 0; millis < 200; millis += 40) {
			const controller = new AbortController();
			setTimeout(() => controller.abort(), millis);
			await rolloutIndex.index(run, controller.signal).catch((error: unknown) => {
				if ((error as Failure).reason !== 'cancelled') throw error;
			});
		}
		assert.equal(rolloutIndex.disposed, false);
		const progress = await rolloutIndex.index(run);
		assert.deepEqual([progress.state, progress.rollouts], ['ready', 800]);
		assert.equal(await compareWithReading(rolloutIndex, run), 800);
	});

	it('follows runs by other trainers too', async (context) => {
		const run = join(await folderFor(context), 'verl');
		await cp(fixtureFolder('verl'), run, { recursive: true });
		const rolloutIndex = await labFor(context, { lookEveryMs: 2 });
		await rolloutIndex.index(run);
		const grown = new Promise<void>((resolve) => {
			rolloutIndex.onProgress(({ state, rollouts }) => {
				if (state === 'ready' && rollouts === 132) resolve();
			});
		});
		await cp(join(run, 'rollouts', '4.jsonl'), join(run, 'rollouts', '5.jsonl'));
		await grown;
		assert.equal(await compareWithReading(rolloutIndex, run), 132);
	});

	it('prioritizes runs that a request is waiting for', async (context) => {
		const folder = await folderFor(context);
		const runs: string[] = [];
		for (let i = 0; i < 6; i++) runs.push(await runIn(join(folder, `${i}`), { rollouts: 20 }));
		const rolloutIndex = await labFor(context);
		const order: string[] = [];
		rolloutIndex.onProgress(({ run, state }) => {
			if (state === 'ready') order.push(run);
		});
		await rolloutIndex.setRuns(runs);
		await rolloutIndex.index(runs[5] as string);
		assert.ok(order.indexOf(runs[5] as string) < 2, order.join());
		await rolloutIndex.index(runs[3] as string);
	});

	it('follows changes automatically', async (context) => {
		const run = await runIn(await folderFor(context));
		const rolloutIndex = await labFor(context, { lookEveryMs: 20 });
		await rolloutIndex.setRuns([run]);
		const reports = (rollouts: number) =>
			new Promise<void>((resolve) => {
				const subscription = rolloutIndex.onProgress((progress) => {
					if (progress.state !== 'ready' || progress.rollouts !== rollouts) return;
					subscription.dispose();
					resolve();
				});
			});
		await reports(60);
		const grown = reports(61);
		await appendFile(stepFile(run, 3), `${JSON.stringify(rolloutLine({ step: 3, group: 9 }))}\n`);
		await grown;
	});
});

describe('index queries', () => {
	const asked = { split: 'train', step: 2, group: 3 } as const;
	let folder: string;
	let run: string;
	let rolloutIndex: RolloutIndex;
	let unindexed: IndexResult<'places'>;
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'lab-'));
		run = await runIn(join(folder, 'run'));
		rolloutIndex = await RolloutIndex.open({ storage: null, sharedThreads: threads });
		unindexed = await rolloutIndex.places({ run, ...asked });
		await rolloutIndex.index(run);
	});
	after(async () => {
		await rolloutIndex.close();
		await rm(folder, { recursive: true, force: true, maxRetries: 5 });
	});

	it('filter, sort, count and page', async () => {
		const filter = {
			runs: [run],
			steps: { from: 2, to: 3 },
			correct: true,
			ranges: [{ column: 'rewards.length', from: 0.25 }],
		};
		const all = await rolloutIndex.rollouts({
			filter,
			sort: { column: 'rewards.length', descending: true },
			limit: 1000,
		});
		const at = (name: string) => all.columns.findIndex((column) => column.name === name);
		assert.ok(all.rows.length > 3 && all.rows.length < 40, `${all.rows.length}`);
		const lengths = all.rows.map((row) => Number(/'length': ([\d.]+)/.exec(String(row[at('rewards')]))?.[1]));
		assert.deepEqual(
			lengths,
			lengths.toSorted((a, b) => b - a),
		);
		assert.ok(lengths.every((x) => x >= 0.25));
		assert.ok(all.rows.every((row) => row[at('correct')] === true && Number(row[at('step')]) >= 2));
		assert.deepEqual(all.refs?.[0], {
			run,
			split: 'train',
			step: all.rows[0]?.[at('step')],
			group: all.rows[0]?.[at('group_id')],
			index: all.rows[0]?.[at('index')],
		});
		const page = await rolloutIndex.rollouts({
			filter,
			sort: { column: 'rewards.length', descending: true },
			limit: 2,
			offset: 2,
		});
		assert.deepEqual(page.rows, all.rows.slice(2, 4));
		assert.equal(page.truncated, true);
		const count = await rolloutIndex.count({ filter });
		assert.deepEqual([count.rollouts, count.steps, count.runs], [all.rows.length, 2, 1]);
		assert.deepEqual(await rolloutIndex.count({ filter: { runs: ['/nowhere'] } }), {
			rollouts: 0,
			groups: 0,
			steps: 0,
			runs: 0,
		});
		await assert.rejects(
			rolloutIndex.rollouts({ filter: {}, sort: { column: 'nothing', descending: false }, limit: 1 }),
			{
				reason: 'invalid',
			},
		);
		const prompt = all.rows[0]?.[at('prompt_hash')] as string;
		assert.equal((await rolloutIndex.count({ filter: { promptHash: prompt } })).groups, 1);
	});

	it('return histograms and curves', async () => {
		const histogram = await rolloutIndex.histogram({ filter: {}, column: 'rewards.length', buckets: 7 });
		assert.equal(
			histogram.counts.reduce((sum, n) => sum + n, 0),
			60,
		);
		const [low, high] = await one(rolloutIndex, "select min(rewards['length']), max(rewards['length']) from rollouts");
		assert.deepEqual([histogram.low, histogram.high, histogram.nulls], [low, high, 0]);
		assert.deepEqual((await rolloutIndex.histogram({ filter: {}, column: 'turns', buckets: 3 })).counts, [60, 0, 0]);
		const none = await rolloutIndex.histogram({ filter: { runs: [] }, column: 'reward', buckets: 2 });
		assert.deepEqual(none, { low: null, high: null, counts: [0, 0], nulls: 0 });
		const { points } = await rolloutIndex.overTraining({
			filter: { runs: [run] },
			columns: ['backtracking', 'correct', 'rewards.none'],
		});
		assert.deepEqual(
			points.map(({ step, rollouts }) => [step, rollouts]),
			[
				[1, 20],
				[2, 20],
				[3, 20],
			],
		);
		const [mean] = await one(rolloutIndex, 'select avg(backtracking) from rollouts where step = 2');
		assert.equal(points[1]?.means[0], mean);
		assert.equal(points[1]?.means[2], null);
		await assert.rejects(rolloutIndex.histogram({ filter: {}, column: 'file', buckets: 2 }), { reason: 'invalid' });
	});

	it('locate the rollouts of a group, indexed or not', async () => {
		assert.deepEqual(
			unindexed.places.map(({ index }) => index),
			[0, 1, 2, 3],
		);
		assert.deepEqual(await rolloutIndex.places({ run, ...asked }), unindexed);
		const rollouts = await (await openRun(run)).open(2);
		for (const place of unindexed.places) {
			const rollout = await rollouts.rollout(place);
			assert.deepEqual([rollout.group, rollout.index], [3, place.index]);
		}
		await rollouts.close();
		assert.deepEqual(await rolloutIndex.places({ run, ...asked, group: 99 }), { places: [] });
		await assert.rejects(rolloutIndex.places({ run, ...asked, step: 99 }), { reason: 'missing' });
	});

	it('export results to files', async () => {
		const csv = join(folder, 'it\'s a "result".csv');
		const written = await rolloutIndex.export({
			sql: 'select step, "index", null as n, stage as step from rollouts order by all limit 2',
			path: csv,
			format: 'csv',
		});
		assert.deepEqual([written.rows, await readFile(csv, 'utf8')], [2, 'step,index,n,step_2\n1,0,,grpo\n1,0,,grpo\n']);
		// Text that a spreadsheet would evaluate is prefixed with an apostrophe, but numbers are not, even as text.
		const cells = join(folder, 'cells.csv');
		const sql = `select * from (values ('=HYPERLINK("x")', -1), ('-5', 2), ('@a', 3), ('a', 4)) as t("=name", n)`;
		await rolloutIndex.export({ sql, path: cells, format: 'csv' });
		assert.equal(
			(await readFile(cells, 'utf8')).split('\n').join('|'),
			`'=name,n|"'=HYPERLINK(""x"")",-1|-5,2|'@a,3|a,4|`,
		);
		await rm(cells);
		const parquet = join(folder, 'all.parquet');
		assert.equal((await rolloutIndex.export({ sql: 'from rollouts', path: parquet, format: 'parquet' })).rows, 60);
		assert.equal((await readFile(parquet)).toString('latin1', 0, 4), 'PAR1');
		await assert.rejects(rolloutIndex.export({ sql: 'drop table run', path: csv, format: 'csv' }), {
			reason: 'denied',
		});
		await assert.rejects(
			rolloutIndex.export({ sql: 'select 1', path: join(folder, 'no', 'folder.csv'), format: 'csv' }),
		);
		assert.deepEqual((await readdir(folder)).sort(), ['all.parquet', 'it\'s a "result".csv', 'run']);
	});
});

describe('run names', () => {
	it('are as short as possible while still unique', () => {
		assert.deepEqual([...labelsOf(['/a/x/run', '/a/y/run', '/b/x/run', '/c/other', '/run'])].sort(), [
			['/a/x/run', 'a/x/run'],
			['/a/y/run', 'y/run'],
			['/b/x/run', 'b/x/run'],
			['/c/other', 'other'],
			['/run', '/run'],
		]);
	});
});
