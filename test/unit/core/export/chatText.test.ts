import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { chatOfText, withMessages } from '../../../../src/core/export/chatText.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';

const user = (content: string) => ({ role: 'user', content });
const system = (content: string) => ({ role: 'system', content });
const assistant = (content: string) => ({ role: 'assistant', content });

describe('prompts formatted by a chat template', () => {
	it('are parsed back to messages, with and without special tokens', () => {
		const chat = [system('You add.'), user('What is 1+1?')];
		for (const text of [
			'<|im_start|>system\nYou add.<|im_end|>\n<|im_start|>user\nWhat is 1+1?<|im_end|>\n<|im_start|>assistant\n',
			'system\nYou add.\nuser\nWhat is 1+1?\nassistant\n',
			'<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nYou add.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWhat is 1+1?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
			'system\n\nYou add.user\n\nWhat is 1+1?assistant\n\n',
		]) {
			assert.deepEqual(chatOfText(text), { messages: chat, opening: '' }, text);
		}
		for (const text of [
			'<bos><start_of_turn>user\na\n\nb<end_of_turn>\n<start_of_turn>model\n',
			'user\na\n\nb\nmodel\n',
		]) {
			assert.deepEqual(chatOfText(text), { messages: [user('a\n\nb')], opening: '' }, text);
		}
		assert.deepEqual(chatOfText('user\n1+1?\nassistant\n2\nuser\nSure?\nassistant\n'), {
			messages: [user('1+1?'), assistant('2'), user('Sure?')],
			opening: '',
		});
	});

	it('keep what the template adds before the completion', () => {
		assert.deepEqual(chatOfText('user\nq\nassistant\n<think>\n'), { messages: [user('q')], opening: '<think>\n' });
		assert.deepEqual(chatOfText('user\nq\nassistant\n<think>\n\n</think>\n\n'), {
			messages: [user('q')],
			opening: '<think>\n\n</think>\n\n',
		});
	});

	it('are distinguished from other text, and are ambiguous if a message could start inside another', () => {
		for (const text of [
			'',
			'12*3+1=',
			'user\nonly',
			'The user\nasked an\nassistant\n',
			'assistant\n',
			'User: a\nAssistant:',
		]) {
			assert.equal(chatOfText(text), null, JSON.stringify(text));
		}
		// A question that contains a line "user".
		assert.equal(chatOfText('user\nWho is this:\nuser\nroot\nassistant\n'), 'unclear');
		assert.equal(chatOfText('system\nonly instructions\nassistant\n'), 'unclear');
	});

	it('survive a round trip for any messages', () => {
		const words = ['a', 'user', 'model', ' ', '\n', '?', 'system', '<think>', '1+1', '\n\n'];
		for (let seed = 0; seed < 500; seed++) {
			const random = Random.of(seed, 'chats');
			const content = () => Array.from({ length: random.int(6) }, () => words[random.int(words.length)]).join('');
			const messages = [
				...(random.int(2) ? [system(content())] : []),
				...Array.from({ length: random.int(3) }, () => [user(content()), assistant(content())]).flat(),
				user(content()),
			];
			const marked = `${messages.map((one) => `<|im_start|>${one.role}\n${one.content}<|im_end|>\n`).join('')}<|im_start|>assistant\n`;
			assert.deepEqual(chatOfText(marked), { messages, opening: '' });
			const bare = `${messages.map((one) => `${one.role}\n${one.content}\n`).join('')}assistant\n`;
			const read = chatOfText(bare);
			// Formatting a parsed result must reproduce the original.
			if (read === null || read === 'unclear') continue;
			assert.equal(`${read.messages.map((one) => `${one.role}\n${one.content}\n`).join('')}assistant\n`, bare);
		}
	});

	it('are combined with the completion in a rollout', () => {
		const made = (prompt: RolloutLine['prompt'], completion: RolloutLine['completion']) => {
			const read = withMessages({ prompt, completion });
			return typeof read === 'string' ? read : [read.prompt, read.completion];
		};
		assert.deepEqual(made('user\nq\nassistant\n<think>\n', 'so</think>2'), [
			[user('q')],
			[assistant('<think>\nso</think>2')],
		]);
		const marked = '<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n';
		assert.deepEqual(made(marked, '2<|im_end|>\n'), [[user('q')], [assistant('2')]]);
		assert.deepEqual(made('1+1=', '2'), ['1+1=', '2']);
		assert.deepEqual(made([user('q')], [assistant('2')]), [[user('q')], [assistant('2')]]);
		assert.match(String(made('user\na\nuser\nb\nassistant\n', '2')), /cannot be split into messages/);
	});
});
