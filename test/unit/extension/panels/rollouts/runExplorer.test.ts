import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import { behaviors } from '../../../../../src/core/trace/behaviorNames.ts';
import { countBehaviors, findBehaviors } from '../../../../../src/core/trace/behaviors.ts';
import { scanBehaviors } from '../../../../../src/extension/panels/rollouts/behaviorScan.ts';
import type { IndexAnswers } from '../../../../../src/extension/panels/rollouts/indexedScan.ts';
import { answerOf, scanPrompt } from '../../../../../src/extension/panels/rollouts/promptScan.ts';
import { recordedValues } from '../../../../../src/extension/panels/rollouts/rolloutDetail.ts';
import { RolloutsSource } from '../../../../../src/extension/panels/rollouts/rolloutsSource.ts';
import { RunExplorer, type RunExplorerOptions } from '../../../../../src/extension/panels/rollouts/runExplorer.ts';
import { coarseToFine, type ScanCount, scanRun } from '../../../../../src/extension/panels/rollouts/runScan.ts';
import type { BehaviorRow, ExplorerEvent, PromptRow } from '../../../../../src/protocol/explorerMessages.ts';
import type { Place } from '../../../../../src/protocol/rolloutsMessages.ts';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { rolloutPath } from '../../../../../src/runs/runFiles.ts';
import { builtProgram } from '../../../../support/programs.ts';
import { toolMessages, writeExploredRun } from '../../../webview/rollouts/exploredRunFixture.ts';

const r1 = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } as const;
const idle = { aborted: false, addEventListener: () => undefined } as unknown as AbortSignal;
const fresh = (): ScanCount => ({ done: 0, total: 0, rollouts: 0, skipped: 0, bounded: false });

let root = '';
let run = '';
before(async () => {
	root = await mkdtemp(join(tmpdir(), 'rollouts-explorer-'));
	run = join(root, 'bakery');
	await writeExploredRun(run);
});
after(() => rm(root, { recursive: true, force: true }));

test('a run is scanned coarse to fine, visiting every step once', () => {
	for (const count of [0, 1, 2, 3, 7, 100, 1001]) {
		const order = coarseToFine(count);
		assert.deepEqual(
			[...order].sort((a, b) => a - b),
			[...Array(count).keys()],
		);
	}
	// After n steps, the largest gap between visited neighbors is at most twice that of n evenly spaced steps.
	const order = coarseToFine(1000);
	for (const known of [10, 50, 200]) {
		const seen = order.slice(0, known).sort((a, b) => a - b);
		const gap = Math.max(...seen.slice(1).map((at, i) => at - (seen[i] as number)));
		assert.ok(gap <= (2.1 * 1000) / (known - 1), `${gap} after ${known}`);
	}
});

test('the same prompt is found at every step, with its answers', async () => {
	const rows: PromptRow[] = [];
	const count = fresh();
	const content = await openRun(run);
	const { prompt } = await new RolloutsSource(run).rollout(12, 0, 0);
	await scanPrompt(content, { split: 'train', step: 12, prompt }, r1, false, count, (row) => rows.push(row), idle);
	assert.deepEqual(rows[0] && [rows[0].step, rows[0].group], [12, 0], 'the step on display comes first');
	assert.deepEqual(
		rows.map(({ step, group }) => `${step}/${group}`).sort(),
		[...Array.from({ length: 12 }, (_, i) => `${i + 1}/0`), '12/3'].sort(),
	);
	assert.deepEqual([count.done, count.total, count.rollouts, count.skipped, count.bounded], [12, 12, 149, 0, false]);
	const first = rows.find(({ step }) => step === 1);
	assert.deepEqual(new Set(first?.answer), new Set(['107']));
	assert.deepEqual(first?.correct, [false, false, false, false, false, false]);
	assert.ok(rows.find(({ group }) => group === 3)?.answer.includes('42'));
});

test('answers are extracted from tags, boxes and sentences, and are null if there is none', () => {
	assert.equal(answerOf('<think>x</think><answer> 97 </answer>', r1), '97');
	assert.equal(answerOf('so \\boxed{12}', r1), '12');
	assert.equal(answerOf('hm', r1), null);
	assert.equal(answerOf(toolMessages, r1), '87');
	assert.ok((answerOf(`<answer>${'long '.repeat(900)}</answer>`, r1)?.length ?? 0) <= 120);
});

test('behaviors are counted per step, with an example of each', async () => {
	const rows: BehaviorRow[] = [];
	await scanBehaviors(await openRun(run), 'train', r1, false, fresh(), (row) => rows.push(row), idle);
	assert.equal(rows.length, 12);
	const last = rows.find(({ step }) => step === 12);
	assert.equal(last?.rollouts, 17);
	const verification = behaviors.indexOf('verification');
	assert.ok((last?.showing[verification] ?? 0) > (rows.find(({ step }) => step === 1)?.showing[verification] ?? 9));
	const example = last?.examples.find(({ behavior }) => behavior === verification);
	assert.ok(example);
	const line = await new RolloutsSource(run).rollout(12, example.group, example.index);
	assert.ok(JSON.stringify(line.completion).includes(example.match));
});

test('a long completion is counted in parts with the same result as the whole, and truncated unless the full scan is requested', async () => {
	const long = join(root, 'long');
	await writeExploredRun(long, 1);
	// A phrase crosses every likely part boundary.
	const text = `Wait, ${'so '.repeat(11)}x `.repeat(6200);
	const [plain = '{}'] = (await readFile(rolloutPath(long, 1), 'utf8')).split('\n');
	const { tokens: _, ...line } = JSON.parse(plain) as Record<string, unknown>;
	await writeFile(rolloutPath(long, 1), `${JSON.stringify({ ...line, completion: text })}\n`);
	const scan = async (all: boolean) => {
		const rows: BehaviorRow[] = [];
		const count = fresh();
		await scanBehaviors(await openRun(long), 'train', r1, all, count, (row) => rows.push(row), idle);
		return { total: rows[0]?.total, bounded: count.bounded, examples: rows[0]?.examples };
	};
	const whole = countBehaviors(findBehaviors(text));
	const all = await scan(true);
	assert.deepEqual(
		all.total,
		behaviors.map((behavior) => whole[behavior]),
	);
	assert.equal(all.bounded, false);
	assert.equal(all.examples?.[0]?.match, 'Wait');
	assert.equal(all.examples[0].before, '');
	const some = await scan(false);
	assert.equal(some.bounded, true);
	assert.ok((some.total?.[behaviors.indexOf('reflection')] ?? 0) > 4000);
});

test('a scan stops at its limits and reports that, and stops when canceled', async () => {
	const content = await openRun(run);
	const count = fresh();
	await scanRun(content, 'train', { rollouts: 30, perStep: 4 }, null, () => undefined, count, idle);
	assert.equal(count.bounded, true);
	assert.ok(count.done < 12 && count.rollouts <= 34, JSON.stringify(count));
	const stop = new AbortController();
	const seen: number[] = [];
	const read = (step: number, rollout: unknown) => {
		if (rollout === null) seen.push(step);
		if (seen.length === 2) stop.abort();
	};
	const bounds = { rollouts: Number.POSITIVE_INFINITY, perStep: Number.POSITIVE_INFINITY };
	await assert.rejects(
		scanRun(content, 'train', bounds, null, read, fresh(), stop.signal),
		(error) => Failure.from(error).reason === 'cancelled',
	);
	assert.equal(seen.length, 2);
});

test('unreadable lines are counted, and the rest are scanned', async () => {
	const torn = join(root, 'torn');
	await writeExploredRun(torn, 4);
	const path = rolloutPath(torn, 2);
	await writeFile(path, `not json\n${await readFile(path, 'utf8')}{"step":2,"torn`);
	await writeFile(rolloutPath(torn, 3), 'nothing\nof use\n');
	const count = fresh();
	const rows: BehaviorRow[] = [];
	await scanBehaviors(await openRun(torn), 'train', r1, false, count, (row) => rows.push(row), idle);
	assert.deepEqual(rows.map(({ step }) => step).sort(), [1, 2, 4]);
	assert.equal(count.skipped, 4);
});

test('only columns that contain a number count as recorded', () => {
	const text = ['a'];
	assert.deepEqual(recordedValues({ tokens: undefined }), []);
	assert.deepEqual(recordedValues({ tokens: { text, logprob: [null], entropy: [1] } }), ['entropy']);
	assert.deepEqual(recordedValues({ tokens: { text, logprob: [-1], refLogprob: [-1], advantage: [null] } }), [
		'logprob',
		'kl',
	]);
	assert.deepEqual(recordedValues({ tokens: { text, logprob: [-1], oldLogprob: [-1], advantage: [0] } }), [
		'logprob',
		'ratio',
		'advantage',
	]);
});

function open(
	t: TestContext,
	folder: string,
	continueFrom: RunExplorerOptions['continueFrom'] = () => Promise.reject(new Failure('unavailable', 'none')),
	rolloutIndex: RunExplorerOptions['rolloutIndex'] = null,
	rater = 'ada',
) {
	const source = new RolloutsSource(folder);
	const events: ExplorerEvent[] = [];
	const waiting: (() => void)[] = [];
	const explorer = new RunExplorer({
		content: () => source.content(),
		rollout: ({ split, step, group, index }) => source.rollout(step, group, index, split),
		tags: () => r1,
		rater: () => rater,
		post: (event) => {
			events.push(event);
			for (const wake of waiting.splice(0)) wake();
		},
		continueFrom,
		rolloutIndex,
		updateMs: 5,
	});
	t.after(() => explorer.dispose());
	const until = async (holds: (event: ExplorerEvent) => boolean): Promise<ExplorerEvent> => {
		for (;;) {
			const event = events.find(holds);
			if (event) return event;
			await new Promise<void>((resolve) => waiting.push(resolve));
		}
	};
	return { explorer, events, until };
}

const place: Place = { split: 'train', step: 12, group: 0, index: 0 };

test('labels are saved next to the run immediately, and loaded only for the same segmentation', async (t) => {
	const { explorer } = open(t, run);
	const { readers } = explorer;
	const started = await readers.loadLabels(place);
	assert.equal(started.rule, 'lines');
	assert.deepEqual(new Set(started.ratings), new Set([null]));
	const { rollout } = await readers.loadRollout(place);
	const parts = started.steps.map(({ start, end }) => rollout.completion?.slice(start, end));
	assert.equal(parts.at(-1), '97', 'the answer is the last step');
	const ratings = started.steps.map((_, i) => (i === 0 ? 1 : i === 1 ? -1 : null)) as (1 | -1 | null)[];
	await readers.saveLabels({ ...place, rule: 'lines', ratings });
	const lines = (await readFile(join(run, 'annotations/labels.jsonl'), 'utf8')).trim().split('\n');
	assert.equal(lines.length, 1);
	const saved = JSON.parse(lines[0] ?? '') as { steps: { text: string; rating: number | null }[]; index: number };
	assert.deepEqual(
		saved.steps.map(({ rating }) => rating),
		ratings,
	);
	assert.equal(saved.steps[0]?.text, parts[0]);
	const again = open(t, run).explorer.readers;
	assert.deepEqual((await again.loadLabels(place)).ratings, ratings);
	const other = await again.loadLabels({ ...place, rule: 'sentences' });
	assert.deepEqual(new Set(other.ratings), new Set([null]));
	await assert.rejects(readers.saveLabels({ ...place, rule: 'lines', ratings: [1] }), /ratings/);
	await assert.rejects(readers.saveLabels({ ...place, rule: '../x', ratings }), /not a valid splitting rule/);
});

test('a scan reports results incrementally, then its end', async (t) => {
	const { explorer, events, until } = open(t, run);
	explorer.take({ type: 'scanPrompt', scan: 3, split: 'train', step: 12, group: 0, all: false });
	const end = await until((event) => event.type === 'promptScan' && event.state !== 'running');
	assert.equal(end.type === 'promptScan' && end.state, 'complete');
	const rows = events.flatMap((event) => (event.type === 'promptScan' ? event.rows : []));
	assert.equal(rows.length, 13);
	explorer.take({ type: 'scanPrompt', scan: 4, split: 'train', step: 12, group: 77, all: false });
	const failed = await until((event) => event.type === 'promptScan' && event.scan === 4 && event.state !== 'running');
	assert.match((failed.type === 'promptScan' && failed.failure?.message) || '', /no group 77/);
	explorer.take({ type: 'scanBehaviors', scan: 5, split: 'train', all: true });
	explorer.take({ type: 'stopScan', scan: 5 });
	const stopped = await until((event) => event.type === 'behaviorScan' && event.state !== 'running');
	assert.equal(stopped.type === 'behaviorScan' && stopped.state, 'stopped');
});

test('a scan from a closed webview does not end a later scan with the same number', async (t) => {
	const { explorer, events, until } = open(t, run);
	const begin = () => explorer.take({ type: 'scanPrompt', scan: 1, split: 'train', step: 12, group: 0, all: false });
	begin();
	await until((event) => event.type === 'promptScan' || event.type === 'behaviorScan');
	events.length = 0;
	begin();
	explorer.stop();
	begin();
	const end = await until((event) => event.type === 'promptScan' && event.state !== 'running');
	assert.equal(end.type === 'promptScan' && end.state, 'complete');
	const rows = events.flatMap((event) => (event.type === 'promptScan' ? event.rows : []));
	assert.equal(rows.length, 13);
});

test('a continuation streams, can be stopped, and reports failures with a reason', async (t) => {
	const asked: { readonly prompt: string }[] = [];
	const { explorer, events, until } = open(t, run, async () => ({
		policy: async () => ({ ready: true, message: '', action: null, temperature: 1, maxTokens: 4 }),
		generate: async (request, onText, signal) => {
			asked.push(request);
			if (request.prefix === 'fail') throw new Failure('invalid', 'The text does not fit the vocabulary.');
			onText(' one');
			await new Promise((resolve, reject) => {
				if (request.prefix === 'go') setTimeout(resolve, 30);
				signal?.addEventListener('abort', () => reject(new Failure('cancelled', 'Canceled.')));
			});
			onText(' two');
			return { text: ' one two', ended: true };
		},
	}));
	const begin = (continuation: number, prefix: string) =>
		explorer.take({ type: 'continueFrom', continuation, ...place, prefix, maxTokens: 4, temperature: 1 });
	const ended = (continuation: number) =>
		until((event) => event.type === 'continuation' && event.continuation === continuation && event.state !== 'running');
	begin(1, 'go');
	await ended(1);
	const texts = events.flatMap((event) => (event.type === 'continuation' ? [event.text] : []));
	assert.equal(texts.join(''), ' one two');
	assert.ok(texts.length >= 2, 'the text arrives in parts');
	assert.match(asked[0]?.prompt ?? '', /bakery/);
	begin(2, 'wait');
	await until((event) => event.type === 'continuation' && event.continuation === 2 && event.text === ' one');
	explorer.take({ type: 'stopContinuation', continuation: 2 });
	const stopped = await ended(2);
	assert.equal(stopped.type === 'continuation' && stopped.state, 'stopped');
	begin(3, 'fail');
	const failed = await ended(3);
	assert.match((failed.type === 'continuation' && failed.failure?.message) || '', /vocabulary/);
});

test('messages are passed as turns with their branches', async (t) => {
	const { readers } = open(t, run).explorer;
	const { turns, parents } = await readers.loadTurns({ ...place, group: 3, index: 3 });
	assert.equal(turns.length, 6);
	assert.deepEqual(parents, [null, 0, 1, 1, 3, 4]);
	assert.deepEqual(turns[0]?.calls, [{ id: 'call_1', name: 'calculate', arguments: '{"expression":"13 * 8"}' }]);
	const { rollout } = await readers.loadRollout({ ...place, group: 3, index: 3 });
	assert.equal(rollout.turns, 6);
	assert.match(rollout.completion ?? '', /<think>\nLet me check which tool/);
});

test('the index returns the same rows as a scan of the run, and is reported as the source', async (t) => {
	const { IndexClient } = await import('../../../../../src/extension/rolloutIndex/indexClient.ts');
	const client = new IndexClient({
		program: builtProgram('dist/rolloutIndex.js'),
		storage: null,
		log: () => undefined,
	});
	t.after(() => client.dispose());
	await client.request('index', { run });
	const answers = { started: true, request: client.request.bind(client) as IndexAnswers['request'] };
	const gone = async (rolloutIndex: RunExplorerOptions['rolloutIndex']) => {
		const { explorer, events, until } = open(t, run, undefined, rolloutIndex);
		explorer.take({ type: 'scanPrompt', scan: 1, split: 'train', step: 12, group: 0, all: true });
		await until((event) => event.type === 'promptScan' && event.state !== 'running');
		explorer.take({ type: 'scanBehaviors', scan: 2, split: 'train', all: true });
		await until((event) => event.type === 'behaviorScan' && event.state !== 'running');
		const prompts = events.flatMap((event) => (event.type === 'promptScan' ? event.rows : []));
		const reasoning = events.flatMap((event) => (event.type === 'behaviorScan' ? event.rows : []));
		const ends = events.filter((event) => event.type !== 'continuation' && event.state !== 'running');
		return {
			indexed: ends.map((event) => event.type !== 'continuation' && event.indexed),
			states: ends.map(({ state }) => state),
			prompts: prompts.sort((a, b) => a.step - b.step || a.group - b.group),
			reasoning: reasoning
				.sort((a, b) => a.step - b.step)
				.map(({ examples, ...row }) => ({ ...row, of: examples.length })),
		};
	};
	const [by, through] = [await gone({ answers, folder: run }), await gone(null)];
	assert.deepEqual(
		[by.indexed, through.indexed],
		[
			[true, true],
			[false, false],
		],
	);
	assert.deepEqual(by.states, ['complete', 'complete']);
	assert.deepEqual(by.prompts, through.prompts);
	assert.deepEqual(by.reasoning, through.reasoning);
	const asleep = await gone({ answers: { ...answers, started: false }, folder: run });
	assert.deepEqual(asleep.indexed, [false, false], 'no worker is started for a scan');
});

test('ratings and comparisons are stored next to the run, separately for each user', async (t) => {
	const folder = run;
	const ada = open(t, folder).explorer.readers;
	const bob = open(t, folder, undefined, null, 'bob').explorer.readers;
	const group = { split: place.split, step: place.step, group: place.group };
	assert.deepEqual(await ada.loadFeedback(group), { rater: 'ada', completions: [] });
	await ada.saveRating({ ...place, rating: 4 });
	await bob.saveRating({ ...place, rating: 2 });
	assert.deepEqual((await ada.loadFeedback(group)).completions, [
		{ index: place.index, mine: 4, others: [{ rater: 'bob', rating: 2 }] },
	]);
	await ada.saveRating({ ...place, rating: null });
	assert.deepEqual((await bob.loadFeedback(group)).completions, [{ index: place.index, mine: 2, others: [] }]);

	const other = { ...place, index: place.index + 1 };
	assert.deepEqual(await ada.loadPreference({ a: place, b: other }), { samePrompt: true, choice: null });
	await ada.savePreference({ a: place, b: other, choice: 'b' });
	assert.equal((await ada.loadPreference({ a: other, b: place })).choice, 'a');
	assert.equal((await bob.loadPreference({ a: place, b: other })).choice, null);
	const elsewhere = { ...place, group: place.group + 1 };
	assert.equal((await ada.loadPreference({ a: place, b: elsewhere })).samePrompt, false);
	await assert.rejects(ada.savePreference({ a: place, b: elsewhere, choice: 'a' }), { reason: 'invalid' });
});
