import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { behaviors } from '../../../../src/core/trace/behaviorNames.ts';
import { englishPhrases, otherPhrases } from '../../../../src/core/trace/behaviorPhrases.ts';
import { countBehaviors, findBehaviors } from '../../../../src/core/trace/behaviors.ts';
import { parseTrace } from '../../../../src/core/trace/parseTrace.ts';
import { findRepetition } from '../../../../src/core/trace/repetition.ts';
import { blockLength, longestText, maxWords, TextScanner } from '../../../../src/core/trace/textScanner.ts';
import { TraceCounter, thinkingSpan } from '../../../../src/core/trace/traceCounter.ts';

const counters = [
	new TraceCounter(),
	new TraceCounter(
		TextScanner.create((text, units) => Buffer.from(units.buffer, units.byteOffset).write(text, 'utf16le')),
	),
	new TraceCounter(null),
] as const;
const [counter] = counters;
const phrases = [englishPhrases, ...Object.values(otherPhrases)].flatMap((list) => behaviors.flatMap((b) => list[b]));
const fillers = [
	' ',
	' ',
	' ',
	'\n',
	', ',
	'. ',
	'x',
	'7',
	'_',
	'é',
	'’',
	"'",
	'𝒳',
	'𠀀',
	'数',
	'だ',
	'😀',
	' the ',
	'\ud800',
	'\udc00',
];

function randomText(random: Random): string {
	let text = '';
	for (let i = random.int(40); i >= 0; i--) {
		const pick = random.int(3);
		const phrase = phrases[random.int(phrases.length)] as string;
		if (pick === 0) text += phrase;
		else if (pick === 1) text += random.int(2) === 0 ? phrase.toUpperCase() : phrase.replaceAll("'", '’');
		text += fillers[random.int(fillers.length)];
	}
	return text;
}

/** Returns words whose n-grams are all stored in the first slots of the table. */
function crowdedWords(count: number): string {
	const mixed = (hash: number): number => {
		const once = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
		const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b);
		return twice ^ (twice >>> 16);
	};
	const letters = [...'abcdefghijklmnopqrstuvwxyz'];
	const words = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));
	const hashes = words.map((word) => {
		let hash = 0x811c9dc5;
		for (const letter of word) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
		return [mixed(hash), mixed(hash ^ 0x5bd1e995)] as const;
	});
	const sum = (picked: readonly number[], half: 0 | 1, factors: readonly number[]) =>
		picked.reduce((total, word, i) => (total + Math.imul(hashes[word]?.[half] ?? 0, factors[i] as number)) | 0, 0);
	const picked = [1, 2, 3];
	for (let next = 7; picked.length < count; next = ((picked.at(-1) as number) + 1) % words.length) {
		const last = picked.slice(-3);
		for (let tries = 0; tries < words.length; tries++, next = (next + 1) % words.length) {
			const first = sum([...last, next], 0, [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f]);
			const second = sum([...last, next], 1, [0x165667b1, 0x2c1b3c6d, 0x297a2d39, 0x7f4a7c15]) | 1;
			if (((first ^ (first >>> 15) ^ (second >>> 7)) & 0x7fff) < 512) break;
		}
		picked.push(next);
	}
	return picked.map((word) => words[word]).join(' ');
}

describe('table-based trace counts', () => {
	it('use WebAssembly', () => assert.notEqual(TextScanner.create(), null));

	it('match the behaviors found by regular expressions', () => {
		const random = Random.of(1, 'behaviours');
		let found = 0;
		for (let round = 0; round < 3000; round++) {
			const text = randomText(random);
			const expected = Object.values(countBehaviors(findBehaviors(text)));
			const range = { start: 0, end: text.length };
			for (const each of counters) assert.deepEqual(each.countBehaviors(text, range), expected, JSON.stringify(text));
			found += expected.reduce((sum, n) => sum + n, 0);
		}
		assert.ok(found > 10_000, `${found}`);
	});

	it('match the repetition found in the texts', () => {
		const random = Random.of(2, 'repetition');
		for (let round = 0; round < 2000; round++) {
			const words = ['one', 'Two', 'two', 'three', '数', '学', '𠀀', '😀', 'É', '\ud800'];
			let text = '';
			for (let i = random.int(60); i > 0; i--)
				text += `${words[random.int(words.length)]}${[' ', '', '\n\n', ' '][random.int(4)]}`;
			const { share, ngrams } = findRepetition(text);
			for (const each of counters)
				assert.equal(each.repetition(text), ngrams === 0 ? null : share, JSON.stringify(text));
		}
	});

	it('are the same in every block of a long text', () => {
		const random = Random.of(3, 'blocks');
		for (let round = 0; round < 30; round++) {
			let text = '';
			while (text.length < 2.5 * blockLength) text += randomText(random);
			const start = random.int(30);
			const end = text.length - random.int(30);
			const expected = Object.values(countBehaviors(findBehaviors(text.slice(start, end))));
			for (const each of counters) assert.deepEqual(each.countBehaviors(text, { start, end }), expected);
			const { share } = findRepetition(text);
			for (const each of counters) assert.equal(each.count(text, { start, end }).repetition, share);
		}
	});

	it('find a phrase across the end of a block, and none that continues a word', () => {
		for (let at = blockLength - 8; at <= blockLength + 1; at++) {
			const spaces = `${' '.repeat(at)}wait, no`;
			const letters = `${'x'.repeat(at)}wait, no`;
			for (const each of counters) {
				const counts = (text: string) => each.countBehaviors(text, { start: 0, end: text.length });
				assert.deepEqual(counts(spaces), Object.values(countBehaviors(findBehaviors(spaces))), `${at}`);
				assert.equal(
					counts(letters).reduce((sum, n) => sum + n, 0),
					Object.values(countBehaviors(findBehaviors(letters))).reduce((sum, n) => sum + n, 0),
					`${at}`,
				);
			}
		}
	});

	it('distinguish words that differ only in control characters', () => {
		for (const text of [
			'a b c d \0a b c d',
			`a b c ${Array.from({ length: 100 }, (_, i) => '\0'.repeat(i + 4)).join(' ')}`,
		]) {
			for (const each of counters) assert.equal(each.repetition(text), findRepetition(text).share);
		}
	});

	it('take linear time for n-grams with similar hashes', () => {
		// Each word is chosen so that its n-gram is stored near the others.
		const scanner = TextScanner.create();
		assert.ok(scanner !== null);
		const each = new TraceCounter(scanner);
		const text = crowdedWords(20_000);
		scanner.load(text);
		const words = scanner.hashWords(text.length, () => false);
		assert.equal(scanner.countRepeats(words), -1);
		assert.equal(each.repetition(text), findRepetition(text).share);
	});

	it('ignore what follows the range and the text', () => {
		const text = "LET'S TRY the VERIFYING\ud801\udc00, verifying";
		for (let end = 0; end <= text.length; end++) {
			const expected = Object.values(countBehaviors(findBehaviors(text.slice(0, end))));
			for (const each of counters) assert.deepEqual(each.countBehaviors(text, { start: 0, end }), expected, `${end}`);
		}
		for (const each of counters) {
			each.countBehaviors('x wait. let me check. '.repeat(50), { start: 0, end: 10 });
			assert.deepEqual(each.countBehaviors('a', { start: 0, end: 100 }), [0, 0, 0, 0, 0]);
		}
	});

	it('distinguish word sequences in which the same word occurs twice', () => {
		assert.equal(counter.repetition('21320 = 21320 + ; 24680 = 24680 +'), 0);
		const sums = Array.from({ length: 45_000 }, (_, i) => `${i} + (${i}+1) = `).join('');
		assert.equal(counter.repetition(sums), findRepetition(sums).share);
	});

	it('handle a text with 300,000 words and one of 10 MB without spaces', () => {
		assert.equal(counter.repetition('a '.repeat(300_000)), findRepetition('a '.repeat(300_000)).share);
		assert.equal(counter.repetition('a'.repeat(10 << 20)), null);
		for (const each of ['数', '𠀀', '数 x', '😀 ']) {
			const text = each.repeat(maxWords + 10);
			assert.equal(counter.repetition(text), findRepetition(text).share);
		}
		assert.deepEqual(counter.countBehaviors(`${' '.repeat(longestText)}Wait, no`, { start: 9, end: longestText + 8 }), [
			...[0, 0, 0, 0, 1],
		]);
	});

	it('count text before a closing tag as thinking if the prompt opened it', () => {
		const text = 'Wait, let me check.</think><answer>wait</answer>';
		const span = thinkingSpan(parseTrace(text), text.length);
		assert.equal(text.slice(span.start, span.end), 'Wait, let me check.');
		assert.deepEqual(thinkingSpan(parseTrace('plain'), 5), { start: 0, end: 5 });
		const answered = '<answer>wait</answer>';
		assert.deepEqual(thinkingSpan(parseTrace(answered), answered.length), { start: 0, end: 0 });
	});
});
