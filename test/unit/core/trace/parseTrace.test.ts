import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { parseTrace, soleAnswer } from '../../../../src/core/trace/parseTrace.ts';
import type { TraceTags } from '../../../../src/core/trace/trace.ts';

const reasons = (text: string, tags?: TraceTags) => parseTrace(text, tags).faults.map((fault) => fault.reason);
const plain: TraceTags = { think: null, answer: null };
const thinkOnly: TraceTags = { think: ['<think>', '</think>'], answer: null };
const answerOnly: TraceTags = { think: null, answer: ['<answer>', '</answer>'] };

describe('a trace', () => {
	it('has its sections and no error in the correct format', () => {
		const text = ' <think>a<b</think>\n<answer> 42 </answer> ';
		const trace = parseTrace(text);
		assert.equal(trace.think, 'a<b');
		assert.equal(trace.answer, ' 42 ');
		assert.deepEqual(trace.faults, []);
		assert.equal(soleAnswer(trace), '42');
		assert.deepEqual(
			trace.tags.map(({ section, kind, start, end }) => [section, kind, text.slice(start, end)]),
			[
				['think', 'open', '<think>'],
				['think', 'close', '</think>'],
				['answer', 'open', '<answer>'],
				['answer', 'close', '</answer>'],
			],
		);
		assert.equal(text.slice(trace.thinkSpan?.start, trace.thinkSpan?.end), 'a<b');
	});

	const faulty: [string, string[]][] = [
		['', ['missing', 'missing', 'missing', 'missing']],
		['42', ['missing', 'missing', 'missing', 'missing', 'outside']],
		['<think>a</think>42', ['missing', 'missing', 'outside']],
		['<think>a', ['unclosed', 'missing', 'missing', 'missing']],
		['<think>a</think><answer>1', ['unclosed', 'missing']],
		['a</think><answer>1</answer>', ['unopened', 'missing', 'outside']],
		['<answer>1</answer><think>a</think>', ['reordered', 'reordered']],
		['<think>a<answer>1</answer></think>', ['nested', 'reordered']],
		['<think>a</think><think>b</think><answer>1</answer>', ['repeated', 'repeated']],
		['<think>a</think><answer>1</answer><answer>2</answer>', ['repeated', 'repeated']],
		['<think>a</think>b<answer>1</answer>', ['outside']],
		['x<think>a</think><answer>1</answer>', ['outside']],
		['<think>a</think><answer>1</answer>x', ['outside']],
		['<think>a</think><answer> </answer>', ['empty']],
		['</think>a<think><answer>1</answer>', ['unopened', 'reordered', 'nested', 'unclosed', 'outside']],
	];
	for (const [text, expected] of faulty) {
		it(`reports the errors in ${JSON.stringify(text)}`, () => {
			assert.deepEqual(reasons(text).toSorted(), expected.toSorted());
			for (const { message, start, end } of parseTrace(text).faults) {
				assert.match(message, /\.$/);
				assert.ok(0 <= start && start <= end && end <= text.length);
			}
		});
	}

	it('has no answer to check unless there is exactly one', () => {
		const none = [
			'42',
			'<answer>42',
			'42</answer>',
			'<answer>1</answer><answer>42</answer>',
			'<answer><answer>42</answer></answer>',
			'<answer>4<think></think>2</answer>',
			'</answer>42<answer>',
			'<answer></answer>',
		];
		for (const text of none) assert.equal(soleAnswer(parseTrace(text)), null, text);
		assert.equal(soleAnswer(parseTrace('<answer>42</answer>')), '42', 'the thinking is not checked here');
	});

	it('follows the template: no tags, only think, only answer, custom tags', () => {
		assert.equal(soleAnswer(parseTrace(' 42 ', plain), plain), '42');
		assert.deepEqual(reasons('42', plain), []);
		assert.deepEqual(reasons('<think>a</think>42', thinkOnly), []);
		assert.equal(soleAnswer(parseTrace('<think>a</think>42', thinkOnly), thinkOnly), '42');
		assert.equal(soleAnswer(parseTrace('</think>42<think>', thinkOnly), thinkOnly), null);
		assert.deepEqual(reasons('because<answer>42</answer>', answerOnly), []);
		assert.deepEqual(reasons('<answer>42</answer>because', answerOnly), ['outside']);
		const own: TraceTags = { think: ['$(', ')$'], answer: ['[^', ']'] };
		assert.deepEqual(reasons('$(a)$[^1]', own), []);
		assert.equal(parseTrace('$(a)$[^1]', own).think, 'a');
	});

	it('accepts exactly the strings allowed by the strict format, for random sequences of tags', () => {
		const pieces = ['<think>', '</think>', '<answer>', '</answer>', 'x', ' ', '\n', '<think', '</'];
		const strict =
			/^\s*<think>((?:(?!<\/?(?:think|answer)>)[\s\S])*)<\/think>\s*<answer>((?:(?!<\/?(?:think|answer)>)[\s\S])*)<\/answer>\s*$/;
		let right = 0;
		for (let i = 0; i < 30_000; i++) {
			const random = Random.of('tags', i);
			// Half of the texts are valid with one piece inserted, so that near misses are common.
			const parts =
				i % 2 === 0
					? Array.from({ length: random.int(9) }, () => random.pick(pieces))
					: ['<think>', 'a', '</think>', '<answer>', '1', '</answer>'].toSpliced(
							random.int(7),
							random.int(2),
							random.pick(pieces),
						);
			const text = parts.join('');
			const match = strict.exec(text);
			const isRight = match !== null && match[2]?.trim() !== '';
			const trace = parseTrace(text);
			assert.equal(trace.faults.length === 0, isRight, JSON.stringify(text));
			assert.equal(
				trace.tags.map(({ start, end }) => text.slice(start, end)).join(''),
				text.match(/<\/?(?:think|answer)>/g)?.join('') ?? '',
			);
			if (!isRight) continue;
			right++;
			assert.equal(trace.think, match[1]);
			assert.equal(soleAnswer(trace), match[2]?.trim());
		}
		assert.ok(right > 1000);
	});

	it('handles megabytes of hostile text with a bounded number of errors (measured in work, not time)', () => {
		const size = 1 << 20;
		const hostile = [
			'<think>'.repeat(size / 7),
			'</think>'.repeat(size / 8),
			'<think></think>'.repeat(size / 15),
			' '.repeat(size),
			'<'.repeat(size),
			`${'<think><answer>'.repeat(size / 32)}${'</answer></think>'.repeat(size / 32)}`,
			`<think>${'\n '.repeat(size / 2)}x`,
			'<answer>'.repeat(size / 8),
		];
		for (const text of hostile) {
			const trace = parseTrace(text);
			assert.ok(trace.faults.length >= 1 && trace.faults.length <= 100);
			assert.equal(soleAnswer(trace), null);
		}
	});
});
