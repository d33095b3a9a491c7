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

describe('table-based trace counts', () => {
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
