import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { maxCallsPerTurn, parseToolCalls, renderToolCall } from '../../../../src/core/episode/toolCallText.ts';
import type { ToolSchema } from '../../../../src/protocol/environmentHost.ts';

const tool = (name: string, properties: Record<string, Record<string, unknown>>): ToolSchema => ({
	name,
	description: name,
	parameters: { type: 'object', properties, required: Object.keys(properties) },
});
const tools = [
	tool('guess', { number: { type: 'integer' } }),
	tool('say', { text: { type: 'string' } }),
	tool('move', { steps: { type: 'integer' }, direction: { type: 'string', enum: ['up', 'down'] } }),
	tool('weigh', { mass: { type: 'number', nullable: true }, heavy: { type: 'boolean' } }),
	tool('list', { items: { type: 'array', items: { type: 'integer' } } }),
	tool('look', {}),
];
const tags = ['<call>', '</call>'] as const;
const parse = (...contents: string[]) =>
	parseToolCalls(contents.map((content) => `<call>${content}</call>`).join('\n'), tags, tools);

describe('a tool call in text', () => {
	const forms: readonly [text: string, name: string, given: unknown][] = [
		['guess 50', 'guess', { number: 50 }],
		[' guess  -7\n', 'guess', { number: -7 }],
		['guess(50)', 'guess', { number: 50 }],
		['guess( number = 50 )', 'guess', { number: 50 }],
		['{"name": "guess", "arguments": {"number": 50}}', 'guess', { number: 50 }],
		['{"type": "function", "function": {"name": "guess", "arguments": "{\\"number\\": 50}"}}', 'guess', { number: 50 }],
		['say hello, "world"', 'say', { text: 'hello, "world"' }],
		['say "hello"', 'say', { text: 'hello' }],
		['say 12', 'say', { text: '12' }],
		["say('a, (b)')", 'say', { text: 'a, (b)' }],
		['move 3 up', 'move', { steps: 3, direction: 'up' }],
		['move(3, direction="up")', 'move', { steps: 3, direction: 'up' }],
		['weigh 1.5e2 true', 'weigh', { mass: 150, heavy: true }],
		['weigh null False', 'weigh', { mass: null, heavy: false }],
		['list [1, 2]', 'list', { items: [1, 2] }],
		['look', 'look', {}],
		['look()', 'look', {}],
	];
	for (const [text, name, given] of forms) {
		it(`reads ${text.trim()}`, () => assert.deepEqual(parse(text), [{ name, arguments: given }]));
	}

	it('reads all calls of a turn, including lists of calls', () => {
		assert.deepEqual(
			parse('guess 1', '[{"name": "look"}, {"name": "guess", "arguments": {"number": 2}}]').map(({ name }) => name),
			['guess', 'look', 'guess'],
		);
	});

	it('requires both tags', () => {
		for (const text of ['', 'guess 50', '<call>guess 50', 'guess 50</call>', '</call>guess 1<call>']) {
			assert.deepEqual(parseToolCalls(text, tags, tools), [], text);
		}
	});

	it('that cannot be parsed keeps its text as arguments, which the environment rejects with an error', () => {
		for (const [text, name] of [
			['{"name": "guess", "arguments": ', ''],
			['{"name": 3}', ''],
			['[]', ''],
			['[[[[', ''],
			['guess(', 'guess('],
			['guess(number=)', 'guess'],
			["say('open)", 'say'],
			['look 5', 'look'],
			['', ''],
		] as const) {
			const [call] = parse(text);
			assert.equal(call?.name, name, text);
			if (text !== '' && text !== 'guess(') assert.equal(typeof call?.arguments, 'string', text);
		}
	});

	it('keeps values that do not fit the schema, and arguments that the schema lacks', () => {
		assert.deepEqual(parse('guess high')[0]?.arguments, { number: 'high' });
		assert.deepEqual(parse('guess 99999999999999999999')[0]?.arguments, { number: '99999999999999999999' });
		assert.deepEqual(parse('guess(1, 2, x=3)')[0]?.arguments, { number: 1, argument2: 2, x: 3 });
		assert.deepEqual(parse('fly 3')[0], { name: 'fly', arguments: '3' });
	});

	it('cannot change a prototype', () => {
		const [call] = parse('guess(__proto__={"admin": true})');
		assert.deepEqual(Object.keys(call?.arguments as object), ['__proto__']);
		assert.equal(({} as { admin?: boolean }).admin, undefined);
	});
});

describe('reading hostile text', () => {
	it('never throws, and stays fast for long text', () => {
		const parts = [
			'<call>',
			'</call>',
			'{',
			'[',
			'"',
			"'",
			'(',
			')',
			'=',
			',',
			'guess',
			' ',
			'\n',
			'\\',
			'1',
			'é',
			'\ud800',
		];
		const random = Random.of('hostile calls');
		for (let i = 0; i < 2000; i++) {
			const text = Array.from({ length: random.int(40) }, () => random.pick(parts)).join('');
			for (const call of parseToolCalls(text, tags, tools)) assert.equal(typeof call.name, 'string');
		}
		const size = 200_000;
		for (const unit of ['[', '{"a":', '(', "'", '=', 'a=', ' ', 'a,', '<call>', '<call></call>', '\\']) {
			const text = unit.repeat(size / unit.length);
			assert.ok(parseToolCalls(`<call>${text}</call>`, tags, tools).length <= maxCallsPerTurn);
			parseToolCalls(`<call>say(${text})</call>`, tags, tools);
			parseToolCalls(text, tags, tools);
		}
	});
});

describe('a rendered call', () => {
	it('is compact where the compact form is parsed as the same call', () => {
		assert.equal(renderToolCall({ name: 'guess', arguments: { number: 50 } }, tools), 'guess 50');
		assert.equal(renderToolCall({ name: 'move', arguments: { steps: 3, direction: 'up' } }, tools), 'move 3 up');
		assert.equal(renderToolCall({ name: 'look', arguments: {} }, tools), 'look');
		assert.equal(
			renderToolCall({ name: 'guess', arguments: { number: '50' } }, tools),
			'{"name":"guess","arguments":{"number":"50"}}',
		);
	});

	it('is parsed as the same call, whatever its arguments are', () => {
		const values = [
			'',
			' ',
			'a b',
			'12',
			'<call>',
			'</call>',
			'"',
			"'x'",
			'true',
			'{',
			null,
			true,
			3,
			-1.5,
			[1],
			{ a: 1 },
		];
		for (const { name, parameters } of tools) {
			const keys = [...Object.keys(parameters.properties), 'other'];
			for (const key of keys) {
				for (const value of values) {
					const call = { name, arguments: { [key]: value } };
					const text = renderToolCall(call, tools);
					assert.deepEqual(parse(text), [call], text);
				}
			}
		}
	});
});
