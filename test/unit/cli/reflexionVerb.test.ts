import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { CliOutput } from '../../../src/cli/cliOutput.ts';
import { reflexionVerb } from '../../../src/cli/reflexionVerb.ts';
import { builtProgram } from '../../support/programs.ts';

let folder = '';
const run = (...args: string[]) =>
	promisify(execFile)(process.execPath, [builtProgram('dist/cli.js'), 'reflexion', ...args], {
		cwd: folder,
		env: { ...process.env, XDG_RUNTIME_DIR: join(folder, 'r') },
	});
const answer = 'GRPO takes the mean reward of the group as its baseline [1]. 6 * 7 is 42 [2].';
const said = (value: object) => JSON.stringify(value);

before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'rx-'));
	await mkdir(join(folder, 'r'), { mode: 0o700 });
	await mkdir(join(folder, 'docs'));
	await writeFile(join(folder, 'docs/grpo.md'), 'GRPO takes the mean reward of the group as its baseline.\n');
	await writeFile(
		join(folder, 'policy.json'),
		JSON.stringify({
			rules: [
				{
					message: '*What the tools have found*',
					say: said({
						answer,
						reflection: { missing: [], superfluous: [] },
						search_queries: [],
						references: ['docs/grpo.md:1', 'calculator: 6*7'],
					}),
				},
				{
					say: said({
						answer: 'I do not know.',
						reflection: { missing: ['the baseline of GRPO'], superfluous: [] },
						search_queries: [
							{ tool: 'workspace', query: 'GRPO baseline' },
							{ tool: 'calculator', query: '6*7' },
							{ tool: 'calculator', query: 'x' },
						],
					}),
				},
			],
		}),
	);
});
after(() => rm(folder, { recursive: true, force: true }));

test('a question is researched with tools, logged and reported', async () => {
	const { stdout } = await run(
		'What is the baseline of GRPO?',
		'--policy',
		'policy.json',
		'--report',
		'out.md',
		'--json',
	);
	const [started, result] = stdout
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
	assert.deepEqual(started.tools, ['workspace', 'calculator']);
	assert.deepEqual([result.kind, result.answer, result.stop, result.open], ['result', answer, 'solved', []]);
	assert.deepEqual(
		result.references.map(({ source, supported }: { source: string; supported: boolean }) => [source, supported]),
		[
			['docs/grpo.md:1', true],
			['calculator: 6*7', null],
		],
	);
	assert.deepEqual(
		result.tools.map(({ tool, error }: { tool: string; error: string | null }) => [tool, error === null]),
		[
			['workspace', true],
			['calculator', true],
			['calculator', false],
		],
	);
	assert.match(
		await readFile(join(folder, 'out.md'), 'utf8'),
		/^# What is the baseline of GRPO\?\n\n## Answer\n\nGRPO takes/,
	);

	// The log is an ordinary search log: it can be continued, drawn, and reported again.
	const [log = ''] = (await readdir(join(folder, 'searches'))).filter((name) => name.endsWith('.jsonl'));
	await assert.rejects(run('--from', `searches/${log}`, '--report', 'out.md'), /already exists\. Add --force/);
	const again = await run('--from', `searches/${log}`, '--report', 'out.md', '--force');
	assert.match(again.stdout, /^GRPO takes the mean.*\n\nReferences:\n {2}\[1\] docs\/grpo\.md:1 \(supported\)\n/s);
	assert.match(
		again.stdout,
		/The answer is good enough: its critique is empty, and its citations are supported\.\n1 draft and 1 revision; 3 queries, 1 failed;/,
	);
});

test('research that cannot start makes no requests and reports why', async () => {
	const fails = (words: RegExp, ...args: string[]) =>
		assert.rejects(reflexionVerb.run({ output: new CliOutput(true), args, engine: '' }), words);
	const policy = join(folder, 'policy.json');
	const log = join(folder, 'searches/new.jsonl');
	const starts = ['Q', '--policy', policy, '--log', log];
	await fails(/requires a question/);
	await fails(/A question, --continue, and --from cannot be combined/, 'Q', '--from', log);
	await fails(/No policy specified/, 'Q');
	await fails(/"google" in --tools is not a valid tool/, ...starts, '--tools', 'google');
	await fails(/none\.jsonl does not exist/, ...starts, '--tools', 'dataset=none.jsonl');
	await fails(/not a search server URL/, ...starts, '--web', 'ftp://host');
	const other = join(folder, 'other.jsonl');
	const start = { t: 'start', at: 0, format: 1, id: '', strategy: 'mcts', params: {}, seed: 0 };
	const problem = { prompt: 'p', answer: null, row: {} };
	await writeFile(other, `${JSON.stringify({ ...start, problem, policy: { name: 'a' } })}\n`);
	await fails(/is not a research log; its strategy is mcts/, '--from', other);
	await fails(/is not a research log; its strategy is mcts/, '--continue', other);
	await fails(/NO_SUCH_KEY is not set/, ...starts, '--web', 'https://h/', '--web-key-variable', 'NO_SUCH_KEY');
	await fails(/nowhere does not exist/, ...starts, '--report', join(folder, 'nowhere/out.md'));
	assert.equal((await readdir(join(folder, 'searches'))).filter((name) => name.endsWith('.jsonl')).length, 1);
});
