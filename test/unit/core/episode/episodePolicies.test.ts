import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { randomPolicy, scriptPolicy, wrongScript } from '../../../../src/core/episode/episodePolicies.ts';
import { promptText } from '../../../../src/core/episode/promptText.ts';
import { randomArguments, seenValues } from '../../../../src/core/episode/randomArguments.ts';
import { solutionOf } from '../../../../src/core/episode/solution.ts';
import type { ToolDescription, ToolSchema } from '../../../../src/protocol/environmentHost.ts';
import type { EpisodeTurn } from '../../../../src/protocol/episode.ts';

const schema = (
	properties: ToolSchema['parameters']['properties'],
	required = Object.keys(properties),
): ToolSchema => ({
	name: 'act',
	description: 'Acts.',
	parameters: { type: 'object', properties, required },
});
const tool = (made: ToolSchema): ToolDescription => ({
	name: made.name,
	isAsync: false,
	location: null,
	schema: made,
	fault: null,
});
const turn = (content: string, done: boolean | null = false): EpisodeTurn => ({
	calls: [],
	results: [{ name: 'act', content, failed: false }],
	done,
	durationMs: 0,
});

describe('the solution of a row', () => {
	it('is a list of calls: single, in groups, or in the format of chat messages', () => {
		const a = { name: 'a', arguments: { x: 1 } };
		assert.deepEqual(solutionOf({ calls: [a, [a, { name: 'b' }], { type: 'function', function: a }] }), {
			turns: [[a], [a, { name: 'b', arguments: {} }], [a]],
		});
		assert.deepEqual(solutionOf({ calls: [] }), { turns: [] });
	});

	it('is missing without the column, and in rows whose solution is text', () => {
		for (const row of [{}, { calls: null }, { solution: 'First, ...' }])
			assert.deepEqual(solutionOf(row), { turns: null });
	});

	it('is reported if it is anything else', () => {
		for (const calls of [
			5,
			'text',
			Array(1001).fill({ name: 'a' }),
			[5],
			[{ name: 1 }],
			[{ name: 'a', arguments: 'x' }],
			{ name: 'a' },
		]) {
			const { turns, fault } = solutionOf({ calls });
			assert.equal(turns, null);
			assert.match(fault ?? '', /not a list of up to 1000 tool calls/);
		}
	});
});

describe('random arguments', () => {
	const draw = (made: ToolSchema, seed: number) =>
		randomArguments(made, { integers: [40, 90], words: ['red'] }, Random.of(seed));

	it('fit the schema', () => {
		const made = schema({
			n: { type: 'integer' },
			x: { type: 'number' },
			b: { type: 'boolean' },
			s: { type: 'string' },
			c: { type: 'string', enum: ['up', 'down'] },
			u: { type: ['integer', 'string'] },
			l: { type: 'array', items: { type: 'integer' } },
			t: { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'boolean' }] },
			o: { anyOf: [{ type: 'integer' }, { type: 'boolean' }], nullable: true },
		});
		for (let seed = 0; seed < 200; seed++) {
			const { n, x, b, s, c, u, l, t, o } = draw(made, seed) as Record<string, unknown> & {
				l: unknown[];
				t: unknown[];
			};
			assert.ok(Number.isInteger(n));
			assert.equal(typeof x, 'number');
			assert.equal(typeof b, 'boolean');
			assert.equal(typeof s, 'string');
			assert.ok(c === 'up' || c === 'down');
			assert.ok(typeof u === 'string' || Number.isInteger(u));
			assert.ok(l.every(Number.isInteger));
			assert.ok(t.length === 2 && Number.isInteger(t[0]) && typeof t[1] === 'boolean');
			assert.ok(o === null || typeof o === 'boolean' || Number.isInteger(o));
		}
	});

	it('sometimes omit optional arguments, and favor numbers within the range of those seen', () => {
		const made = schema({ n: { type: 'integer' } }, []);
		const drawn = Array.from({ length: 300 }, (_, seed) => draw(made, seed).n as number | undefined);
		const present = drawn.filter((n) => n !== undefined);
		assert.ok(present.length > 100 && present.length < 200, `${present.length}`);
		assert.ok(present.filter((n) => n >= 40 && n <= 90).length > present.length / 2);
	});

	it('are drawn from text that the policy has seen', () => {
		assert.deepEqual(seenValues(['1 to 100, not -5', null, 'red 1']), {
			integers: [1, 100, -5],
			words: ['1', 'to', '100', 'not', '5', 'red'],
		});
	});
});

describe('policies', () => {
	const view = (...turns: EpisodeTurn[]) => ({ prompt: 'from 1 to 9', turns });

	it('a script ends with its last turn', () => {
		const policy = scriptPolicy([[{ name: 'a', arguments: {} }], []]);
		assert.deepEqual(policy(view()), [{ name: 'a', arguments: {} }]);
		assert.deepEqual(policy(view(turn(''))), []);
		assert.equal(policy(view(turn(''), turn(''))), null);
		assert.equal(scriptPolicy([])(view()), null);
	});

	it('the random policy makes the same calls for the same view, other calls for another seed, and stops when done', () => {
		const tools = [tool(schema({ n: { type: 'integer' } }))];
		const calls = (seed: number) => JSON.stringify(randomPolicy(tools, seed)(view(turn('a'))));
		assert.equal(calls(1), calls(1));
		assert.ok(new Set(Array.from({ length: 20 }, (_, seed) => calls(seed))).size > 5);
		assert.equal(randomPolicy(tools, 1)(view(turn('a', true))), null);
		assert.equal(randomPolicy([{ ...tools[0], schema: null } as ToolDescription], 1)(view()), null);
	});

	it('the wrong script makes every type of invalid call once', () => {
		const script = wrongScript([tool(schema({ n: { type: 'integer' } }))]);
		const calls = script.flatMap((turn) => turn.map(({ name, arguments: given }) => [name, given]));
		assert.deepEqual(calls, [
			['no_such_tool', {}],
			['act', '{"unterminated": '],
			['act', null],
			['act', [1]],
			['act', {}],
			['act', { n: { wrong: ['type'] } }],
			['act', { no_such_argument: 1 }],
		]);
	});

	it('see the prompt as text, followed by the observation', () => {
		assert.equal(
			promptText(
				{
					prompt: [
						{ role: 'system', content: 'S' },
						{ role: 'user', content: 'U' },
					],
				},
				'!',
			),
			'S\n\nU!',
		);
		assert.equal(promptText({ prompt: 'P' }, null), 'P');
		assert.equal(promptText({ prompt: [null, 5] }, 'O'), 'O');
	});
});
