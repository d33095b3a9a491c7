import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { Random } from '../../../../src/base/random.ts';
import { createTask } from '../../../../src/core/dataset/createTask.ts';
import { parseTokenizerJson } from '../../../../src/core/text/parseTokenizerJson.ts';
import { renderCompletion, renderPrompt, resolveTemplate } from '../../../../src/core/text/template.ts';
import { bosToken, createTokenizer, eosToken } from '../../../../src/core/text/tokenizer.ts';
import { buildTokenizer } from '../../../../src/core/text/vocabulary.ts';
import { taskNames, templateNames } from '../../../../src/protocol/recipeKeys/recipe.ts';

const r1 = resolveTemplate('r1');

describe('tokenizer', () => {
	it('has special tokens, then tags, then characters by code point, regardless of input order', () => {
		const tokenizer = buildTokenizer(r1, ['ba', '1é', '😀a']);
		assert.deepEqual(tokenizer.symbols, [
			'<pad>',
			'<bos>',
			'<eos>',
			'<think>',
			'</think>',
			'<answer>',
			'</answer>',
			'1',
			'a',
			'b',
			'é',
			'😀',
		]);
		assert.deepEqual(buildTokenizer(r1, ['😀', 'é1ab']).symbols, tokenizer.symbols);
	});

	it('encodes a tag and a character as one token each', () => {
		const tokenizer = buildTokenizer(r1, '1+=😀<>/thinkanswer');
		assert.deepEqual(tokenizer.encode('<think>').length, 1);
		assert.deepEqual(tokenizer.encode('<thin').length, 5);
		assert.deepEqual(tokenizer.encode('😀').length, 1);
		assert.deepEqual(tokenizer.encodePrompt('1'), [bosToken, ...tokenizer.encode('1')]);
		assert.equal(tokenizer.decode([bosToken, ...tokenizer.encode('1+1=<think>'), eosToken]), '1+1=<think>');
		assert.equal(tokenizer.decode([bosToken, eosToken], { keepSpecials: true }), '<bos><eos>');
	});

	it('prefers the longest of several tags with the same prefix', () => {
		const tokenizer = createTokenizer(['<a', '<a>', '<ab>'], [...'<ab>']);
		assert.deepEqual(
			tokenizer.encode('<ab><a><a<b').map((id) => tokenizer.symbols[id]),
			['<ab>', '<a>', '<a', '<', 'b'],
		);
	});

	it('reports an unknown symbol and its position', () => {
		const tokenizer = buildTokenizer(r1, '12');
		assert.throws(
			() => tokenizer.encode('1?2'),
			(error) =>
				error instanceof Failure && /"\?" \(U\+003F\) at character 2/.test(error.message) && error.action !== undefined,
		);
		assert.equal(tokenizer.unknownIn('1?2'), '?');
		assert.equal(tokenizer.unknownIn('12<think>'), null);
		for (const id of [-1, 9, 1.5]) assert.throws(() => tokenizer.decode([id]), Failure);
	});

	it('round-trips the text of every task in every template', () => {
		for (const name of taskNames) {
			for (const templateName of templateNames) {
				const task = createTask({ task: name });
				const template = resolveTemplate(templateName);
				const tokenizer = buildTokenizer(template, task.symbols);
				for (let i = 0; i < 50; i++) {
					const problem = task.sample(Random.of('tokens', name, i));
					const text = renderPrompt(template, problem.prompt) + renderCompletion(template, problem);
					const ids = tokenizer.encode(text);
					assert.equal(tokenizer.decode(ids), text);
					assert.ok(ids.every((id) => id >= 3 && id < tokenizer.size));
				}
			}
		}
	});

	it('round-trips any text in its alphabet', () => {
		const tokenizer = buildTokenizer(r1, '<>/thinkanswer 1é😀\n');
		const pieces = [...tokenizer.symbols.slice(3), '<', '</', '<thi', 'nk>', '> <'];
		for (let i = 0; i < 500; i++) {
			const random = Random.of('soup', i);
			const text = Array.from({ length: random.int(30) }, () => random.pick(pieces)).join('');
			assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
		}
	});

	it('rejects lone surrogates and duplicate symbols', () => {
		assert.throws(
			() => buildTokenizer(r1, ['a\ud800']),
			(error) => error instanceof Failure && /U\+D800/.test(error.message),
		);
		assert.throws(() => createTokenizer(['a'], ['a']), Failure);
		assert.throws(() => createTokenizer([], ['ab']), Failure);
	});
});

describe('tokenizer.json', () => {
	const tokenizer = buildTokenizer(resolveTemplate('r1-conversation'), '0123456789+-=é😀\n');

	it('round-trips through JSON', () => {
		const again = parseTokenizerJson(tokenizer.toTokenizerJson());
		assert.deepEqual(again.symbols, tokenizer.symbols);
		assert.deepEqual(again.tags, tokenizer.tags);
		assert.equal(again.toTokenizerJson(), tokenizer.toTokenizerJson());
	});

	it('rejects damaged and foreign files with a Failure', () => {
		const good = JSON.parse(tokenizer.toTokenizerJson());
		const bad: unknown[] = [
			null,
			{},
			[],
			{ ...good, model: { type: 'BPE', vocab: {} } },
			{ ...good, model: { ...good.model, vocab: { ...good.model.vocab, a: 1e9 } } },
			{ ...good, model: { ...good.model, vocab: { x: 0, y: 1, z: 2 } } },
			{ ...good, model: { ...good.model, vocab: { x: 0, y: 0 } } },
		];
		for (const value of bad) assert.throws(() => parseTokenizerJson(JSON.stringify(value)), Failure);
		assert.throws(
			() => parseTokenizerJson('{"mod'),
			(error) => error instanceof Failure && error.reason === 'corrupt',
		);
	});
});

describe('templates', () => {
	it('render a problem and its worked completion', () => {
		const worked = { solution: 'think', answer: '42' };
		assert.equal(renderPrompt(r1, '1+1='), '1+1=');
		assert.equal(renderCompletion(r1, worked), '<think>think</think><answer>42</answer>');
		assert.equal(renderCompletion(resolveTemplate('plain'), worked), '42');
		const custom = resolveTemplate({ prompt: 'Q: {prompt}\nA:', think: ['[', ']'], answer: null });
		assert.equal(renderPrompt(custom, '$& {prompt}'), 'Q: $& {prompt}\nA:');
		assert.equal(renderCompletion(custom, worked), '[think]42');
		assert.match(
			renderPrompt(resolveTemplate('r1-conversation'), 'X'),
			/^A conversation between User and Assistant\. .*User: X\. Assistant: $/,
		);
	});

	it('reject ambiguous tags', () => {
		assert.throws(() => resolveTemplate({ prompt: 'x', think: null, answer: null }), Failure);
		assert.throws(() => resolveTemplate({ prompt: '{prompt}', think: ['a', 'a'], answer: null }), Failure);
		assert.throws(() => resolveTemplate({ prompt: '{prompt}', think: ['', 'a'], answer: null }), Failure);
	});
});
