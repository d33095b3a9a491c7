import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { Random } from '../../../../src/base/random.ts';
import { behaviors } from '../../../../src/core/trace/behaviorNames.ts';
import { turnsOf } from '../../../../src/core/trace/messageText.ts';
import type {
	BehaviorRow,
	ExplorerCommand,
	ExplorerEvent,
	PromptRow,
} from '../../../../src/protocol/explorerMessages.ts';
import type { Place, RolloutDetail, TokenColumns, TokenValue } from '../../../../src/protocol/rolloutsMessages.ts';
import { tokenValues } from '../../../../src/protocol/rolloutsMessages.ts';
import { traceCompletion } from '../../../../webview/lib/trace/completionTrace.ts';
import { BehaviorHistory, spread } from '../../../../webview/rollouts/behaviorHistory.ts';
import { Chosen, pairToCompare } from '../../../../webview/rollouts/chosen.ts';
import { commonPrefix } from '../../../../webview/rollouts/commonPrefix.ts';
import {
	comparedNumbers,
	comparisonMarks,
	difference,
	partingOf,
	partingWord,
	type Side,
} from '../../../../webview/rollouts/comparison.ts';
import { ContinuationModel } from '../../../../webview/rollouts/continuationModel.ts';
import { labelAction } from '../../../../webview/rollouts/labelKeys.ts';
import { LabelModel } from '../../../../webview/rollouts/labelModel.ts';
import { answerCounts, changedAnswers } from '../../../../webview/rollouts/promptHistory.ts';
import type { Ask } from '../../../../webview/rollouts/rolloutsState.ts';
import { ScanModel, type ScanProgress, scanWords } from '../../../../webview/rollouts/scanModel.ts';
import { findInText, findingCounts } from '../../../../webview/rollouts/textMarks.ts';
import { levelClass, tokenLevel, tokenScale, valuesOf } from '../../../../webview/rollouts/tokenScale.ts';
import { TurnTree, turnRows } from '../../../../webview/rollouts/turnRows.ts';
import { looping, mixed, toolMessages, toolParents, unfaithful } from './exploredRunFixture.ts';

const r1 = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } as const;
const at = (index: number, changes: Partial<Place> = {}): Place => ({
	split: 'train',
	step: 5,
	group: 2,
	index,
	...changes,
});

test('completions stay selected in the order of selection', () => {
	const chosen = Chosen.none
		.toggled(at(1))
		.toggled(at(2))
		.toggled(at(3, { step: 9 }))
		.toggled(at(1));
	assert.deepEqual(chosen.list, [at(2), at(3, { step: 9 })]);
	assert.ok(chosen.has(at(2)) && !chosen.has(at(2, { split: 'validation' })));
});

test('the last two selected completions are compared; the defaults are the current one and the one with the most different reward', () => {
	const rollouts = [0.2, 1.2, null, 0.9].map((reward, index) => ({ index, reward }));
	assert.deepEqual(pairToCompare([at(7), at(8), at(9)], at(0), rollouts), [at(8), at(9)]);
	assert.deepEqual(pairToCompare([], at(0), rollouts), [at(0), at(1)]);
	assert.deepEqual(pairToCompare([at(3)], at(0), rollouts), [at(3), at(0)]);
	const elsewhere = at(3, { step: 1 });
	assert.deepEqual(pairToCompare([elsewhere], at(0), rollouts), [elsewhere, at(0)]);
	assert.deepEqual(pairToCompare([], null, []), [null, null]);
	assert.deepEqual(pairToCompare([], at(0), [{ index: 0, reward: 1 }]), [at(0), null]);
});

function side(text: string, tokens: readonly string[] | null = null): Side {
	const columns = tokens && {
		text: [...tokens],
		logprob: tokens.map((_, i) => -i),
		oldLogprob: null,
		refLogprob: null,
		entropy: null,
	};
	const rollout = {
		rewards: [],
		reward: null,
		advantage: null,
		tokens: null,
		size: text.length,
	} as unknown as RolloutDetail;
	return {
		place: at(0),
		text,
		tokens: columns,
		content: { step: 5, group: 2, index: 0, prompt: '', answer: null, rollout },
	};
}

test('two completions diverge at a token if tokens were recorded, or else at a character', () => {
	const [a, b] = [side('1 + 23', ['1', ' +', ' 23']), side('1 + 29', ['1', ' +', ' 29'])];
	const parting = partingOf(a, b);
	assert.deepEqual(parting, { common: 2, start: 3, otherStart: 3, unit: 'token' });
	assert.deepEqual(partingWord(a, parting as never, 3), { text: ' 23', logprob: -2 });
	assert.deepEqual(partingOf(side('1 + 23'), side('1 + 29')), {
		common: 5,
		start: 5,
		otherStart: 5,
		unit: 'character',
	});
	assert.equal(partingOf(side('same'), side('same')), null);
	// One ends where the other continues.
	const ends = partingOf(side('ab', ['ab']), side('abc', ['ab', 'c']));
	assert.equal(ends?.unit, 'token');
	assert.equal(partingWord(side('ab', ['ab']), ends as never, 2), null);
	// Tokens that do not add up to the text do not determine a position in it.
	assert.equal(partingOf(side('xy', ['<s>', 'x', 'y']), side('xz', ['<s>', 'x', 'z']))?.unit, 'character');
	// A surrogate pair is one character.
	assert.equal(partingOf(side('a😀'), side('a😁'))?.start, 1);
});

test('the comparison lists each reward once, and counts tokens if both sides have them', () => {
	const numbers = (text: string, values: object): Side => {
		const one = side(text);
		return { ...one, content: { ...one.content, rollout: { ...one.content.rollout, ...values } } };
	};
	const rows = (a: Side, b: Side) =>
		comparedNumbers(a, b).map((row) => [row.name, row.left, row.right, difference(row)]);
	const plain = { reward: 1, advantage: 0.5, rewards: [['reward', 1]] };
	assert.deepEqual(rows(numbers('ab', plain), numbers('abc', { ...plain, reward: 0.25, advantage: null })), [
		['Reward', 1, 0.25, '−0.75'],
		['Advantage', 0.5, null, '–'],
		['Characters', 2, 3, '+1'],
	]);
	const parts = { reward: 1, advantage: 0, tokens: 7, rewards: [['accuracy', 1]] };
	const others = { ...parts, tokens: 7, rewards: [['format', 0.5]] };
	assert.deepEqual(rows(numbers('', parts), numbers('', others)), [
		['Reward', 1, 1, '='],
		['accuracy', 1, null, '–'],
		['format', null, 0.5, '–'],
		['Advantage', 0, 0, '='],
		['Tokens', 7, 7, '='],
	]);
	assert.deepEqual(
		comparedNumbers(numbers('', parts), numbers('', parts)).map(({ name }) => name),
		['Reward', 'accuracy', 'Advantage', 'Tokens'],
	);
});

test('the marks of a comparison cover each text once, whatever it contains (seeded)', () => {
	const random = Random.of(11, 'comparison');
	const letters = ['a', 'b', '😀', '\n', 'é', '\u202e', '<b>'];
	for (let round = 0; round < 300; round++) {
		const start = Array.from({ length: random.int(12) }, () => random.pick(letters)).join('');
		const [a, b] = [0, 1].map(() =>
			side(start + Array.from({ length: random.int(6) }, () => random.pick(letters)).join('')),
		);
		const parting = partingOf(a as Side, b as Side);
		for (const [one, from] of [
			[a, parting?.start],
			[b, parting?.otherStart],
		] as const) {
			const { text } = one as Side;
			let end = 0;
			for (const mark of comparisonMarks(one as Side, parting, from ?? 0)) {
				assert.equal(mark.start, end);
				assert.ok(mark.end > mark.start);
				end = mark.end;
			}
			assert.equal(end, text.length, JSON.stringify([a, b, parting]));
		}
		if (parting) assert.equal((a as Side).text.slice(0, parting.start), (b as Side).text.slice(0, parting.otherStart));
		else assert.equal((a as Side).text, (b as Side).text);
	}
});

test('messages become turns with thinking, calls, linked results and selectable branches', () => {
	const turns = turnsOf(toolMessages as never).map((turn) => ({ ...turn, calls: [...turn.calls] }));
	const tree = new TurnTree({ turns, parents: toolParents });
	assert.deepEqual(tree.leaves, [2, 5]);
	assert.deepEqual(tree.path(5), [0, 1, 3, 4, 5]);
	const rows = turnRows(tree, 5, r1, '87');
	assert.deepEqual(
		rows.map((row) => (row.kind === 'block' ? `${row.kind} ${row.region}` : row.kind)),
		[
			...['head', 'block think', 'block plain', 'call', 'block call', 'head', 'block given', 'branch'],
			...['head', 'call', 'block call', 'head', 'block given', 'head', 'block answer'],
		],
	);
	const heads = rows.filter((row) => row.kind === 'head');
	assert.equal(heads[1]?.answers?.call.name, 'calculate');
	assert.equal(heads[3]?.answers?.call.arguments, '{"expression":"104 - 17"}');
	const calls = rows.filter((row) => row.kind === 'call');
	assert.deepEqual(
		calls.map(({ result }) => result),
		[1, 4],
	);
	const branch = rows.find((row) => row.kind === 'branch');
	assert.deepEqual([branch?.next, branch?.chosen], [[2, 3], 3]);
	assert.equal(tree.leafBelow(3), 5);
	const found = rows
		.flatMap((row) => (row.kind === 'block' ? row.trace.marks : []))
		.filter(({ kind }) => kind === 'found');
	assert.equal(found.length, 2);
	// Chains end at invalid parent indices.
	const wild = new TurnTree({ turns, parents: [5, 0, 1.5, -1, 99, Number.NaN] as never });
	for (const leaf of wild.leaves) assert.ok(wild.path(leaf).length <= turns.length);
});

test('each token coloring has its own scale, and only recorded values are colored', () => {
	const tokens: TokenColumns = {
		text: ['a', 'b', 'c'],
		logprob: [-0.1, -6, null],
		oldLogprob: [-0.1, -5.5, -1],
		refLogprob: [-0.1, -4, -1],
		entropy: null,
		advantage: [0, 0.5, -2],
	};
	const classes = (view: TokenValue, largest = 1) =>
		(valuesOf(view, tokens) ?? []).map((value) => levelClass(view, tokenLevel(view, value, largest)));
	assert.deepEqual(classes('logprob'), ['level-0', 'level-6', 'level-none']);
	// The trainer gives token b e^0.5 times the probability assigned by the sampler.
	assert.deepEqual(classes('ratio'), ['level-0', 'above-6', 'level-none']);
	assert.deepEqual(classes('entropy'), []);
	assert.deepEqual(classes('advantage', 2), ['level-0', 'above-1', 'level-6']);
	assert.equal(classes('kl')[0], 'level-0');
	assert.equal(classes('kl')[1], 'level-6');
	for (const view of tokenValues) {
		const { levels, low, high } = tokenScale(view, 0.9);
		assert.ok(levels.includes(0) && low !== '' && high !== '');
		assert.equal(new Set(levels.map((level) => levelClass(view, level))).size, levels.length);
	}
});

test('inspection finds a conclusion that is not the answer, a loop, and a different language', () => {
	const found = (text: string) => findInText(traceCompletion(text, r1 as never), r1 as never);
	const { faithfulness, ...first } = found(unfaithful);
	assert.deepEqual([faithfulness?.agrees, faithfulness?.concluded, faithfulness?.answer], [false, '97', '42']);
	assert.deepEqual(findingCounts({ faithfulness, ...first }), [['concluded', 1]]);
	assert.ok((found(looping).repetition?.share ?? 0) > 0.8);
	assert.deepEqual(new Set(found(mixed).mix?.stretches.map(({ of }) => of)), new Set(['Han', 'fr']));
	const plain = found('<think>2 + 2 = 4.</think><answer>4</answer>');
	assert.deepEqual([plain.faithfulness?.agrees, plain.repetition, plain.mix], [true, null, null]);
});

const scanEvent = (scan: number, step: number, state: 'running' | 'complete' = 'running'): ExplorerEvent => ({
	...{ type: 'promptScan', scan, state, done: 1, total: 3, rollouts: 8, skipped: 0, indexed: false, failure: null },
	rows: [{ step, group: 0, index: [0], reward: [1], correct: [null], truncated: [false], length: [3], answer: ['4'] }],
});

test('a scan collects its rows in order, and ignores those of a previous scan', () => {
	const posted: ExplorerCommand[] = [];
	const scan = new ScanModel<PromptRow>('promptScan', (command) => posted.push(command));
	const begin = (key: string) =>
		scan.start(key, (number) => ({ type: 'scanPrompt', scan: number, split: 'train', step: 1, group: 0, all: false }));
	begin('a');
	const first = (posted[0] as { scan: number }).scan;
	scan.receive(scanEvent(first, 9));
	scan.receive(scanEvent(first, 3));
	assert.deepEqual(
		scan.rows.map(({ step }) => step),
		[3, 9],
	);
	begin('b');
	assert.deepEqual(
		posted.slice(1).map(({ type }) => type),
		['stopScan', 'scanPrompt'],
	);
	scan.receive(scanEvent(first, 5));
	assert.deepEqual(scan.rows, []);
	const second = (posted[2] as { scan: number }).scan;
	scan.receive(scanEvent(second, 5, 'complete'));
	assert.equal(scan.running, false);
	scan.stop();
	assert.equal(posted.length, 3, 'a finished scan is not stopped again');
	assert.match(
		scanWords({ ...(scan.progress as ScanProgress), state: 'bounded', skipped: 2 }),
		/Read 1 of 3 steps, 8 rollouts · 2 unreadable · .*partial scan/,
	);
});

test('answers to a prompt are counted, and changes of the most frequent answer are detected', () => {
	const row = (step: number, answer: (string | null)[], correct: (boolean | null)[]): PromptRow => ({
		...{ step, group: 0, index: answer.map((_, i) => i), reward: answer.map(() => 1), correct, answer },
		truncated: answer.map(() => false),
		length: answer.map(() => 1),
	});
	const rows = [
		row(1, ['107', '107', '97'], [false, false, true]),
		row(2, ['107', null, null, '107'], [false, false, false, false]),
		row(3, ['97', '97', '107'], [true, true, false]),
	];
	assert.deepEqual(answerCounts(rows[0] as PromptRow), [
		{ answer: '107', count: 2, correct: false },
		{ answer: '97', count: 1, correct: true },
	]);
	assert.deepEqual(
		answerCounts(rows[1] as PromptRow).map(({ answer }) => answer),
		['107', null],
	);
	assert.deepEqual([...changedAnswers(rows)], [2]);
});

test('behaviors over training: percentages, first occurrences, and examples spread over the run', () => {
	const rows = Array.from(
		{ length: 20 },
		(_, i): BehaviorRow => ({
			step: i,
			rollouts: 10,
			showing: behaviors.map((_, b) => (b === 0 ? i / 2 : 0)),
			total: behaviors.map((_, b) => (b === 0 ? i : 0)),
			examples: i < 4 ? [] : [{ behavior: 0, group: 0, index: i, before: '', match: 'let me check', after: '' }],
		}),
	);
	const history = new BehaviorHistory(rows);
	assert.equal(history.column('share.verification')?.[10], 0.5);
	assert.equal(history.column('count.verification')?.[10], 1);
	assert.equal(history.examples(0)[0]?.step, 4);
	assert.deepEqual(history.change(0), { first: 0.025, last: 0.925 });
	assert.deepEqual(spread([...rows.keys()], 4), [0, 6, 13, 19]);
	assert.equal(new BehaviorHistory([]).change(0), null);
});

test('each rating is saved immediately and in order, failures are reported, and undo goes back', async () => {
	const saved: (number | null)[][] = [];
	let failing = false;
	const ask = (async (method: string, params: { ratings?: (number | null)[] }) => {
		if (method === 'loadRollout') return { rollout: { completion: 'a\nb\nc' }, prompt: '', answer: null };
		if (method === 'loadLabels') {
			return { rule: 'lines', steps: [0, 2, 4].map((start) => ({ start, end: start + 1 })), ratings: [1, null, null] };
		}
		await new Promise((resolve) => setTimeout(resolve, saved.length === 0 ? 20 : 0));
		if (failing) throw new Failure('full', 'The disk is full.');
		saved.push(params.ratings ?? []);
		return {};
	}) as unknown as Ask;
	const labels = new LabelModel(ask);
	await labels.open(at(0));
	assert.equal(labels.current, 1, 'the first unrated step');
	labels.rate(-1);
	labels.rate(0);
	assert.equal(labels.current, 2, 'the last step stays current');
	labels.undo();
	labels.undo();
	await labels.saved();
	assert.deepEqual(saved, [
		[1, -1, null],
		[1, -1, 0],
		[1, -1, null],
		[1, null, null],
	]);
	assert.equal(labels.canUndo, false);
	failing = true;
	labels.rate(1);
	await labels.saved();
	assert.match(String(labels.unsaved), /disk is full/);
	failing = false;
	labels.rate(1);
	await labels.saved();
	assert.equal(labels.unsaved, null);
	assert.deepEqual(labelAction('+'), { kind: 'rate', rating: 1 });
	assert.deepEqual(labelAction('-'), { kind: 'rate', rating: -1 });
	assert.deepEqual(
		[labelAction('ArrowDown'), labelAction('u')?.kind, labelAction('q')],
		[{ kind: 'move', by: 1 }, 'undo', null],
	);
});

test('a continuation grows as text arrives, and ends with the reported finish reason', async () => {
	const posted: ExplorerCommand[] = [];
	const ask = (async (method: string) => {
		if (method === 'policy') return { ready: true, message: '', action: null, temperature: 1, maxTokens: 8 };
		return { rollout: { completion: 'abc', hasTokens: false }, prompt: '', answer: null };
	}) as unknown as Ask;
	const made = new ContinuationModel(ask, (command) => posted.push(command));
	await made.open(at(0));
	made.start('ab', { maxTokens: 8, temperature: 0.5 });
	made.start('again', { maxTokens: 8, temperature: 0.5 });
	assert.equal(posted.length, 1, 'only one continuation runs at a time');
	const event = (state: 'running' | 'finished' | 'stopped', text: string, continuation = 1): ExplorerEvent => ({
		...{ type: 'continuation', continuation, state, text, ended: state === 'finished', failure: null },
	});
	made.receive(event('running', 'x'));
	made.receive(event('running', 'y', 77));
	made.receive(event('finished', 'z'));
	made.receive(event('running', 'late'));
	assert.deepEqual(
		made.own.map(({ prefix, text, state, ended }) => [prefix, text, state, ended]),
		[['ab', 'xz', 'finished', true]],
	);
	made.start('', { maxTokens: 1, temperature: 0 });
	made.stop();
	assert.deepEqual(
		posted.slice(1).map(({ type }) => type),
		['continueFrom', 'stopContinuation'],
	);
});

test('the common prefix of all prompts in a step is omitted from the list, in whole words', () => {
	const system = 'system You are a careful assistant. user ';
	const questions = ['What is 1 + 1?', 'What is 2 + 2?', 'Solve x = 3.'].map((one) => system + one);
	assert.equal(questions[0]?.slice(commonPrefix(questions)), 'What is 1 + 1?');
	assert.equal(commonPrefix(['What is 1?', 'What is 2?']), 0, 'a short prefix is not omitted');
	assert.equal(commonPrefix([system, system]), 0);
	assert.equal(commonPrefix([system]), 0);
	assert.equal(commonPrefix([]), 0);
	assert.equal(commonPrefix(['x'.repeat(100), `${'x'.repeat(50)}y`]), 0, 'the prefix contains no whole word');
});
