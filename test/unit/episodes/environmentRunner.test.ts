import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EpisodeFault } from '../../../src/episodes/episodeSession.ts';
import { LoadFailure } from '../../../src/rewards/loadFailure.ts';
import { openEnvironment } from './environmentFixtures.ts';
import { guessing } from './guessingEnvironment.ts';

const guess = (value: unknown) => [{ name: 'guess', arguments: { value } }];

describe('an environment in a Python host', () => {
	it('is described, including its tools as JSON schemas', async () => {
		const runner = await openEnvironment(guessing);
		const { name, tools, ownsReward, reportsDone, rewardRange, location, places, resetParameters, resetTakesAll } =
			await runner.describe();
		assert.deepEqual(
			{ name, ownsReward, reportsDone, rewardRange, resetParameters, resetTakesAll },
			{
				name: 'Guess',
				ownsReward: true,
				reportsDone: true,
				rewardRange: [0, 1],
				resetParameters: ['number'],
				resetTakesAll: true,
			},
		);
		assert.deepEqual(location, { line: 2, endLine: 2 });
		assert.deepEqual(places, { reset: { line: 8, endLine: 8 }, get_reward: { line: 30, endLine: 30 } });
		assert.deepEqual(tools, [
			{
				name: 'guess',
				isAsync: false,
				location: { line: 14, endLine: 14 },
				fault: null,
				schema: {
					name: 'guess',
					description: 'Guesses the number.',
					parameters: {
						type: 'object',
						properties: { value: { type: 'integer', description: 'Your guess.' } },
						required: ['value'],
					},
					return: { type: 'string', description: 'A hint.' },
				},
			},
		]);
	});

	it('plays an episode, and reports state if asked', async () => {
		const runner = await openEnvironment(guessing);
		const session = runner.start({ prompt: [], number: 5 }, { state: true });
		const { observation, done, state } = await session.reset();
		assert.deepEqual(
			{ observation, done, state },
			{ observation: ' Guess my number from 1 to 10.', done: false, state: { number: 5, tries: 0, done: false } },
		);
		const low = await session.call(guess(3));
		assert.deepEqual(low.results, [{ name: 'guess', content: 'higher', failed: false }]);
		assert.deepEqual(low.state, { number: 5, tries: 1, done: false });
		assert.equal(await session.reward(), 0);
		assert.equal((await session.call(guess(5))).done, true);
		assert.equal(await session.reward(), 1);
		await session.end();
	});

	it('answers failed calls as TRL does, and continues', async () => {
		const runner = await openEnvironment(guessing);
		const session = runner.start({ number: 5 });
		await session.reset();
		const { results } = await session.call([
			{ name: 'gess', arguments: { value: 1 } },
			{ name: 'guess', arguments: {} },
			{ name: 'guess', arguments: '{"value": 1' },
			{ name: 'guess', arguments: null },
			{ name: 'guess', arguments: { value: 'five' } },
			{ name: 'guess', arguments: { value: 5 } },
			{ name: 'guess', arguments: { value: 5 } },
			{ name: 'reset', arguments: {} },
			{ name: '__init__', arguments: {} },
		]);
		// These are the texts that Python 3.11 gives for `str({"error": str(e)})`.
		const expected: [boolean, RegExp][] = [
			[true, /^\{'error': 'Tool gess not found\.'\}$/],
			[true, /^\{'error': "Guess\.guess\(\) missing 1 required positional argument: 'value'"\}$/],
			[
				true,
				/^\{'error': ".*argument after \*\* must be a mapping, not str"\}$|^\{'error': '.*must be a mapping, not str'\}$/,
			],
			[true, /must be a mapping, not NoneType/],
			[true, /'<' not supported between instances of 'str' and 'int'/],
			[false, /^correct$/],
			[true, /^\{'error': 'The game is over\.'\}$/],
			[true, /Tool reset not found/],
			[true, /Tool __init__ not found/],
		];
		assert.equal(results.length, expected.length);
		for (const [i, [failed, content]] of expected.entries()) {
			assert.equal(results[i]?.failed, failed, results[i]?.content);
			assert.match(results[i]?.content ?? '', content);
		}
		assert.equal(results[4]?.line, 28, 'the line that raised');
	});

	it('awaits asynchronous tools together, after the others, and an asynchronous get_reward', async () => {
		const runner = await openEnvironment(
			[
				'import asyncio',
				'class Waits:',
				'    def reset(self, **row): self.order = []',
				'    async def slow(self, n: int) -> str:',
				'        """Waits.',
				'',
				'        Args:',
				'            n: A number.',
				'        """',
				'        await asyncio.sleep(0.01)',
				'        if n < 0: raise ValueError("negative")',
				'        self.order.append(n)',
				'        return f"slow {n}"',
				'    def fast(self) -> int:',
				'        """Does not wait."""',
				'        self.order.append(0)',
				'        return 0',
				'    async def get_reward(self):',
				'        await asyncio.sleep(0)',
				'        return len(self.order)',
			].join('\n'),
		);
		assert.deepEqual(
			(await runner.describe()).tools.map(({ name, isAsync }) => [name, isAsync]),
			[
				['fast', false],
				['slow', true],
			],
		);
		const session = runner.start({});
		assert.equal((await session.reset()).observation, null);
		const { results } = await session.call([
			{ name: 'slow', arguments: { n: 1 } },
			{ name: 'slow', arguments: { n: -1 } },
			{ name: 'fast', arguments: {} },
		]);
		assert.deepEqual(
			results.map(({ name, content, failed }) => [name, content, failed]),
			[
				['fast', '0', false],
				['slow', 'slow 1', false],
				['slow', "{'error': 'negative'}", true],
			],
		);
		assert.equal(await session.reward(), 2);
	});

	it('gives a reward to each turn that adds rewards, and none to other turns', async () => {
		const runner = await openEnvironment(
			[
				'class Earns:',
				'    def reset(self, **row): self.turn_rewards = [5]',
				'    def earn(self, reward: object) -> int:',
				'        """Adds a reward.',
				'',
				'        Args:',
				'            reward: The reward; its text names what else can happen.',
				'        """',
				'        if reward == "clear": self.turn_rewards = []',
				'        elif reward == "other": self.turn_rewards = "rewards"',
				'        elif reward == "infinite": self.turn_rewards.append(float("inf"))',
				'        elif reward == "large": self.turn_rewards.extend([1e308, 1e308])',
				'        else: self.turn_rewards.append(reward)',
				'        if reward == -1: raise ValueError("too little")',
				'        return len(self.turn_rewards)',
				'    def wait(self) -> str:',
				'        """Waits."""',
				'        return "waited"',
				'    def get_reward(self): return sum(self.turn_rewards)',
			].join('\n'),
		);
		const earn = (...rewards: unknown[]) => rewards.map((reward) => ({ name: 'earn', arguments: { reward } }));
		const session = runner.start({});
		await session.reset();
		const turns = [earn(0.1), [{ name: 'wait', arguments: {} }], earn(0.1, 0.2, 0.3), earn(-1), earn(0), earn(null)];
		const rewards: unknown[] = [];
		for (const calls of turns) {
			const turn = await session.call(calls);
			rewards.push('reward' in turn ? turn.reward : 'none');
		}
		// Rewards added by reset belong to no turn, and a failed call can earn one.
		assert.deepEqual(rewards, [0.1, 'none', 0.1 + 0.2 + 0.3, -1, 0, 'none']);
		await session.end();
		const played = await runner.start({}).play(turns.slice(0, 3), true);
		assert.deepEqual(
			[played?.turns.map(({ reward }) => reward), played?.reward],
			[[0.1, undefined, 0.1 + 0.2 + 0.3], 5 + 0.1 + 0.1 + 0.2 + 0.3],
		);
		const shorter = /turn_rewards became shorter/;
		const faults = { clear: shorter, other: shorter, infinite: /turn_rewards contains inf/, large: /inf/ };
		for (const [reward, message] of Object.entries({ ...faults, text: /turn_rewards contains the string 'text'/ })) {
			const failing = runner.start({});
			await failing.reset();
			await assert.rejects(failing.call(earn(reward)), (error: EpisodeFault) => {
				assert.match(error.error.message, message);
				return error.error.kind === 'invalid';
			});
			await failing.end();
		}
	});

	it('reuses the instance of an ended episode, and keeps those of concurrent ones apart', async () => {
		const runner = await openEnvironment(
			[
				'class Counts:',
				'    made = 0',
				'    def __init__(self):',
				'        Counts.made += 1',
				'        self.id = Counts.made',
				'    def reset(self, **row): return str(self.id)',
			].join('\n'),
		);
		const [first, second] = [runner.start({}), runner.start({})];
		assert.equal((await first.reset()).observation, '1');
		assert.equal((await second.reset()).observation, '2');
		await first.end();
		const third = runner.start({});
		assert.equal((await third.reset()).observation, '1');
		await third.end({ discard: true });
		assert.equal((await runner.start({}).reset()).observation, '3');
	});
});

describe('the summary of a state', () => {
	it('is bounded and the same every time, whatever the environment stores', async () => {
		const runner = await openEnvironment(
			[
				'import collections, random',
				'class Broken:',
				'    def __repr__(self): raise ValueError("no")',
				'    def __eq__(self, other): raise ValueError("no")',
				'    __hash__ = None',
				'class _Deep:',
				'    pass',
				'class Stores:',
				'    def reset(self, **row):',
				'        self.text = "x" * 1_000_000',
				'        self.many = list(range(1_000_000))',
				'        self.keys = {str(i): i for i in range(100_000)}',
				'        self.set = set(range(100_000))',
				'        self.small = {3, 1, 2}',
				'        self.last = collections.deque([1, 2], maxlen=2)',
				'        self.random = random.Random(5)',
				'        self.cycle = self',
				'        self.broken = [Broken()]',
				'        self.huge = 10 ** 5000',
				'        self.nan = float("nan")',
				'        self.none, self.flag, self.number, self.share = None, True, 7, 0.5',
				'        self.function = lambda: 1',
			].join('\n'),
		);
		const states = [];
		for (let i = 0; i < 2; i++) {
			const session = runner.start({}, { state: true });
			states.push((await session.reset()).state ?? {});
			await session.end({ discard: true });
		}
		const [state = {}, again] = states;
		assert.deepEqual(state, again);
		assert.ok(JSON.stringify(state).length < 100_000, `${JSON.stringify(state).length}`);
		const { small, last, none, flag, number, share, nan, set, huge } = state;
		assert.deepEqual(
			{ small, last, none, flag, number, share, nan, set, huge },
			{
				small: [1, 2, 3],
				last: [1, 2],
				none: null,
				flag: true,
				number: 7,
				share: 0.5,
				nan: 'nan',
				set: '(set of 100000)',
				huge: '(large integer)',
			},
		);
		assert.match(String(state.random), /^Random [0-9a-f]{12}$/);
	});
});

describe('an environment file that cannot be used', () => {
	const cases: readonly [string, string, RegExp, number | undefined][] = [
		['has a syntax error', 'class Guess:\n    def reset(self:\n', /SyntaxError/, 2],
		['raises at load', 'x = 1\nraise ValueError("no data")\n', /ValueError: no data/, 2],
		['imports a package that is not installed', 'import no_such_package_at_all\n', /No module named/, 1],
		['has no environment', 'class _Hidden:\n    def reset(self): pass\n', /no public class with a reset method/, 1],
		[
			'has two environments',
			'class A:\n    def reset(self): pass\nclass B:\n    def reset(self): pass\n',
			/several environments: A, B/,
			3,
		],
		[
			'needs arguments',
			'class A:\n    def __init__(self, size): pass\n    def reset(self): pass\n',
			/A\(\) failed: TypeError: .*'size'/,
			1,
		],
		['exits', 'import sys\nsys.exit(3)\n', /called sys\.exit\(3\)/, 2],
		['ends its process', 'import os\nos._exit(3)\n', /The environment process exited with code 3/, undefined],
	];
	for (const [what, text, message, line] of cases) {
		it(what, async () => {
			const runner = await openEnvironment(text);
			await assert.rejects(runner.describe(), (error: unknown) => {
				assert.ok(error instanceof LoadFailure, String(error));
				assert.match(error.detail, message);
				assert.equal(error.line, line);
				return true;
			});
		});
	}

	it('is not one whose class extends a base class in the same file', async () => {
		const text = 'class Base:\n    def reset(self): pass\nclass Game(Base):\n    pass\n';
		assert.equal((await (await openEnvironment(text)).describe()).name, 'Game');
	});
});
