import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Emitter } from '../../../../src/base/event.ts';
import { Failure } from '../../../../src/base/failure.ts';
import { VerificationSession } from '../../../../src/extension/panels/verification/verificationSession.ts';
import { verificationSource } from '../../../../src/extension/panels/verification/verificationSource.ts';
import { Judgments, keyOfPlace } from '../../../../src/extension/rewards/judgments.ts';
import { decode } from '../../../../src/protocol/decode.ts';
import { rowSources } from '../../../../src/protocol/verification.ts';
import {
	type ComparedSummary,
	type ResultEvent,
	type ResultPlace,
	type RowSummary,
	resultCommandSchema,
	resultEventSchema,
} from '../../../../src/protocol/verificationMessages.ts';
import { absence } from '../../../../webview/verification/absence.ts';
import { lineRanges, whyUndefined } from '../../../../webview/verification/componentPanel.ts';
import { distribution } from '../../../../webview/verification/distribution.ts';
import { axisLabels } from '../../../../webview/verification/distributionChart.ts';
import { expectationText } from '../../../../webview/verification/rowBadges.ts';
import {
	type comparedKinds,
	filterCompared,
	filterVerified,
	noFilters,
	surprisingRows,
	verifiedKinds,
} from '../../../../webview/verification/rowFilters.ts';
import {
	comparedOrders,
	sortCompared,
	sortVerified,
	verifiedOrders,
} from '../../../../webview/verification/rowOrder.ts';
import { savedStateSchema } from '../../../../webview/verification/savedState.ts';
import { placeValues } from '../../../../webview/verification/valueStrip.ts';
import { comparedOn, recordedRun, resultsProject } from './verificationFixture.ts';
import { VerificationsOfTest } from './verificationHarness.ts';

/** Creates a generator of numbers in [0, 1) (mulberry32). */
function random(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
}

function randomRows(seed: number, count: number): RowSummary[] {
	const next = random(seed);
	return Array.from({ length: count }, (_, i) => {
		const error = next() < 0.1 ? 'failed' : null;
		return {
			source: rowSources[Math.floor(next() * rowSources.length)] as RowSummary['source'],
			label: `row ${i % 17}`,
			group: next() < 0.2 ? null : Math.floor(next() * 9),
			prompt: 'p',
			completion: 'c',
			size: 1,
			truncated: false,
			value: error !== null || next() < 0.1 ? null : Math.round((next() * 2 - 1) * 4) / 4,
			error,
			...(next() < 0.3 ? { recorded: next() < 0.3 ? null : 0.25, passed: next() < 0.5 } : {}),
			others: {},
			hasPlace: false,
		};
	});
}

const compared = (changes: Partial<ComparedSummary>, i: number): ComparedSummary => ({
	step: 1,
	group: i % 3,
	index: i,
	prompt: '',
	completion: '',
	size: 0,
	truncated: false,
	before: 0,
	after: 0,
	advantageBefore: 0,
	advantageAfter: 0,
	flipped: false,
	error: null,
	...changes,
});

describe('verification rows', () => {
	test('filtering and sorting neither lose nor add rows (seeded)', () => {
		for (let seed = 0; seed < 40; seed++) {
			const rows = randomRows(seed, 60);
			const every = rows.map((_, i) => i);
			assert.deepEqual(filterVerified(rows, noFilters, null), every);
			for (const kind of verifiedKinds) {
				const passing = filterVerified(rows, { ...noFilters, kind }, null);
				assert.deepEqual(
					passing,
					[...new Set(passing)].sort((a, b) => a - b),
				);
				const found = new Set([3, 5, 7]);
				const both = filterVerified(rows, { ...noFilters, kind }, found);
				assert.deepEqual(
					both,
					passing.filter((i) => found.has(i)),
					kind,
				);
				for (const order of verifiedOrders) {
					const sorted = sortVerified(rows, passing, order);
					assert.deepEqual(
						[...sorted].sort((a, b) => a - b),
						passing,
						`${kind}, ${order}`,
					);
				}
			}
			const byValue = sortVerified(rows, every, 'value-high').map((i) => rows[i]?.value ?? null);
			const valued = byValue.filter((value) => value !== null);
			assert.deepEqual(
				valued,
				valued.toSorted((a, b) => b - a),
			);
			assert.ok(
				byValue.slice(valued.length).every((value) => value === null),
				'rows without a value come last',
			);
		}
	});

	test('each bar of the distribution contains the rows that its filter shows (seeded)', () => {
		for (let seed = 0; seed < 20; seed++) {
			const rows = randomRows(seed, 80).map((row, i) => ({
				...row,
				value: row.value === null ? null : row.value + i / 100,
			}));
			const { bins, sources } = distribution(rows, 8);
			assert.equal(bins.length, 8);
			let total = 0;
			for (const { low, high, open, total: count, counts } of bins) {
				assert.equal(filterVerified(rows, { ...noFilters, range: { low, high, open } }, null).length, count);
				assert.equal(
					sources.reduce((sum, source) => sum + counts[source], 0),
					count,
				);
				total += count;
			}
			assert.equal(total, rows.filter(({ value }) => value !== null).length);
		}
	});

	test('a few distinct values get one bar each, and none are lost at the ends', () => {
		const rows = [0, 1, 1, 0.5].map((value) => ({ value, source: 'gold' as const }));
		const { bins, highest } = distribution(rows);
		assert.deepEqual(
			bins.map(({ low, total }) => [low, total]),
			[
				[0, 1],
				[0.5, 1],
				[1, 2],
			],
		);
		assert.equal(highest, 2);
		assert.deepEqual(axisLabels(bins), ['0', '0.5', '1']);
		assert.deepEqual(distribution([]).bins, []);
	});

	test('an incorrect answer that scores at least as high as a correct one is surprising, and so is the correct one', () => {
		const row = (source: RowSummary['source'], group: number, value: number | null) =>
			({ source, group, value, prompt: '', error: null }) as RowSummary;
		const rows = [
			row('gold', 1, 1),
			row('wrong', 1, 0),
			row('wrong', 1, 1),
			row('gold', 2, 1),
			row('wrong', 2, 0.9),
			row('wrong', 2, null),
		];
		assert.deepEqual([...surprisingRows(rows)].sort(), [0, 2]);
	});

	test('among equal values, surprising rows come first at both ends', () => {
		const rows = (['wrong', 'gold', 'wrong', 'gold'] as const).map(
			(source) => ({ source, value: 1, group: null }) as unknown as RowSummary,
		);
		assert.deepEqual(sortVerified(rows, [0, 1, 2, 3], 'value-high'), [0, 2, 1, 3]);
		assert.deepEqual(sortVerified(rows, [0, 1, 2, 3], 'value-low'), [1, 3, 0, 2]);
	});
});

test('comparison rows are filtered and sorted, and a change to or from null is the largest', () => {
	const rows = [
		compared({ after: 0.5, flipped: true }, 0),
		compared({ after: null }, 1),
		compared({ advantageBefore: 1, advantageAfter: -1 }, 2),
		compared({ after: -2, error: 'failed' }, 3),
	];
	const of = (kind: (typeof comparedKinds)[number]) => filterCompared(rows, { ...noFilters, kind }, null);
	assert.deepEqual(
		[of('all'), of('flipped'), of('changed'), of('advantage'), of('errors')],
		[[0, 1, 2, 3], [0], [0, 1, 3], [2], [3]],
	);
	assert.deepEqual(sortCompared(rows, [0, 1, 2, 3], 'change'), [1, 3, 0, 2]);
	assert.deepEqual(sortCompared(rows, [0, 1, 2, 3], 'after'), [0, 2, 3, 1]);
	assert.deepEqual(filterCompared(rows, { ...noFilters, group: '1/0' }, null), [0, 3]);
	for (const order of comparedOrders) assert.equal(sortCompared(rows, [0, 1, 2, 3], order).length, 4);
});

describe('text and locations', () => {
	test('explains why a correlation is undefined', () => {
		const rows = (pairs: [number | null, number | null][]) =>
			pairs.map(([value, other]) => ({ value, others: { accuracy: other } }));
		assert.match(
			whyUndefined(
				rows([
					[1, 0],
					[null, 1],
					[2, null],
				]),
				'accuracy',
			),
			/fewer than 3 rows.*\(1\)/,
		);
		assert.match(
			whyUndefined(
				rows([
					[1, 0],
					[1, 1],
					[1, 0],
				]),
				'accuracy',
			),
			/this reward is constant/,
		);
		assert.match(
			whyUndefined(
				rows([
					[1, 1],
					[2, 1],
					[3, 1],
				]),
				'accuracy',
			),
			/^the other reward is constant/,
		);
	});

	test('formats lines as ranges', () => {
		assert.deepEqual(lineRanges([7, 3, 4, 4, 5, 9]), [
			{ first: 3, last: 5 },
			{ first: 7, last: 7 },
			{ first: 9, last: 9 },
		]);
	});

	test('describes what a case expects', () => {
		assert.deepEqual(
			[0.5, null, { min: 0, max: 1 }, { min: 0.5 }, { max: 0 }].map((expect) => expectationText(expect)),
			['0.5', 'null', '0 to 1', 'at least 0.5', 'at most 0'],
		);
	});

	test('keeps values on their strip, even huge ones', () => {
		for (const range of [
			[0, 1],
			[-1e308, 1e308],
			[2, 2],
		] as const) {
			for (const x of placeValues([range[0], range[1], 0.5], range)) assert.ok(x >= 4 && x <= 92, `${range}: ${x}`);
		}
	});

	test('every state without results suggests what to do', () => {
		const act = { again: () => {}, cancel: () => {}, openFile: () => {} };
		const place = { file: '/a.reward.ts', reward: 'a' };
		for (const view of ['verification', 'audit', 'comparison'] as const) {
			for (const phase of ['idle', 'loading', 'running', 'done', 'failed'] as const) {
				const failure = phase === 'failed' ? { message: 'It broke.', action: 'Mend it.' } : null;
				const outcome = absence({ view, ...place, answers: {} }, { phase, failure, stale: false, result: 0 }, act);
				assert.ok(outcome.actions.length > 0 && outcome.title !== '' && outcome.text !== '', `${view}, ${phase}`);
				if (phase === 'failed') assert.match(outcome.text, /It broke\. Mend it\./);
			}
		}
	});
});

describe('a session', () => {
	test('sends a complete snapshot and then states, and rejects requests for rows of a replaced result', async (t) => {
		const project = await resultsProject(t);
		const data = await project.verify();
		const place: ResultPlace = { view: 'verification', file: project.file, reward: 'graded' };
		const verifications = new VerificationsOfTest(project.file);
		const posted: ResultEvent[] = [];
		const session = new VerificationSession({
			place,
			fileLabel: 'a',
			source: verificationSource(place, {
				verifications,
				judgments: { onDidChange: new Emitter<string>().event, get: () => undefined },
			}),
			post: (event) => posted.push(event),
		});
		t.after(() => session.dispose());
		verifications.set({ phase: 'running' });
		assert.equal(posted.length, 0, 'nothing is posted before the page has started');
		session.begin();
		assert.ok(posted[0]?.type === 'snapshot' && posted[0].content === null && posted[0].status.phase === 'running');
		verifications.setResults('graded', { data });
		const [, snapshot] = posted;
		assert.ok(snapshot?.type === 'snapshot' && snapshot.content?.view === 'verification');
		assert.equal(snapshot.content.total, data.rows.length);
		assert.ok(decode(resultEventSchema, structuredClone(snapshot)).ok);
		const { result } = snapshot.status;
		const rows = [...snapshot.content.rows, ...session.rows(result, snapshot.content.rows.length)];
		assert.equal(rows.length, data.rows.length);
		verifications.set({ phase: 'loading' });
		assert.deepEqual(posted.at(-1), {
			type: 'status',
			status: { phase: 'loading', failure: null, stale: false, result },
		});
		assert.equal(session.texts(result, 1).completion, data.rows[1]?.completion);
		assert.deepEqual(
			await session.search(result, data.rows[1]?.completion.toUpperCase() ?? ''),
			data.rows.flatMap(({ completion }, i) => (completion === data.rows[1]?.completion ? i : [])),
		);
		assert.throws(() => session.row(result, data.rows.length), { reason: 'missing' });
		verifications.setResults('graded', { data: { ...data } });
		assert.throws(() => session.texts(result, 1), { reason: 'mismatch' });
		verifications.set({ stale: true });
		const outcome = posted.at(-1);
		assert.ok(outcome?.type === 'status' && outcome.status.stale);
		session.begin();
		const last = posted.at(-1);
		assert.ok(last?.type === 'snapshot' && last.status.stale);
	});

	test('sends a comparison, and knows which run its rows come from', async (t) => {
		const project = await resultsProject(t);
		const run = await recordedRun(project);
		const comparison = await comparedOn(t, run, project.made);
		const place: ResultPlace = { view: 'comparison', file: project.file, reward: 'graded', answers: { run } };
		const judgments = new Judgments();
		t.after(() => judgments.dispose());
		await judgments.run(place, new AbortController().signal, async () => comparison);
		const posted: ResultEvent[] = [];
		const source = verificationSource(place, { verifications: new VerificationsOfTest(project.file), judgments });
		const session = new VerificationSession({ place, fileLabel: 'a', source, post: (event) => posted.push(event) });
		t.after(() => session.dispose());
		session.begin();
		const [snapshot] = posted;
		assert.ok(snapshot?.type === 'snapshot' && snapshot.content?.view === 'comparison');
		const flipped = snapshot.content.rows.filter((row) => row.flipped).length;
		assert.equal(flipped, comparison.summary.flipped, 'the rows match the count in the summary');
		assert.deepEqual(session.rollout(1, 95), { run, step: 2, group: 5 });
	});
});

describe('judgments', () => {
	const place: ResultPlace = { view: 'audit', file: '/a.reward.ts', reward: 'a' };
	const never = () => new AbortController().signal;

	test('a newer start ends an older one, which then changes nothing', async () => {
		const judgments = new Judgments();
		const first = assert.rejects(
			judgments.run(
				place,
				never(),
				(signal) => new Promise<never>((_, no) => signal.addEventListener('abort', () => no(signal.reason))),
			),
			{ reason: 'cancelled' },
		);
		const failed = assert.rejects(
			judgments.run(place, never(), () => Promise.reject(new Failure('timeout', 'Too long.'))),
			{ reason: 'timeout' },
		);
		await first;
		await failed;
		assert.deepEqual([judgments.get(place)?.phase, judgments.get(place)?.failure?.message], ['failed', 'Too long.']);
		judgments.forget(place);
		assert.equal(judgments.get(place), undefined);
		judgments.dispose();
	});

	test('weights in a different order identify the same comparison', () => {
		const at = (weights: Record<string, number>): ResultPlace => ({
			view: 'comparison',
			file: '/a.reward.ts',
			reward: 'a',
			answers: { run: '/r', with: 'weights', weights },
		});
		assert.equal(keyOfPlace(at({ a: 1, b: 2 })), keyOfPlace(at({ b: 2, a: 1 })));
		assert.notEqual(keyOfPlace(at({ a: 1, b: 2 })), keyOfPlace(at({ a: 2, b: 1 })));
	});
});

test('commands and saved states are decoded', () => {
	for (const bad of [
		{ type: 'openFile', line: 0 },
		{ type: 'choosePart', part: 'other' },
		{ type: 'run', command: 'x' },
		null,
	]) {
		assert.ok(!decode(resultCommandSchema, bad).ok, JSON.stringify(bad));
	}
	const state = {
		place: { view: 'audit', file: '/a.reward.ts', reward: 'a' },
		part: null,
		filters: noFilters,
		order: 'list',
		groupOrder: 'wide',
		outcome: 'all',
		row: null,
	};
	assert.ok(decode(savedStateSchema, state).ok);
	assert.ok(!decode(savedStateSchema, { ...state, order: 'other' }).ok);
	assert.ok(!decode(savedStateSchema, { ...state, place: { view: 'audit', file: '', reward: 'a' } }).ok);
});
