import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { traceCompletion } from '../../../../../webview/lib/trace/completionTrace.ts';

const tags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } as const;
const text = '<think>a</think><answer>1</answer>';

describe('a completion recorded with special tokens', () => {
	for (const end of ['<|im_end|>', '<|eot_id|>\n', '</s>', '<end_of_turn>\n<eos>', '<|im_end|><|endoftext|>']) {
		it(`ends with ${JSON.stringify(end)}, which does not count as text outside the tags`, () => {
			const { trace, regions, marks } = traceCompletion(text + end, { ...tags, special: true });
			assert.deepEqual(trace.faults, []);
			assert.deepEqual(
				regions.map(({ kind, end }) => [kind, end]),
				[
					['think', 16],
					['answer', text.length + end.length],
				],
			);
			assert.ok(marks.some((mark) => mark.kind === 'tag' && mark.start === text.length));
		});
	}

	it('is used verbatim if it is exactly what was rewarded', () => {
		const { trace, regions } = traceCompletion(`${text}<|im_end|>`, tags);
		assert.equal(trace.faults[0]?.reason, 'outside');
		assert.equal(regions.at(-1)?.kind, 'outside');
	});

	it('keeps words after the tags, trailing white space, and texts that consist only of an end token', () => {
		const special = { ...tags, special: true };
		assert.equal(traceCompletion(`${text} and more<|im_end|>`, special).trace.faults[0]?.reason, 'outside');
		assert.deepEqual(traceCompletion(`${text} \n`, special).regions.at(-1)?.end, text.length);
		assert.deepEqual(
			traceCompletion('<|im_end|>', special).regions.map(({ start, end }) => [start, end]),
			[[0, 10]],
		);
		const plain = traceCompletion('4<|im_end|>', { think: null, answer: null, special: true });
		assert.deepEqual(
			plain.regions.map(({ kind, start, end }) => [kind, start, end]),
			[['plain', 0, 11]],
		);
	});
});
