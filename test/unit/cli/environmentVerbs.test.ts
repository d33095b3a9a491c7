// @reaches cli rewardHost rewardPython
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { environmentVerificationSchema } from '../../../src/protocol/environmentVerification.ts';
import { episodeSchema } from '../../../src/protocol/episode.ts';
import { root } from '../../scripts/paths.ts';
import { guessing } from '../episodes/guessingEnvironment.ts';
import { guessingScript } from '../episodes/guessingScript.ts';
import { objects, Workplace } from './cliFixtures.ts';

const limit = { timeout: 120_000 };
const rows = [3, 9, 14]
	.map((number) => JSON.stringify({ number, calls: [{ name: 'guess', arguments: { value: number } }] }))
	.join('\n');

test('verify-environment reports a sound environment, and what is wrong with a broken one', limit, async (context) => {
	const place = await Workplace.make(context);
	await place.write('rows.jsonl', rows);
	await place.write('guess.env.py', guessing);
	const sound = await place.run(context, 'verify-environment', 'guess.env.py', '--dataset', 'rows.jsonl');
	assert.equal(sound.status, 0, sound.stderr);
	assert.match(sound.stdout, /^Guess: setup ok · gold 3 \/ 3 · random 0\.\d\d \(\d \/ 3 solved\) · idle 0\.00 /);
	assert.match(sound.stdout, /^on 3 rows of rows\.jsonl, 3 with a solution$/m);

	await place.write('broken.env.py', `# @dataset rows.jsonl\n${guessing.replace('if self.done else 0.0', '')}`);
	const broken = await place.call('verify-environment', 'broken.env.py', '--turns', '2', '--seed', '4');
	assert.equal(broken.status, 1, broken.stderr);
	assert.match(broken.stdout, /^broken\.env\.py:31: error: A policy that does nothing earns 1\.00 on average/m);
	assert.match(broken.stdout, /^Failed\.$/m);

	const json = await place.call('verify-environment', 'broken.env.py', '--json');
	const [found, ...others] = objects(json.stdout);
	assert.deepEqual(others, []);
	const verification = decodeOrThrow(environmentVerificationSchema, found, 'output');
	assert.equal(verification.episodes.length, 12);
	assert.equal(verification.findings[0]?.kind, 'no-effort');
});

test('verify-environment also plays episodes with a policy that reads tool results', limit, async (context) => {
	const place = await Workplace.make(context);
	await place.write('rows.jsonl', rows);
	await place.write('guess.env.py', guessing);
	// Guesses 9 in every episode, then gives up.
	const say = [{ after: '*</result>', say: 'I give up.' }, { say: '<call>guess 9</call>' }];
	await place.write('nine.json', JSON.stringify({ rules: say }));
	const given = ['verify-environment', 'guess.env.py', '--dataset', 'rows.jsonl', '--policy', 'nine.json'];
	const ended = await place.call(...given);
	assert.equal(ended.status, 0, ended.stderr);
	assert.match(ended.stdout, / · policy 0\.33 \(1 \/ 3 solved\) · /);
	const [found] = objects((await place.call(...given, '--json')).stdout);
	const { episodes } = decodeOrThrow(environmentVerificationSchema, found, 'output');
	const played = episodes.filter(({ policy }) => policy === 'policy');
	assert.deepEqual(
		played.map(({ reward, turns }) => [reward, turns.map(({ results }) => results[0]?.content)]),
		[
			[0, ['lower']],
			[1, ['correct']],
			[0, ['higher']],
		],
	);
	const silent = await place.call(...given.slice(0, -1), 'missing.json');
	assert.equal(silent.status, 2);
	assert.match(silent.stderr, /missing\.json does not exist/);
});

test('a policy plays with the Python and the time limit set for the environment', limit, async (context) => {
	const place = await Workplace.make(context);
	const python = join(place.folder, 'venv', process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
	await promisify(execFile)('python3', ['-m', 'venv', '--without-pip', join(place.folder, 'venv')]);
	await place.write('rows.jsonl', '{"number": 3, "calls": [{"name": "guess", "arguments": {"value": 3}}]}');
	const asked = guessing
		.replace('self.tries += 1', 'time.sleep(0.6 * (value == 4321))')
		.replace('"correct"', '("venv" if sys.prefix != sys.base_prefix else "base")');
	await place.write('guess.env.py', `import sys, time\n${asked}`);
	const policyOf = (value: number) => ({
		rules: [{ after: '*</result>', say: 'I give up.' }, { say: `<call>guess ${value}</call>` }],
	});
	await place.write('right.json', policyOf(3));
	await place.write('slow.json', policyOf(4321));
	const given = ['--dataset', 'rows.jsonl', '--python', python, '--json'];
	const played = async (...more: string[]) => {
		const ended = await place.call('verify-environment', 'guess.env.py', ...given, ...more);
		const [found] = objects(ended.stdout);
		const { episodes, findings } = decodeOrThrow(environmentVerificationSchema, found, ended.stderr);
		return { ...episodes.find(({ policy }) => policy === 'policy'), findings, status: ended.status };
	};
	const right = await played('--policy', 'right.json');
	assert.deepEqual(
		right.turns?.map(({ results }) => results[0]?.content),
		['venv'],
	);
	const slow = await played('--policy', 'slow.json', '--timeout', '0.3');
	assert.deepEqual([slow.error?.kind, slow.status], ['timeout', 1]);
	assert.match(slow.findings[0]?.message ?? '', /^guess blocks: .* \(row 1, 1 episode of the policy policy\)\.$/);

	const evaluate = ['evaluate', '--policy', 'slow.json', '--environment', 'guess.env.py', '--dataset', 'rows.jsonl'];
	const limited = await place.call(...evaluate, '--timeout', '0.3');
	assert.match(limited.stderr, /The only question failed: All episodes failed\./);
	const absent = await place.call(...evaluate, '--python', join(place.folder, 'absent'));
	assert.match(absent.stderr, /guess\.env\.py needs Python 3\.10 or newer/);
	const spare = await place.call(...evaluate.slice(0, 3), ...evaluate.slice(5), '--timeout', '1');
	assert.match(spare.stderr, /--timeout cannot be used without an environment/);
});

test(
	'verify-environment plays labeled episodes, and reports the line of each that does not meet its expectations',
	limit,
	async (context) => {
		const place = await Workplace.make(context);
		const guess = (value: number) => ({ name: 'guess', arguments: { value } });
		const lines = [
			{ name: 'found at once', row: { number: 4 }, calls: [guess(4)], expect: { reward: 1, done: true } },
			{ row: { number: 4 }, calls: [guess(2), guess(5)], expect: { results: ['higher', 'higher'], reward: 0 } },
			{ row: { number: null }, expect: { reward: 0 } },
		];
		for (const [name, text] of Object.entries({ 'a.env.py': guessing, 'a.env.ts': guessingScript })) {
			await place.write('a.episodes.jsonl', `// Labels\n${lines.map((line) => JSON.stringify(line)).join('\n')}\n{}\n`);
			await place.write('rows.jsonl', rows);
			await place.write(name, text);
			const ended = await place.call('verify-environment', name, '--dataset', 'rows.jsonl');
			assert.equal(ended.status, 1, ended.stderr);
			assert.match(ended.stdout, /^passed: found at once$/m);
			assert.match(
				ended.stdout,
				/^a\.episodes\.jsonl:3: error: episode 2: call 2 \(guess\) gives "lower", but "higher" is expected\./m,
			);
			assert.match(ended.stdout, /^a\.episodes\.jsonl:5: error: Line 5 has an unknown or invalid "expect"\./m);
			const [, labeled = ''] = / · labeled (\d \/ \d) · /.exec(ended.stdout) ?? [];
			assert.equal(labeled, name.endsWith('.py') ? '1 / 3' : '2 / 3');
		}
	},
);

test('run-episodes replays the solutions, or uses another policy', limit, async (context) => {
	const place = await Workplace.make(context);
	await place.write('rows.jsonl', rows);
	await place.write('guess.env.py', `# @dataset rows.jsonl\n${guessing}`);
	const gold = await place.run(context, 'run-episodes', 'guess.env.py', '--rows', '1');
	assert.equal(gold.status, 0, gold.stderr);
	assert.match(
		gold.stdout,
		/^row (\d), gold: Guess my number from 1 to \d+\.\n {2}> guess\(\{"value":\d+\}\)\n {2}< correct\n {2}reward 1\.00, ended by the policy\n1 episode\n$/,
	);
	const json = await place.call(
		'run-episodes',
		'guess.env.py',
		'--policy',
		'random',
		'--turns',
		'3',
		'--state',
		'--json',
	);
	const episodes = objects(json.stdout).map((one) => decodeOrThrow(episodeSchema, one, 'output'));
	assert.deepEqual(
		episodes.map(({ row, policy }) => [row, policy]),
		[0, 1, 2].map((row) => [row, 'random']),
	);
	assert.ok(episodes.every(({ turns }) => turns.length <= 3 && turns.every(({ state }) => state !== undefined)));
});

test('errors name the file and say what to do', limit, async (context) => {
	const place = await Workplace.make(context);
	await place.write('fails.env.py', 'class Fails:\n    def reset(self, **row): raise KeyError("level")\n');
	const failed = await place.call('run-episodes', 'fails.env.py', '--policy', 'idle');
	assert.equal(failed.status, 1);
	assert.match(failed.stdout, /failed in reset: KeyError: 'level' \(fails\.env\.py:2\)/);
	const none = await place.call('run-episodes', 'fails.env.py');
	assert.equal(none.status, 2);
	assert.match(none.stderr, /No row has a solution\. Add a column "calls"/);
	await place.write('torn.env.py', 'class Torn(:\n');
	const torn = await place.call('verify-environment', 'torn.env.py');
	assert.equal(torn.status, 1);
	assert.match(torn.stderr, /torn\.env\.py:1: SyntaxError/);
	for (const [args, message] of [
		[['other.py'], /is not an environment file/],
		[['missing.env.py'], /does not exist/],
		[['fails.env.py', '--dataset', 'missing.jsonl'], /missing\.jsonl does not exist/],
		[['fails.env.py', '--timeout', '0'], /--timeout must be greater than 0/],
	] as const) {
		const refused = await place.call('verify-environment', ...args);
		assert.equal(refused.status, 2, refused.stderr);
		assert.match(refused.stderr, message);
	}
});

test('the environments in docs/environments.md are sound', limit, async (context) => {
	const place = await Workplace.make(context);
	const page = await readFile(join(root, 'docs/environments.md'), 'utf8');
	const [, row = ''] = /```json\n(\{"number"[^\n]*)\n```/.exec(page) ?? [];
	await place.write('guess.rows.jsonl', row);
	const codes = [/```python\n(# @dataset[\s\S]*?)```/, /```ts\n(\/\/ @dataset[\s\S]*?)```/];
	for (const [i, name] of ['guess.env.py', 'guess.env.ts'].entries()) {
		const [, code = ''] = codes[i]?.exec(page) ?? [];
		await place.write(name, code);
		const ended = await place.call('verify-environment', name);
		assert.equal(ended.status, 0, ended.stdout + ended.stderr);
		assert.match(ended.stdout, /^Guess: setup ok · gold 1 \/ 1/);
	}
});
