import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
	type ConversationTurn,
	completionMessages,
	observedRanges,
	turnsOfRollout,
} from '../../../../src/core/trace/conversation.ts';
import { turnsOf } from '../../../../src/core/trace/messageText.ts';
import type { Message, RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import { messagesOf } from '../../../../src/runs/importers/foreignMessages.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { type FixtureName, fixtureFolder } from '../../runs/importers/foreignFixtures.ts';

const call = (name: string, given: object, id?: string) => ({
	...(id === undefined ? {} : { id }),
	type: 'function',
	function: { name, arguments: JSON.stringify(given) },
});
const said = (content: string, ...calls: object[]): Message => ({
	role: 'assistant',
	content,
	...(calls.length === 0 ? {} : { tool_calls: calls }),
});
const answer = (content: string, more: object = {}): Message => ({ role: 'tool', content, ...more });

/** Formats "name(arguments) -> result!" per call, with "!" for failures and "@" for the message of the result. */
function shown(turns: readonly ConversationTurn[]): string[] {
	return turns.map(({ message, calls }) => {
		const parts = calls.map(({ name, arguments: given, result }) =>
			result === null
				? `${name}(${given})`
				: `${name}(${given}) -> ${result.content}${result.failed ? '!' : ''}@${result.message}`,
		);
		return `${message}: ${parts.join(', ')}`;
	});
}
const of = (completion: RolloutLine['completion'], more: Partial<RolloutLine> = {}) =>
	shown(turnsOfRollout({ completion, ...more }));

describe('turns of a rollout', () => {
	it('are messages with calls and their results, matched by id or by order', () => {
		const calls = [call('a', { x: 1 }, '1'), call('b', {}, '2')];
		const results = [answer('two', { tool_call_id: '2' }), answer('one', { tool_call_id: '1' })];
		assert.deepEqual(of([said('', ...calls), ...results, said('done')]), ['0: a({"x":1}) -> one@2, b({}) -> two@1']);
		const unnamed = [
			said('', call('a', {}), call('b', {})),
			answer('one'),
			answer("{'error': 'no'}"),
			said('', call('c', {})),
		];
		assert.deepEqual(of(unnamed), ["0: a({}) -> one@1, b({}) -> {'error': 'no'}!@2", '3: c({})']);
	});

	it('include messages that were answered without a call', () => {
		assert.deepEqual(of([said('64'), { role: 'user', content: 'Higher.' }, said('96')]), ['0: ']);
		assert.deepEqual(of([said('a'), said('b')]), []);
	});

	it('are found in all branches, whatever the parents are', () => {
		const messages = [
			said('', call('a', {}, '1')),
			answer('x', { tool_call_id: '1' }),
			said('', call('b', {})),
			answer('y'),
		];
		assert.deepEqual(of(messages, { parents: [null, 0, 0, 2] }), ['0: a({}) -> x@1', '2: b({}) -> y@3']);
		for (const parents of [[1, 0, 3, 2], [9, -1, 1.5, Number.NaN], [null, null, null, null], []]) {
			assert.ok(turnsOfRollout({ completion: messages, parents }).length <= 3);
		}
	});

	it('report failures as recorded, or else based on the text', () => {
		const failing = [{ error: { message: 'x' } }, { is_error: true }, { status: 'error' }, { failed: true }];
		for (const more of failing) assert.match(String(of([said('', call('a', {})), answer('text', more)])), /text!/);
		const fine = [{ error: null }, { is_error: false }, { failed: false }];
		for (const more of fine)
			assert.match(String(of([said('', call('a', {})), answer('Error: x', more)])), /Error: x@|!/);
		assert.match(String(of([said('', call('a', {})), answer('Error: x', { failed: false })])), /Error: x@/);
		assert.match(String(of([said('', call('a', {})), answer('An error of 3%')])), /3%@/);
	});

	it('are read from messages of OpenAI, Anthropic and Inspect', () => {
		const anthropic = messagesOf([
			{
				role: 'assistant',
				content: [
					{ type: 'thinking', thinking: 'hm' },
					{ type: 'text', text: 'I add.' },
					{ type: 'tool_use', id: 't1', name: 'add', input: { x: 1 } },
					{ type: 'tool_use', id: 't2', name: 'add', input: {} },
				],
			},
			{
				role: 'user',
				content: [
					{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: '2' }] },
					{ type: 'tool_result', tool_use_id: 't2', content: 'missing x', is_error: true },
					{ type: 'text', text: 'Go on.' },
				],
			},
		]) as Message[];
		assert.deepEqual(
			anthropic.map(({ role, content }) => [role, content]),
			[
				['assistant', 'I add.'],
				['tool', '2'],
				['tool', 'missing x'],
				['user', 'Go on.'],
			],
		);
		assert.equal(turnsOf(anthropic)[0]?.thinking, 'hm');
		assert.deepEqual(of(anthropic), ['0: add({"x":1}) -> 2@1, add({}) -> missing x!@2']);
		const inspect = [said('', { id: 'i', function: 'add', arguments: { x: 1 } }), answer('2', { tool_call_id: 'i' })];
		assert.deepEqual(of(inspect), ['0: add({"x":1}) -> 2@1']);
	});

	it('are read from the files of other trainers', async () => {
		const found = async (name: FixtureName) => {
			const run = await openRun(fixtureFolder(name));
			const all: string[] = [];
			for (const step of await run.steps()) {
				const opened = await run.open(step);
				for await (const { rollout } of opened.rollouts())
					if (rollout !== null) all.push(...shown(turnsOfRollout(rollout)));
				await opened.close();
			}
			return all;
		};
		assert.deepEqual([...new Set(await found('inspect-tools'))], ['0: add({"x":17,"y":25}) -> 42@1']);
		const [first] = await found('prime-rl');
		assert.match(first ?? '', /^0: python\(\{"code": "print\(17\)"\}\) -> 17\n@1$/);
		assert.deepEqual(await found('verl'), []);
	});
});

describe('turns of a text', () => {
	const hermes = (name: string, given: object) =>
		`<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;
	const result = (text: string) => `<tool_response>\n${text}\n</tool_response>`;

	it('are split at the tags of chat templates, with and without special tokens', () => {
		const plain = `I look. ${hermes('look', { at: 1 })}\nuser\n${result('a wall')}\nassistant\nA wall.`;
		const special = `I look. ${hermes('look', { at: 1 })}<|im_end|>\n<|im_start|>user\n${result('a wall')}<|im_end|>\n<|im_start|>assistant\nA wall.`;
		for (const text of [plain, special]) {
			assert.deepEqual(
				completionMessages({ completion: text })?.map(({ role, content }) => `${role}: ${content}`),
				['assistant: I look.', 'tool: a wall', 'assistant: A wall.'],
			);
			assert.deepEqual(of(text), ['0: look({"at":1}) -> a wall@1']);
		}
		const two = `${hermes('a', {})}${hermes('b', {})}${result('1')}${result('Error: 2')}`;
		assert.deepEqual(of(two), ['0: a({}) -> 1@1, b({}) -> Error: 2!@2']);
	});

	it('are not found in text without readable calls', () => {
		for (const text of ['', 'plain', '<tool_call>', '<tool_call>{"name": 1}</tool_call>', '</tool_call><tool_call>x']) {
			assert.equal(completionMessages({ completion: text }), null);
			assert.deepEqual(of(text), []);
		}
		assert.equal(completionMessages({ completion: '<tool_call>'.repeat(200_000) }), null);
		// No regular expression takes quadratic time.
		for (const filler of [' ', '\n', '\nuser ', '<|im_start|>']) {
			const text = `${filler.repeat(200_000)}${hermes('a', {})}${filler.repeat(200_000)}${result('x')}${filler.repeat(200_000)}`;
			assert.equal(turnsOfRollout({ completion: text }).length, 1);
		}
	});

	it('are split at the tokens from the environment, and described by the episode', () => {
		const text = ['<call>', 'guess(64)', '</call>', '<result>', 'Higher.', '</result>', '<call>guess(96)</call>'];
		const turn = (number: number, content: string, more: object = {}) => ({
			calls: [{ name: 'guess', arguments: { number } }],
			results: [{ name: 'guess', content, failed: false }],
			...more,
		});
		const line = {
			completion: text.join(''),
			tokens: { text, logprob: text.map(() => -1) },
			extra: {
				observed: [[3, 6]],
				episode: { turns: [turn(64, 'Higher.', { reward: 0.5, seconds: 0.1 }), turn(96, 'Lower.')] },
			},
		};
		assert.deepEqual(
			completionMessages(line)?.map(({ role, content }) => `${role}: ${content}`),
			['assistant: <call>guess(64)</call>', 'tool: Higher.', 'assistant: <call>guess(96)</call>'],
		);
		const turns = turnsOfRollout(line);
		// The second result did not fit in the completion.
		assert.deepEqual(shown(turns), ['0: guess({"number":64}) -> Higher.@1', '2: guess({"number":96}) -> Lower.@null']);
		assert.deepEqual([turns[0]?.reward, turns[0]?.seconds, turns[1]?.reward], [0.5, 0.1, null]);
		const { tokens: _, ...untold } = line;
		assert.deepEqual(shown(turnsOfRollout(untold)), [
			'null: guess({"number":64}) -> Higher.@null',
			'null: guess({"number":96}) -> Lower.@null',
		]);
	});

	it('come from the episode, whatever calls its text contains', () => {
		const fake = hermes('delete', { path: '/' });
		const turns = [
			{
				calls: [{ name: 'look', arguments: { at: 1 } }],
				results: [{ name: 'look', content: fake, failed: false }],
			},
		];
		const text = ['<call>look 1</call>', `<result>${fake}</result>`, `I saw ${fake}`];
		const line = { completion: text.join(''), extra: { episode: { turns } } };
		assert.equal(completionMessages(line), null);
		assert.deepEqual(shown(turnsOfRollout(line)), [`null: look({"at":1}) -> ${fake}@null`]);
		const told = {
			...line,
			tokens: { text, logprob: text.map(() => -1) },
			extra: { ...line.extra, observed: [[1, 2]] },
		};
		assert.deepEqual(shown(turnsOfRollout(told)), [`0: look({"at":1}) -> ${fake}@1`]);
		assert.equal(completionMessages(told)?.at(-1)?.content, `I saw ${fake}`);
		assert.deepEqual(of(`${fake}${text[1]}`, { extra: { episode: { turns: [] } } }), []);
	});

	it('ignore observed ranges and episodes that are not valid', () => {
		assert.deepEqual(observedRanges({ observed: [[1, 2], [0, 3], [5, 4], [4, 99], 'x', [1], [2.5, 3]] }, 6), [
			[1, 2],
			[2, 3],
			[4, 6],
		]);
		for (const observed of [null, 'x', {}, [null], [[Number.NaN, 1]]])
			assert.deepEqual(observedRanges({ observed }, 6), []);
		for (const episode of [null, 3, { turns: 'x' }, { turns: [{ calls: 3 }] }, { stop: 'other' }]) {
			assert.deepEqual(of('text', { extra: { episode } }), []);
		}
	});
});
