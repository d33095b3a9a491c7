import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { environmentLine, isSoundEnvironment } from '../../../src/core/episode/environmentSummary.ts';
import type { EnvironmentData } from '../../../src/episodes/environmentData.ts';
import { verifyEnvironment } from '../../../src/episodes/verifyEnvironment.ts';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import {
	type EnvironmentVerification,
	environmentVerificationSchema,
} from '../../../src/protocol/environmentVerification.ts';
import { root } from '../../scripts/paths.ts';
import { testSandbox } from '../rewards/sandboxFixture.ts';
import { openEnvironment } from './environmentFixtures.ts';
import { guessing } from './guessingEnvironment.ts';

const { skip } = await testSandbox();
const call = (name: string, given: object = {}) => ({ name, arguments: given });

function dataOf(...rows: Record<string, unknown>[]): EnvironmentData {
	return { described: 'rows.jsonl', rows: rows.map((columns, row) => ({ row, columns })), remarks: [], files: [] };
}

async function verify(
	text: string,
	data: EnvironmentData,
	options: Parameters<typeof openEnvironment>[1] & { turns?: number } = {},
): Promise<EnvironmentVerification> {
	const runner = await openEnvironment(text, options);
	const found = await verifyEnvironment(runner, data, { turns: options.turns ?? 6, seed: 3 });
	return decodeOrThrow(environmentVerificationSchema, JSON.parse(JSON.stringify(found)), 'verification');
}

const guessData = dataOf(
	...[5, 8, 11, 17].map((number) => ({
		number,
		calls: [call('guess', { value: 1 }), call('guess', { value: number })],
	})),
);

/** Returns the findings as `kind level line`. */
const short = ({ findings }: EnvironmentVerification) =>
	findings.map(({ kind, level, line }) => `${kind} ${level} ${line}`);

describe('a sound environment', () => {
	it('passes, with statistics for each policy', async () => {
		const found = await verify(guessing, guessData);
		assert.deepEqual(short(found), []);
		assert.ok(isSoundEnvironment(found));
		const of = (name: string) => found.policies.find(({ policy }) => policy === name);
		assert.deepEqual(of('gold'), {
			...{ policy: 'gold', episodes: 4, failed: 0, mean: 1, min: 1, max: 1, judged: 4, successes: 4, maxTurns: 2 },
		});
		assert.deepEqual(of('idle'), {
			...{ policy: 'idle', episodes: 4, failed: 0, mean: 0, min: 0, max: 0, judged: 4, successes: 0, maxTurns: 0 },
		});
		assert.equal(of('wrong')?.mean, 0);
		assert.ok((of('random')?.mean ?? 1) < 1);
		assert.equal(found.solvable, 4);
		assert.match(
			environmentLine(found),
			/^setup ok · gold 4 \/ 4 · random 0\.\d\d \(\d \/ 4 solved\) · idle 0\.00 · up to \d turns · [\d.]+ (µs|ms)\/turn$/,
		);
	});

	const folder = join(root, 'media/templates/environment');
	const templates = ['calculator.env.py', 'guess.env.py', 'grid.env.py', 'word.env.py', 'sql.env.py', 'sql.env.ts'];
	for (const name of [...templates, 'repair.env.py']) {
		// The last one needs a sandbox, which takes a tenth of a second per run, so its random policy has few turns.
		const sandboxed = name === 'repair.env.py';
		it(`the template ${name}`, { skip: sandboxed && skip }, async () => {
			const text = (await readFile(join(folder, name), 'utf8')).replaceAll('__CLASS__', 'Made');
			const rows = name.replace(/env\.\w+$/, 'rows.jsonl');
			const lines = (await readFile(join(folder, rows), 'utf8'))
				.trim()
				.split('\n')
				.slice(0, sandboxed ? 3 : 8);
			const neighbors = sandboxed ? ['reasoning_lab_sandbox.py'] : [];
			const found = await verify(text, dataOf(...lines.map((line) => JSON.parse(line))), {
				...{ turns: sandboxed ? 4 : 12, name },
				neighbors: Object.fromEntries(neighbors.map((one) => [one, readFileSync(join(folder, one), 'utf8')])),
			});
			assert.deepEqual(
				found.findings.filter(({ kind }) => !sandboxed || kind !== 'slow'),
				[],
			);
			assert.deepEqual(found.policies[0]?.successes, lines.length);
			const [gold, random] = found.policies;
			assert.ok((random?.mean ?? 1) < (gold?.mean ?? 0));
		});
	}
});

/** A guessing environment with one thing replaced. */
const broken = (from: string | RegExp, to: string) => {
	assert.match(guessing, typeof from === 'string' ? new RegExp(from.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')) : from);
	return guessing.replace(from, to);
};

describe('problems in an environment are reported with their line', () => {
	const cases: readonly [string, string, readonly string[], RegExp][] = [
		[
			'doing nothing earns as much as a solution',
			broken('return 1.0 if self.done else 0.0', 'return 1.0'),
			['no-effort error 30', 'no-effort error 30', 'no-effort error 30'],
			/A policy that does nothing earns 1\.00 on average, as much as the solutions \(1\.00\)/,
		],
		[
			'a solution does not earn the most',
			broken('return 1.0 if self.done else 0.0', 'return 0.5 if self.done else 0.0'),
			['gold-fails error 30'],
			/The solution for row 1 earns 0\.50, but the maximum is 1\.00 \(rows 1, 2, 3 and 1 more\)/,
		],
		[
			'a reward is outside its range',
			broken('return 1.0 if self.done else 0.0', 'return 1.0 if self.done else -1.0'),
			['range error 30'],
			/get_reward returned -1, outside reward_range \(0, 1\)/,
		],
		[
			'reset draws its task at random',
			broken(
				'self.number = number\n        self.tries',
				'import random; self.number = random.randint(1, 1000)\n        self.tries',
			),
			['gold-fails error 30', 'endless warning 2', 'not-deterministic warning 8'],
			/The same row produces different episodes/,
		],
		[
			'instances share state through the class',
			broken('self.tries = 0', 'Guess.tries = 0')
				.replace('self.tries += 1', 'Guess.tries += 1')
				.replace('return "correct" if', 'return f"{Guess.tries} correct" if')
				.replace('"higher" if', 'f"{Guess.tries} higher" if'),
			['leak error 8'],
			/Instances share state: with another episode in progress, result of guess in turn \d/,
		],
		[
			'state survives reset',
			broken('self.tries = 0', 'self.tries = getattr(self, "tries", 0)').replace(
				'"higher" if',
				'f"{self.tries} higher" if',
			),
			['leak error 8'],
			/State survives reset: in a reused instance, result of guess/,
		],
		[
			'a tool has no docstring',
			broken(/ {8}"""\n {8}Guesses[\s\S]*?"""\n/, ''),
			['docstring error 14'],
			/guess has no docstring, so the model cannot know what it does/,
		],
		[
			'a tool has no types',
			broken('value: int', 'value'),
			['types error 14'],
			/guess does not declare the type of its argument value/,
		],
		[
			'done is never set',
			broken('self.done = value == self.number\n', 'solved = value == self.number\n').replace(
				'if self.done else "higher"',
				'if solved else "higher"',
			),
			['gold-fails error 30', 'endless warning 2'],
			/done is still False after the solution/,
		],
	];
	for (const [what, text, expected, message] of cases) {
		it(what, async () => {
			const found = await verify(text, guessData);
			assert.deepEqual(short(found), expected, JSON.stringify(found.findings, null, 1));
			assert.ok(
				found.findings.some((finding) => message.test(finding.message)),
				JSON.stringify(found.findings, null, 1),
			);
			assert.equal(isSoundEnvironment(found), false);
		});
	}

	it('the turns of a solution earn more than its reward; nothing is reported if they do not', async () => {
		const appended = broken('self.done = False', 'self.done = False; self.turn_rewards = []').replace(
			'self.tries += 1',
			'self.tries += 1; self.turn_rewards.append(0.75 if value == self.number else 0.5)',
		);
		const [found] = (await verify(appended, guessData)).findings;
		assert.deepEqual([found?.kind, found?.level, found?.line, found?.row], ['turn-rewards', 'warning', 30, 0]);
		assert.match(
			found?.message ?? '',
			/^The turns in the solution for row 1 earn 1\.25, more than its reward of 1\.00\.$/,
		);
		assert.match(found?.action ?? '', /get_reward must return .* which includes turn_rewards/);
		assert.deepEqual((await verify(appended.replace('0.75', '0.5'), guessData)).findings, []);
	});

	it('reset fails on one row in a hundred', async () => {
		const text = broken(
			'self.number = number\n        self.tries',
			'if number == 63: raise KeyError(number)\n        self.number = number\n        self.tries',
		);
		const rows = Array.from({ length: 100 }, (_, i) => ({
			number: i + 1,
			calls: [call('guess', { value: i + 1 })],
		}));
		const found = await verify(text, dataOf(...rows), { turns: 2 });
		assert.deepEqual(short(found), ['error error 9']);
		assert.match(
			found.findings[0]?.message ?? '',
			/^reset failed: KeyError: 63 \(row 63, 4 episodes of the gold, random, idle, wrong policies\)\.$/,
		);
		assert.equal(found.findings[0]?.row, 62);
		assert.equal(found.policies[0]?.failed, 1);
		assert.equal(found.policies[0]?.successes, 99);
	});

	it('a tool blocks; after a few episodes, the rest are skipped', async () => {
		// Only one row computes. The others wait, so that other tests have the processor.
		const blocked = 'while self.number == 5 or not __import__("time").sleep(1000): pass';
		const text = broken('        self.tries += 1\n', `        ${blocked}\n`);
		// Long enough for a reset on a busy machine.
		const found = await verify(text, guessData, { limits: { turnMs: 1200 } });
		assert.deepEqual(short(found), ['blocks error 26']);
		assert.match(found.findings[0]?.message ?? '', /^guess blocks: it exceeded its time limit of 1\.2 s/);
		assert.match(found.remarks.join(' '), /episodes were skipped because 4 terminated their process/);
	});

	it('a class without tools, reward or end', async () => {
		const none = await verify('class Nothing:\n    async def reset(self, **row): return "x"\n', dataOf({}));
		assert.deepEqual(short(none), [
			'async-reset error 2',
			'error error 2',
			'no-tools warning 1',
			'no-reward warning 1',
		]);
		const misnamed = await verify(guessing.replace('def get_reward', 'def getReward'), guessData);
		assert.equal(misnamed.findings.find(({ kind }) => kind === 'no-reward')?.action, 'Rename getReward to get_reward.');
		const endless = await verify(
			'class Endless:\n    def reset(self, **row): pass\n    def look(self) -> str:\n        """Looks."""\n        return "nothing"\n    def get_reward(self): return 0\n',
			dataOf({}),
		);
		assert.deepEqual(short(endless), ['endless information 1']);
		assert.ok(isSoundEnvironment(endless));
		assert.match(environmentLine(endless), /^setup ok · no solutions · random 0\.00 · idle 0\.00 · up to 6 turns/);
	});

	it('a solution that cannot be used, or whose calls fail', async () => {
		const odd = await verify(guessing, dataOf({ number: 3, calls: 5 }));
		assert.deepEqual(short(odd), ['data warning 2']);
		const failing = await verify(
			guessing,
			dataOf({ number: 300, calls: [call('gues'), call('guess', { value: 300 })] }),
		);
		assert.match(
			failing.findings[0]?.message ?? '',
			/The solution for row 1 makes a call that fails: gues returns .*not found/,
		);
	});
});
