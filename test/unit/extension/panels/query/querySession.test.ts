import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import { type KnownRun, QuerySession } from '../../../../../src/extension/panels/query/querySession.ts';
import { IndexClient } from '../../../../../src/extension/rolloutIndex/indexClient.ts';
import { decodeOrThrow } from '../../../../../src/protocol/decode.ts';
import { type QueryEvent, type Question, queryEventSchema } from '../../../../../src/protocol/queryMessages.ts';
import { errorPlace } from '../../../../../webview/query/errorPlace.ts';
import { examples } from '../../../../../webview/query/examples.ts';
import { sqlOf } from '../../../../../webview/query/formSql.ts';
import { emptyForm, formColumns } from '../../../../../webview/query/queryForm.ts';
import { histogramOf, histogramSql, sortedSql } from '../../../../../webview/query/statements.ts';
import { builtProgram } from '../../../../support/programs.ts';

const root = join(import.meta.dirname, '../../../../..');
const trl = join(root, 'test/fixtures/trl-run');
const verl = join(root, 'test/fixtures/verl');

/** Runs the session on the real index worker, with runs from other trainers. */
describe('query view session', () => {
	let folder: string;
	let rolloutIndex: IndexClient;
	const sessions: QuerySession[] = [];
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'query-'));
		rolloutIndex = new IndexClient({
			program: builtProgram('dist/rolloutIndex.js'),
			storage: join(folder, 'lab'),
			log: () => undefined,
		});
		rolloutIndex.setRuns([trl, verl]);
		for (const run of [trl, verl]) await rolloutIndex.request('index', { run });
	});
	afterEach(() => {
		for (const session of sessions.splice(0)) session.dispose();
	});
	after(async () => {
		rolloutIndex.dispose();
		await rm(folder, { recursive: true, force: true });
	});

	function open(runs: readonly string[] = [trl, verl]) {
		const events: QueryEvent[] = [];
		let history: readonly string[] = [];
		const session = new QuerySession({
			rolloutIndex,
			runs: () => runs.map((run): KnownRun => ({ folder: run, name: run.split('/').at(-1) ?? '', format: 'x' })),
			post: (event) => events.push(decodeOrThrow(queryEventSchema, structuredClone(event), 'An event')),
			history: {
				read: () => history,
				write: (next) => {
					history = next;
				},
			},
			newsMs: 5,
		});
		sessions.push(session);
		const until = async <T>(what: string, find: () => T | undefined | null | false): Promise<T> => {
			const end = Date.now() + 20_000;
			for (;;) {
				const found = find();
				if (found) return found;
				if (Date.now() > end) assert.fail(`Timed out waiting for: ${what}`);
				await new Promise((resolve) => setTimeout(resolve, 5));
			}
		};
		return { session, events, until, history: () => history };
	}

	const sql = (text: string): Question => ({ kind: 'sql', sql: text, sort: null });
	const columns = formColumns([]);

	it('lists the runs, their index progress and their reward components', async () => {
		const { session, events, until } = open();
		session.begin();
		const result = await until('an overview with components', () =>
			events.find((event) => event.type === 'overview' && event.components.length > 0),
		);
		assert.ok(result.type === 'overview');
		assert.deepEqual(
			result.runs.map(({ folder: run, progress }) => [run, progress?.state]),
			[
				[trl, 'ready'],
				[verl, 'ready'],
			],
		);
		assert.equal(result.fault, null);
		assert.ok(result.components.includes('exact_answer'), result.components.join(', '));
	});

	it('runs the query of the form in any sort order, with rows that reference their rollouts', async () => {
		const { session, history } = open();
		const text = sqlOf({ ...emptyForm, sort: { column: 'reward', descending: true } }, [trl], columns);
		const table = await session.run(1, sql(text), text, 5);
		assert.equal(table.rows.length, 5);
		assert.equal(table.truncated, true);
		assert.deepEqual(new Set(table.refs?.map((ref) => ref?.run)), new Set([trl]));
		const again = sortedSql(`${text} -- all`, { column: 'characters', descending: false });
		const sorted = await session.run(2, sql(again), again, 1000);
		const at = sorted.columns.findIndex(({ name }) => name === 'characters');
		const lengths = sorted.rows.map((row) => row[at] as number);
		assert.deepEqual(
			lengths,
			lengths.toSorted((a, b) => a - b),
		);
		assert.ok(sorted.refs?.every((ref) => ref !== null));
		assert.deepEqual(history(), [again, text]);
	});

	it('runs every example query and a histogram query', async () => {
		const { session } = open();
		for (const [i, { title, sql: text }] of examples.entries()) {
			const table = await session.run(10 + i, sql(text), text, 100);
			assert.ok(table.columns.length > 1, title);
		}
		const { rows } = await session.side(30, histogramSql('FROM rollouts', 'characters'), 1000);
		const { bins } = histogramOf(rows);
		const [[all] = []] = (await session.side(31, 'SELECT count(*) FROM rollouts', 1)).rows;
		assert.equal(
			bins.reduce((sum, bin) => sum + bin.rows, 0),
			all,
		);
	});

	it('reports an error with its position and adds it to the history', async () => {
		const { session, events } = open();
		const text = 'SELECT step\nFROM rolloutz';
		await assert.rejects(session.run(1, sql(text), text, 10), (error: Failure) => {
			const place = errorPlace(error.message, text);
			assert.equal(place && text.slice(place.start, place.end), 'rolloutz', error.message);
			return error.reason === 'invalid';
		});
		session.begin();
		const snapshot = events.find((event) => event.type === 'snapshot');
		assert.equal(snapshot?.type === 'snapshot' && snapshot.answer?.kind, 'failure');
		for (const denied of [
			"COPY rollouts TO '/tmp/x'",
			"SELECT * FROM read_text('/etc/passwd')",
			'DROP VIEW rollouts',
		]) {
			await assert.rejects(session.run(2, sql(denied), denied, 10), Failure, denied);
		}
	});

	it('streams hits; a view reloaded in the meantime gets the earlier hits and then the rest', async () => {
		const { session, events, until } = open();
		session.begin();
		const question: Question = {
			kind: 'search',
			query: { pattern: '\\d', regex: true, caseSensitive: false },
			filter: { runs: [trl], where: 'characters > 0' },
		};
		const searching = session.search(7, question);
		session.begin();
		const end = await searching;
		assert.ok(end.hits > 0 && end.complete);
		const last = await until('the complete answer', () =>
			events.findLast(
				(event) => event.type === 'snapshot' && event.answer?.kind === 'hits' && event.answer.end !== null,
			),
		);
		assert.ok(last.type === 'snapshot' && last.answer?.kind === 'hits');
		assert.equal(last.busy, null);
		assert.equal(last.answer.hits.length, end.hits);
		assert.ok(last.answer.hits.every(({ run, match }) => run === trl && /^\d$/.test(match)));
	});

	it('cancels immediately, and a new query cancels the previous one', async () => {
		const { session } = open();
		const endless = 'SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range * b.range % 7 = 3';
		const first = session.run(1, sql(endless), endless, 1);
		const canceled = (error: Failure) => error.reason === 'cancelled';
		const failed = assert.rejects(first, canceled);
		const [[one] = []] = (await session.run(2, sql('SELECT 1'), 'SELECT 1', 1)).rows;
		await failed;
		assert.equal(one, 1);
		const third = assert.rejects(session.run(3, sql(endless), endless, 1), canceled);
		session.cancel(3);
		await third;
	});

	it('exports the whole result as CSV and Parquet', async () => {
		const { session } = open();
		const text = 'SELECT run, step, reward FROM rollouts ORDER BY ALL; -- all';
		const csv = join(folder, 'rows.csv');
		const { rows, bytes } = await session.export(1, text, csv, 'csv');
		const lines = (await readFile(csv, 'utf8')).trimEnd().split('\n');
		assert.equal(lines[0]?.trim(), 'run,step,reward');
		assert.equal(lines.length, rows + 1);
		assert.equal((await readFile(csv)).length, bytes);
		const parquet = join(folder, 'rows.parquet');
		assert.equal((await session.export(2, text, parquet, 'parquet')).rows, rows);
		assert.equal((await readFile(parquet)).subarray(0, 4).toString(), 'PAR1');
	});

	it('explains why the index is unavailable, and continues once it is available', async () => {
		const broken = new IndexClient({ program: join(folder, 'missing.js'), storage: null, log: () => undefined });
		const events: QueryEvent[] = [];
		const session = new QuerySession({
			rolloutIndex: broken,
			runs: () => [],
			post: (event) => events.push(event),
			history: { read: () => [], write: () => undefined },
			newsMs: 5,
		});
		sessions.push(session);
		try {
			session.begin();
			const end = Date.now() + 20_000;
			while (!events.some((event) => event.type !== 'hits' && event.fault !== null)) {
				assert.ok(Date.now() < end, 'no error was reported within 20 seconds');
				await new Promise((resolve) => setTimeout(resolve, 10));
			}
			const fault = events.find((event) => event.type !== 'hits' && event.fault !== null);
			assert.ok(fault?.type !== 'hits' && fault?.fault?.reason === 'unavailable');
		} finally {
			session.dispose();
			broken.dispose();
		}
	});
});
