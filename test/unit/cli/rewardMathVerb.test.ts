import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { objects, Workplace } from './cliFixtures.ts';

describe('reward-math', () => {
	it('prints the verdict for one answer, gold first', async (context) => {
		const place = await Workplace.make(context);
		const verdict = async (...args: string[]) => {
			const ended = await place.call('reward-math', '--json', ...args);
			assert.equal(ended.status, 0, ended.stderr);
			const [object, ...rest] = objects(ended.stdout);
			assert.deepEqual(rest, []);
			assert.deepEqual(Object.keys(object ?? {}), ['value', 'reason']);
			return object?.value;
		};
		assert.equal(await verdict('\\frac{1}{2}', 'The answer is $0.5$.'), 1);
		assert.equal(await verdict('-5', '5'), 0);
		assert.equal(await verdict('-5', '-5.0'), 1);
		assert.equal(await verdict('\\frac{1', '5'), null);
		assert.equal(await verdict('5', '\\frac{1'), 0);
		assert.equal(await verdict('2', '<think>3?</think><answer>2</answer>'), 1);
		assert.equal(await verdict('2', '<think>2</think><answer>3</answer>'), 0);
		assert.equal(await verdict('2', '<answer>2</answer><answer>3</answer>'), 0);
		const text = await place.call('reward-math', '1/2', '0.5');
		assert.match(text.stdout, /^1 right: /);
	});

	it('checks a file line by line, in order, and reports lines that are not pairs', async (context) => {
		const place = await Workplace.make(context);
		const lines = [
			'{"gold":"1/2","prediction":"0.5"}',
			'{"gold":7,"prediction":"eight"}',
			'no pair',
			'{"gold":"x>2","prediction":"(2,\\\\infty)","id":3}',
			'{"gold":null,"prediction":"5"}',
			'{"gold":"\\\\{1,2\\\\}","prediction":"2 and 1"}',
		];
		const path = await place.write('pairs.jsonl', lines.join('\n'));
		for (const form of [[], ['--json']]) {
			const ended = await place.call('reward-math', '--pairs', path, ...form);
			assert.equal(ended.status, 1, ended.stderr);
			const verdicts = objects(ended.stdout);
			assert.deepEqual(
				verdicts.map(({ value }) => value),
				[1, 0, null, 1, null, 1],
			);
			assert.match(String(verdicts[2]?.reason), /Line 3/);
		}
	});

	it('rejects what it cannot check', async (context) => {
		const place = await Workplace.make(context);
		const cases: [string[], RegExp][] = [
			[['5'], /requires a prediction/],
			[[], /requires a gold answer/],
			[['1', '2', '3'], /Unexpected argument "3"/],
			[['--pairs', 'gone.jsonl'], /gone\.jsonl/],
			[['--pairs', 'gone.jsonl', '5'], /cannot be combined with answers on the command line/],
			[['--fast', '5', '5'], /--fast/],
		];
		for (const [args, message] of cases) {
			const ended = await place.call('reward-math', ...args);
			assert.equal(ended.status, 2, args.join(' '));
			assert.match(ended.stderr, message);
		}
	});
});
