import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { findText } from '../../../../src/core/trace/findText.ts';
import { tokenBlocks } from '../../../../webview/lib/tokens/tokenBlocks.ts';
import { faultMessages, noTags, traceCompletion } from '../../../../webview/lib/trace/completionTrace.ts';
import { hiddenCharacters, plainLabel } from '../../../../webview/lib/trace/hiddenCharacters.ts';
import { type Mark, marksWithin, segments } from '../../../../webview/lib/trace/marks.ts';
import { blockLimits, textBlocks } from '../../../../webview/lib/trace/textBlocks.ts';
import { layoutBars, rewardRange } from '../../../../webview/rollouts/bars.ts';
import { bindings, commandOf, commands } from '../../../../webview/rollouts/keys.ts';
import { tokenLevel } from '../../../../webview/rollouts/tokenScale.ts';

const r1 = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } as const;

/**
 * Asserts that blocks are consecutive, nonempty and within the limits, and that no boundary splits a surrogate pair.
 */
function checkBlocks(text: string, limits: { characters: number; lines: number } = blockLimits): void {
	const blocks = textBlocks(text, 0, text.length, limits);
	let at = 0;
	for (const { start, end, breaks, continued } of blocks) {
		assert.equal(start, at);
		assert.ok(end > start);
		assert.ok(end - start <= limits.characters + 1, `${end - start} characters`);
		const part = text.slice(start, end);
		assert.ok(part.split('\n').length - 1 <= limits.lines);
		assert.equal(part.split('\n').length - 1, breaks);
		assert.equal(continued, start > 0 && text[start - 1] !== '\n');
		const first = text.charCodeAt(start);
		assert.ok(
			!(first >= 0xdc00 && first <= 0xdfff && /[\ud800-\udbff]/.test(text[start - 1] ?? '')),
			'a surrogate pair is split',
		);
		at = end;
	}
	assert.equal(at, text.length);
}

test('any text is split into blocks without loss (seeded)', () => {
	const random = Random.of(3, 'blocks');
	const letters = ['a', 'b', ' ', '\n', '\n', '😀', 'é', 'e\u0301', '👨‍👩‍👧', '\r\n', '漢', '\u200d', '\ud800'];
	for (let round = 0; round < 300; round++) {
		const text = Array.from({ length: random.int(400) }, () => random.pick(letters)).join('');
		checkBlocks(text, { characters: 2 + random.int(60), lines: 1 + random.int(6) });
	}
});

test('a completion of 1 MB without a line feed becomes blocks of limited size', () => {
	checkBlocks('y'.repeat(1_000_000));
	checkBlocks(`${'word '.repeat(200_000)}`);
	checkBlocks('😀'.repeat(500_000));
	checkBlocks('\n'.repeat(1_000_000));
	assert.equal(textBlocks('y'.repeat(1_000_000)).length, Math.ceil(1_000_000 / blockLimits.characters));
	// Words are not split if there are spaces.
	for (const { end } of textBlocks('word '.repeat(2000)).slice(0, -1)) assert.equal(end % 5, 0);
});

test('segments cover the range, and each is entirely inside or outside every mark (seeded)', () => {
	const random = Random.of(5, 'segments');
	for (let round = 0; round < 300; round++) {
		const end = 1 + random.int(50);
		const marks = Array.from({ length: random.int(8) }, (_, i): Mark => {
			const start = random.int(60) - 5;
			return { start, end: start + random.int(20), kind: `k${i}` };
		});
		const parts = segments(0, end, marks);
		assert.deepEqual([parts[0]?.start, parts.at(-1)?.end], [0, end]);
		for (const [i, part] of parts.entries()) {
			assert.equal(part.start, parts[i - 1]?.end ?? 0);
			for (let at = part.start; at < part.end; at++) {
				const covering = marks.filter((mark) => mark.start <= at && at < mark.end);
				assert.deepEqual(new Set(part.marks), new Set(covering));
			}
		}
		const sorted = [...marks].sort((a, b) => a.start - b.start);
		const longest = Math.max(0, ...marks.map((mark) => mark.end - mark.start));
		const [from, to] = [random.int(40), 10 + random.int(50)];
		assert.deepEqual(
			marksWithin(sorted, longest, from, to).map((mark) => mark.kind),
			sorted.filter((mark) => mark.start < to && mark.end > from).map((mark) => mark.kind),
		);
	}
});

test('hidden characters are named, and ordinary text is left alone', () => {
	const labels = (text: string) => hiddenCharacters(text).map(({ label }) => label);
	assert.deepEqual(labels('a\u202eb\u2066c\u200b\ufeff\u00ad'), ['RLO', 'LRI', 'ZWSP', 'BOM', 'SHY']);
	assert.deepEqual(labels('\0\u001b[31m\r'), ['NUL', 'ESC', 'CR']);
	assert.deepEqual(labels('\ud83d x \udc00'), ['U+D83D', 'U+DC00']);
	assert.deepEqual(labels('\u{e0041}\u{e0100}'), ['U+E0041', 'U+E0100']);
	assert.deepEqual(labels('line\r\nline\ttab'), []);
	assert.deepEqual(labels('👨‍👩‍👧 ❤️ 1️⃣ 👩🏽‍🚀'), []);
	assert.deepEqual(labels('می‌خواهم क्‍ष'), []);
	assert.deepEqual(labels('a\u200db'), ['ZWJ']);
	assert.equal(plainLabel('x\u202e\n y'), 'x⟨RLO⟩ y');
	assert.equal(plainLabel('abcdef', 3), 'abc…');
});

test('a completion is split into thinking, answer and text outside both', () => {
	const text = 'So.<think>Wait, 1+1 is 2.</think>\n<answer>2</answer>';
	const { regions, marks, behaviors } = traceCompletion(text, r1 as never);
	assert.deepEqual(
		regions.map(({ kind, start, end }) => [kind, text.slice(start, end)]),
		[
			['outside', 'So.'],
			['think', '<think>Wait, 1+1 is 2.</think>'],
			['answer', '<answer>2</answer>'],
		],
	);
	assert.equal(behaviors.get('reflection'), 1);
	assert.deepEqual(
		marks.filter(({ kind }) => kind === 'tag').map(({ start, end }) => text.slice(start, end)),
		['<think>', '</think>', '<answer>', '</answer>'],
	);
	const plain = traceCompletion('just text', noTags);
	assert.deepEqual(
		plain.regions.map(({ kind }) => kind),
		['plain'],
	);
	assert.deepEqual(traceCompletion('', noTags).blocks, []);
});

test('format errors are reported once, with missing tags combined', () => {
	const none = traceCompletion('42', r1 as never);
	assert.deepEqual(
		none.regions.map(({ kind }) => kind),
		['outside'],
	);
	assert.match(faultMessages(none.trace)[0] ?? '', /^Missing: <think>, <\/think>, <answer>, <\/answer>\.$/);
	const repeated = traceCompletion(
		'<think>a</think><answer>1</answer><answer>2</answer><answer>3</answer>',
		r1 as never,
	);
	const messages = faultMessages(repeated.trace);
	assert.equal(new Set(messages).size, messages.length);
	assert.ok(messages.some((message) => message.includes('occurs more than once')));
});

test('regions of any text are ordered, do not overlap, and lose no visible characters (seeded)', () => {
	const random = Random.of(8, 'regions');
	const pieces = ['<think>', '</think>', '<answer>', '</answer>', ' ', 'x', 'wait', '\n'];
	for (let round = 0; round < 400; round++) {
		const text = Array.from({ length: random.int(12) }, () => random.pick(pieces)).join('');
		const { regions, blocks } = traceCompletion(text, r1 as never);
		let at = 0;
		for (const { start, end } of regions) {
			assert.ok(start >= at && end > start);
			assert.match(text.slice(at, start), /^\s*$/);
			at = end;
		}
		assert.match(text.slice(at), /^\s*$/);
		assert.equal(
			blocks.map(({ start, end }) => text.slice(start, end)).join(''),
			regions.map(({ start, end }) => text.slice(start, end)).join(''),
		);
	}
});

test('text is found literally and case-insensitively, with offsets in the original', () => {
	assert.deepEqual(findText('Wait, wait. WAIT', 'wait'), [
		{ start: 0, end: 4 },
		{ start: 6, end: 10 },
		{ start: 12, end: 16 },
	]);
	assert.deepEqual(findText('a.b a+b (a', 'a+b'), [{ start: 4, end: 7 }]);
	assert.deepEqual(findText('İstanbul x', 'X'), [{ start: 9, end: 10 }]);
	assert.deepEqual(findText('abc', ''), []);
	assert.equal(findText('a'.repeat(50), 'a', 10).length, 10);
	assert.deepEqual(findText('[.*', '[.*'), [{ start: 0, end: 3 }]);
});

test('token blocks cover all tokens, and levels increase with surprisal', () => {
	const random = Random.of(9, 'tokens');
	for (let round = 0; round < 100; round++) {
		const text = Array.from({ length: random.int(900) }, () => random.pick(['a', ' b', '\n', '', '<think>']));
		let at = 0;
		for (const { start, end, characters } of tokenBlocks(text)) {
			assert.equal(start, at);
			assert.equal(characters, text.slice(start, end).join('').length);
			assert.ok(end - start <= 256);
			at = end;
		}
		assert.equal(at, text.length);
	}
	assert.equal(tokenLevel('logprob', 0), 0);
	assert.equal(tokenLevel('logprob', -100), 6);
	assert.equal(tokenLevel('entropy', 0.5), 1);
	assert.equal(tokenLevel('entropy', null), null);
});

test('bars start at zero and stay inside the plot', () => {
	const range = rewardRange([{ reward: [1.2, -0.4, null, 0] }] as never);
	assert.deepEqual(range, { low: -0.4, high: 1.2 });
	const [high, low, none, zero] = layoutBars([1.2, -0.4, null, 0], range, 16);
	assert.deepEqual([high?.y, high?.height], [0, 12]);
	assert.deepEqual([low?.y, low?.height], [12, 4]);
	assert.equal(none, null);
	assert.equal(zero?.height, 1);
	assert.deepEqual(rewardRange([]), { low: 0, high: 1 });
});

test('keys trigger their commands, and controls keep their own keys', () => {
	const press = (key: string, focus: 'text' | 'choice' | 'other' = 'other', ctrlKey = false) =>
		commandOf({ key, ctrlKey, altKey: false, metaKey: false, focus });
	assert.equal(press('j'), 'next-group');
	assert.equal(press('ArrowLeft'), 'previous-completion');
	assert.equal(press('['), 'older-step');
	assert.equal(press('?'), 'help');
	assert.equal(press('j', 'text'), null);
	assert.equal(press('ArrowLeft', 'choice'), null);
	assert.equal(press('c', 'other', true), null);
	assert.equal(press('q'), null);
	const keys = bindings.flatMap((binding) => binding.keys);
	assert.equal(new Set(keys).size, keys.length, 'no key has two commands');
	assert.deepEqual(new Set(bindings.map((binding) => binding.command)), new Set(commands));
});
