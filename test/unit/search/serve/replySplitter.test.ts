import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import type { TraceTags } from '../../../../src/core/trace/trace.ts';
import { type ReplyPart, ReplySplitter, splitReply } from '../../../../src/search/serve/replySplitter.ts';

const tags: TraceTags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] };

describe('splitting a completion', () => {
	test('thinking becomes reasoning, and the rest becomes content without answer tags', () => {
		const cases: [string, string, string][] = [
			['<think>\n1+1=2\n</think>\n<answer>2</answer>', '1+1=2', '2'],
			['<think>a</think>\n\nIt is <answer> 2 </answer>.', 'a', 'It is  2 .'],
			['no tags at all ', '', 'no tags at all'],
			['<think>never closed', 'never closed', ''],
			['  <think>a</think>', 'a', ''],
			['', '', ''],
			['<thin', '', '<thin'],
			['a < b <answer>c', '', 'a < b c'],
		];
		for (const [completion, reasoning, content] of cases) {
			assert.deepEqual(splitReply(completion, tags), { reasoning, content, stopped: null }, completion);
		}
	});

	test('a stop text ends the content, but has no effect in the thinking', () => {
		assert.deepEqual(splitReply('<think>a STOP b</think>c STOP d', tags, ['STOP']), {
			reasoning: 'a STOP b',
			content: 'c',
			stopped: 'STOP',
		});
		assert.deepEqual(splitReply('abcd', { think: null, answer: null }, ['d', 'bc']).content, 'a');
	});

	test('the result does not depend on the chunks', () => {
		const random = Random.of('pieces');
		const alphabet = [
			'<think>',
			'</think>',
			'<answer>',
			'</answer>',
			'<',
			'/',
			'th',
			'ink>',
			' ',
			'\n',
			'a',
			'STOP',
			'ST',
			'😀',
		];
		for (let round = 0; round < 500; round++) {
			const text = Array.from({ length: random.int(20) }, () => random.pick(alphabet)).join('');
			const whole = splitReply(text, tags, ['STOP', 'a\n']);
			const splitter = new ReplySplitter(tags, ['STOP', 'a\n']);
			const parts: ReplyPart[] = [];
			for (let at = 0; at < text.length; ) {
				const n = 1 + random.int(5);
				parts.push(...splitter.push(text.slice(at, at + n)));
				at += n;
			}
			parts.push(...splitter.end());
			const joined = (kind: string) =>
				parts
					.filter((part) => part.kind === kind)
					.map((part) => part.text)
					.join('');
			assert.equal(joined('reasoning'), whole.reasoning, JSON.stringify(text));
			assert.equal(joined('content'), whole.content, JSON.stringify(text));
			assert.equal(splitter.stopped, whole.stopped, JSON.stringify(text));
		}
	});

	test('in verbatim mode, nothing is lost', () => {
		const splitter = new ReplySplitter({ think: null, answer: null }, ['END'], true);
		const parts = [...splitter.push(' a\n'), ...splitter.push(' EN'), ...splitter.push('D x'), ...splitter.end()];
		assert.equal(parts.map(({ text }) => text).join(''), ' a\n ');
		assert.equal(splitter.stopped, 'END');
	});
});
