import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { ByteText } from '../../../../src/engines/driver/byteText.ts';
import { rolloutsFile } from '../../../../src/engines/driver/linkRollouts.ts';
import type { RolloutBlock } from '../../../../src/protocol/trainerLink.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

function written(values: readonly number[]): string {
	const text = new ByteText();
	text.writeNumbers(values, 0, values.length);
	return decoder.decode(text.bytes);
}

const base64 = (values: readonly number[]) => Buffer.from(new Float32Array(values).buffer).toString('base64');

type Line = RolloutBlock['lines'][number];

function line(index: number, tokens: number | null, more: object = {}): Line {
	return {
		...{ step: 3, stage: 'grpo', group: 0, index, prompt: '1+1=', completion: '2' },
		...{ rewards: { accuracy: 1 }, reward: 1, advantage: 0.5, truncated: false },
		...(tokens === null ? {} : { tokens }),
		...more,
	};
}

/**
 * Builds a block with one completion per list of token strings. Each list of numbers has one value for every token of
 * every completion.
 */
function block(texts: readonly (readonly string[])[], numbers: Record<string, readonly number[]>): RolloutBlock {
	const all = texts.flat();
	const pieces = [...new Set(all)];
	const places = Uint32Array.from(all, (text) => pieces.indexOf(text));
	const lists = Object.entries(numbers).map(([name, values]) => [name, base64(values)]);
	return {
		lines: texts.map((text, i) => line(i, text.length)),
		tokens: {
			pieces,
			text: Buffer.from(places.buffer).toString('base64'),
			numbers: Object.fromEntries(lists) as NonNullable<RolloutBlock['tokens']>['numbers'],
		},
	};
}

const parsed = (file: Uint8Array) =>
	decoder
		.decode(file)
		.trimEnd()
		.split('\n')
		.map((text) => JSON.parse(text));

describe('Number formatting', () => {
	it('writes at most six decimals, without trailing zeros', () => {
		assert.equal(
			written([0, -0, 1, -1.5, 0.25, -0.000001, 12.3456784, 999.9999999, 1234.5, -2147.483647]),
			'[0,0,1,-1.5,0.25,-0.000001,12.345678,1000,1234.5,-2147.483647]',
		);
	});

	it('writes large numbers as JSON does, and null for non-finite values', () => {
		assert.equal(written([-2147.483648, 1e9, 3e38, -1e300]), '[-2147.483648,1000000000,3e+38,-1e+300]');
		assert.equal(written([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]), '[null,null,null]');
		assert.equal(written([]), '[]');
	});

	it('round-trips to within half a millionth where six decimals are written', () => {
		const random = Random.of(7);
		const values = Array.from({ length: 20_000 }, (_, i) => {
			const size = [1e-7, 1e-5, 1e-3, 0.1, 1, 10, 100, 2000, 1e5][i % 9] as number;
			return (2 * random.next() - 1) * size;
		});
		const back = JSON.parse(written(values)) as number[];
		assert.equal(back.length, values.length);
		for (const [i, value] of values.entries()) {
			const expected = Math.abs(value) < 2147 ? Math.round(value * 1e6) / 1e6 : value;
			assert.equal(back[i], expected + 0);
		}
	});
});

describe('Rollouts over the link', () => {
	it('assigns each completion its own tokens, across processes', () => {
		const file = rolloutsFile([
			block([['1', '+', '1'], [], ['é', '\ud83d\ude00', '"\n', '']], {
				logprob: [-0.5, -1, -2, -3, Number.NaN, -5, -6],
				entropy: [1, 2, 3, 4, 5, 6, 7],
			}),
			block([['x']], { logprob: [-7] }),
		]);
		assert.deepEqual(
			parsed(file).map(({ index, tokens }) => [index, tokens]),
			[
				[0, { text: ['1', '+', '1'], logprob: [-0.5, -1, -2], entropy: [1, 2, 3] }],
				[1, { text: [], logprob: [], entropy: [] }],
				[2, { text: ['é', '\ud83d\ude00', '"\n', ''], logprob: [-3, null, -5, -6], entropy: [4, 5, 6, 7] }],
				[0, { text: ['x'], logprob: [-7] }],
			],
		);
		const { tokens: _, ...rest } = parsed(file)[0];
		assert.deepEqual(rest, line(0, null));
	});

	it('leaves lines without tokens unchanged', () => {
		const lines = [line(0, null, { extra: { length: 4 } }), line(1, null, { row: { half: '\ud800' } })];
		assert.deepEqual(parsed(rolloutsFile([{ lines }])), lines);
		assert.equal(rolloutsFile([]).length, 0);
	});

	it('grows its buffer for large input', () => {
		const text = Array.from({ length: 50_000 }, (_, i) => `word${i % 1000}`);
		const values = text.map((_, i) => (i % 5000) / 64);
		const [only] = parsed(rolloutsFile([block([text], { logprob: values })]));
		assert.ok(JSON.stringify(only.tokens) === JSON.stringify({ text, logprob: values }));
	});

	it('rejects token data that does not cover every token', () => {
		const { lines, tokens } = block([['a', 'b']], { logprob: [1, 2] });
		const result = tokens as NonNullable<typeof tokens>;
		const refused = (change: Partial<typeof result>, why: RegExp) =>
			assert.throws(() => rolloutsFile([{ lines, tokens: { ...result, ...change } }]), why);
		refused({ numbers: { logprob: base64([1]) } }, /1 values for "logprob" but 2 tokens/);
		refused({ numbers: { ...result.numbers, entropy: base64([1, 2, 3]) } }, /3 values for "entropy" but 2 tokens/);
		refused({ numbers: { logprob: '?'.repeat(11) } }, /"logprob"/);
		refused({ text: base64([1]) }, /1 values for "text" but 2 tokens/);
		refused({ pieces: ['a'] }, /has no text/);
		assert.throws(() => rolloutsFile([{ lines: [line(0, 1e15)], tokens: result }]), /but 1000000000000000 tokens/);
		assert.throws(() => rolloutsFile([{ lines }]), /have no token data/);
		assert.throws(() => rolloutsFile([{ lines }]), /violated the protocol/);
	});
});
