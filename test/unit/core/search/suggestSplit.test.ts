import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SampledText, suggestSplit } from '../../../../src/core/search/suggestSplit.ts';
import { r1Tags } from '../../../../src/core/trace/trace.ts';

const samples = (text: string, tokens: number | null = null): SampledText[] => Array(5).fill({ text, tokens });

test('the suggested split is the longest unit that occurs several times in a completion', () => {
	const lines = '<think>\n3 * 4 = 12\n12 + 5 = 17\n17 - 2 = 15\n</think>\n<answer>15</answer>';
	assert.deepEqual(suggestSplit(samples(lines, 40), r1Tags), { split: 'lines', steps: 4 });
	const paragraphs = Array.from({ length: 5 }, (_, i) => `Step ${i}.\nIt follows.`).join('\n\n');
	assert.deepEqual(suggestSplit(samples(paragraphs), r1Tags), { split: 'paragraphs', steps: 5 });
	const sentences = 'First, 3 times 4 is 12. Then add 5. That is 17. Take 2.5 away.';
	assert.deepEqual(suggestSplit(samples(sentences), r1Tags), { split: 'sentences', steps: 4 });
});

test('completions on a single line are split by tokens, but very short ones are not split', () => {
	assert.deepEqual(suggestSplit(samples('<think>12+34=46</think><answer>46</answer>', 26), r1Tags), {
		split: 'tokens-4',
		steps: 7,
	});
	assert.deepEqual(suggestSplit(samples('579', 3), r1Tags), { split: 'completion', steps: 1 });
	assert.equal(suggestSplit(samples('579'), r1Tags), null, 'lengths are unknown');
	assert.equal(suggestSplit([], r1Tags), null);
	assert.equal(suggestSplit(samples('  ', 9), r1Tags), null, 'the text is blank');
});

test('a text with too many lines for a search is split by tokens, however long it is', () => {
	const long = 'a\n'.repeat(500_000);
	assert.deepEqual(suggestSplit(samples(long, 1_000_000), r1Tags), { split: 'tokens-131072', steps: 8 });
});
