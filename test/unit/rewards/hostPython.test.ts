import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { LoadFailure } from '../../../src/rewards/loadFailure.ts';
import type { RewardHosts } from '../../../src/rewards/rewardHosts.ts';
import { builtHostFolder } from '../../support/programs.ts';
import { openHosts, openReward, rewardFolder, rowsOf } from './hostFixtures.ts';

describe('Python rewards', () => {
	let hosts: RewardHosts;
	let folder: string;
	before(async () => {
		hosts = await openHosts();
		folder = await rewardFolder();
	});
	const open = (text: string, name = 'a.reward.py', neighbors: Record<string, string> = {}) =>
		openReward(hosts, folder, name, text, {}, neighbors);
	const loadFailure = async (text: string, name?: string, neighbors?: Record<string, string>) => {
		const runner = await open(text, name, neighbors);
		const error = await runner.describe().then(
			() => assert.fail('it was loaded'),
			(thrown: unknown) => thrown,
		);
		assert.ok(error instanceof LoadFailure, String(error));
		return { error, file: runner.file };
	};

	it("are the public functions with TRL's signature, with their locations", async () => {
		const runner = await open(
			[
				'from functools import wraps',
				'from math import sqrt',
				'from other import imported',
				'def brevity(prompts, completions, answer=None, **kwargs):',
				'    return [1.0] * len(completions)',
				'async def later(',
				'    completions: list[str], *,',
				'    level: int = {"a": lambda x: 3}["a"](1),',
				'    **kwargs,',
				') -> dict[str, float]:',
				'    return [level[0]] * len(completions)',
				'def logged(function):',
				'    @wraps(function)',
				'    def inner(*args, **kwargs):',
				'        return function(*args, **kwargs)',
				'    return inner',
				'@logged',
				'def decorated(completions, solution): return [0.5]',
				'decorated.weight = 0.25',
				'decorated.batch_only = True',
				'def _private(completions, **kwargs): return []',
				'def helper(text): return text',
				'class NoReward:',
				'    def __init__(self, completions): pass',
			].join('\n'),
			'a.reward.py',
			{ 'other.py': 'def imported(completions, **kwargs): return []' },
		);
		assert.deepEqual(await runner.describe(), [
			{
				name: 'brevity',
				parameters: ['prompts', 'completions', 'answer'],
				required: [],
				batchOnly: false,
				location: { line: 4, endLine: 4 },
			},
			{
				name: 'later',
				parameters: ['completions', 'level'],
				required: [],
				batchOnly: false,
				location: { line: 6, endLine: 10 },
			},
			{
				name: 'decorated',
				weight: 0.25,
				parameters: ['completions', 'solution'],
				required: ['solution'],
				batchOnly: true,
				location: { line: 18, endLine: 18 },
			},
		]);
		const rows = rowsOf(1, () => ({ level: 4, solution: 's' }));
		assert.deepEqual((await runner.score('later', rows)).values, [4]);
		assert.deepEqual((await runner.score('decorated', rows)).values, [0.5]);
	});

	it("are called like TRL's trainer calls them", async () => {
		const runner = await open(
			[
				'import json',
				'def everything(prompts, completions, completion_ids, **kwargs):',
				'    state = kwargs.pop("trainer_state")',
				'    kwargs.pop("log_extra")("words", [1] * len(prompts))',
				'    kwargs.pop("log_metric")("mean_length", 2)',
				'    seen = [prompts, completions, completion_ids, state.global_step, kwargs]',
				'    print(json.dumps(seen, sort_keys=True))',
				'    return [0] * len(prompts)',
				'def few(completions, level=None): return [level[i] for i in range(len(completions))]',
			].join('\n'),
		);
		const rows = rowsOf(2, (i) => (i === 0 ? { level: 1, prompt: 'x', completion: 'y' } : { tags: ['a'] })).map(
			(row) => ({
				...row,
				completionIds: [1, 2],
			}),
		);
		const { logs, errors, metrics } = await runner.score('everything', rows, { step: 7 });
		assert.deepEqual(errors, []);
		assert.deepEqual(JSON.parse(logs[0] ?? ''), [
			['0 + 0 = ', '1 + 0 = '],
			rows.map(({ completion }) => completion),
			[
				[1, 2],
				[1, 2],
			],
			7,
			{ answer: ['0', '1'], level: [1, null], tags: [null, ['a']] },
		]);
		assert.deepEqual(metrics, { mean_length: 2 });
		assert.deepEqual((await runner.score('few', rows)).values, [1, null]);
	});

	it('receive message lists for conversational data', async () => {
		const runner = await open(
			'def said(prompts, completions, **kwargs):\n' +
				'    return [float(p[-1]["role"] == "user" and c[0]["content"] == "fine") for p, c in zip(prompts, completions)]',
		);
		const rows = rowsOf(2).map((row, i) => ({
			...row,
			messages: {
				prompt: [{ role: 'user', content: 'how?' }],
				completion: [{ role: 'assistant', content: i === 0 ? 'fine' : null }],
			},
		}));
		assert.deepEqual((await runner.score('said', rows)).values, [1, 0]);
	});

	it('report a required column missing from the data, and the available ones', async () => {
		const runner = await open(
			'def needs(completions, solution, level): return [1.0] * len(completions)\n' +
				'def ids(completions, completion_ids): return [1.0] * len(completions)',
		);
		const { values, errors, isolated } = await runner.score(
			'needs',
			rowsOf(3, () => ({ level: 1 })),
		);
		assert.deepEqual(values, [null, null, null]);
		assert.deepEqual(errors, [
			{
				index: -1,
				kind: 'invalid',
				message: `The data has no column 'solution', which "needs" requires. Available: answer, level`,
			},
		]);
		assert.equal(isolated, undefined);
		assert.match((await runner.score('ids', rowsOf(3))).errors[0]?.message ?? '', /no column 'completion_ids'/);
		assert.deepEqual(
			(
				await runner.score(
					'needs',
					rowsOf(1, () => ({ level: 1, solution: 2 })),
				)
			).values,
			[1],
		);
	});

	it('may return any list of numbers: arrays, tensors, generators and their scalars', async () => {
		const runner = await open(
			[
				'from array import array',
				'from fractions import Fraction',
				'class Scalar:',
				'    def __init__(self, value): self.value = value',
				'    def item(self): return self.value',
				'class Tensor:',
				'    def __init__(self, values): self.values = values',
				'    def tolist(self): return self.values',
				'def arrays(completions, **k): return array("f", [0.5] * len(completions))',
				'def tensors(completions, **k): return Tensor([1, 2.5, None])',
				'def scalars(completions, **k): return (Scalar(v) for v in (1, 2.5, None))',
				'def tuples(completions, **k): return (1, None, 3)',
				'def odd(completions, **k):',
				'    return [True, "1", float("nan"), float("-inf"), 10 ** 400, [1], 1j, Scalar(True), Scalar("x"), {}]',
				'def long(completions, **k): return [1.0]',
				'def text(completions, **k): return "111"',
				'def none(completions, **k): pass',
				'def one(completions, **k): return 0.5',
				'def mapping(completions, **k): return {0: 1}',
				'def scalar(completions, **k): return Tensor(3.0)',
			].join('\n'),
		);
		const rows = rowsOf(3);
		assert.deepEqual((await runner.score('arrays', rows)).values, [0.5, 0.5, 0.5]);
		assert.deepEqual((await runner.score('tensors', rows)).values, [1, 2.5, null]);
		assert.deepEqual((await runner.score('scalars', rows)).values, [1, 2.5, null]);
		assert.deepEqual((await runner.score('tuples', rows)).values, [1, null, 3]);

		const odd = await runner.score('odd', rowsOf(10));
		assert.deepEqual(odd.values, new Array(10).fill(null));
		const expected = [
			/the boolean True/,
			/the string '1'/,
			/nan/,
			/-inf/,
			/inf/,
			/a list of length 1/,
			/a complex/,
			/the boolean True/,
			/the string 'x'/,
			/a dict/,
		];
		assert.equal(odd.errors.length, 10);
		for (const [i, word] of expected.entries()) {
			assert.deepEqual([odd.errors[i]?.index, odd.errors[i]?.kind], [i, 'invalid']);
			assert.match(odd.errors[i]?.message ?? '', word);
		}
		for (const [name, message] of [
			['long', 'returned 1 rewards for 3 rows'],
			['text', "returned the string '111' instead of a list of 3 rewards"],
			['none', 'returned None instead of a list of 3 rewards'],
			['one', 'returned the number 0.5 instead of a list of 3 rewards'],
			['mapping', 'returned a dict instead of a list of 3 rewards'],
			['scalar', 'returned the number 3.0 instead of a list of 3 rewards'],
		] as const) {
			const { values, errors, isolated } = await runner.score(name, rows);
			assert.deepEqual(
				[values, errors, isolated],
				[[null, null, null], [{ index: -1, kind: 'invalid', message }], undefined],
			);
		}
	});

	it('that raise on some rows are retried row by row, and the others keep their values', async () => {
		const runner = await open(
			[
				'from check import check',
				'calls = 0',
				'def picky(completions, answer, **kwargs):',
				'    global calls',
				'    calls += 1',
				'    return [check(int(a)) for a in answer]',
				'def group(completions, answer, **kwargs):',
				'    return [check(int(a)) for a in answer]',
				'group.batch_only = True',
				'def count(completions, **kwargs): return [calls] * len(completions)',
			].join('\n'),
			'picky.reward.py',
			{ 'check.py': 'def check(n):\n    if n % 3 == 2:\n        raise ValueError(f"two: {n}")\n    return n / 2\n' },
		);
		const rows = rowsOf(7);
		const { values, errors, isolated, logs } = await runner.score('picky', rows);
		assert.deepEqual(values, [0, 0.5, null, 1.5, 2, null, 3]);
		assert.deepEqual(
			errors.map((error) => [error.index, error.kind, error.message, error.line]),
			[
				[2, 'threw', 'ValueError: two: 2', 6],
				[5, 'threw', 'ValueError: two: 5', 6],
			],
		);
		assert.match(errors[0]?.stack ?? '', /^.*check\.py:3 in check\n.*picky\.reward\.py:6/);
		assert.equal(isolated, true);
		assert.match(logs.at(-1) ?? '', /ValueError: two: 2.*one by one/);
		// The process is the same: a raised exception does not harm it, as under TRL.
		assert.deepEqual((await runner.score('count', rowsOf(1))).values, [8]);
		const group = await runner.score('group', rows);
		assert.deepEqual(group.values, new Array(7).fill(null));
		assert.deepEqual(
			group.errors.map(({ index, kind, line }) => [index, kind, line]),
			[[-1, 'threw', 8]],
		);
		assert.equal(group.isolated, undefined);
	});

	it('with a syntax error or a failing import report file, line and action', async () => {
		const syntax = await loadFailure('import os\n\ndef f(completions:\n    return 1\n', 'x.reward.py');
		assert.deepEqual([syntax.error.reason, syntax.error.file, syntax.error.line], ['invalid', syntax.file, 3]);
		assert.match(syntax.error.message, /^x\.reward\.py:3: SyntaxError: /);
		const inner = await loadFailure('import helper\ndef f(completions, **k): pass\n', 'y.reward.py', {
			'helper.py': 'a = 1\nb = = 2\n',
		});
		assert.deepEqual([inner.error.file, inner.error.line], [join(inner.file, '../helper.py'), 2]);
		const indent = await loadFailure('def f(completions, **k):\n\treturn 1\n        return 2\n');
		assert.equal(indent.error.line, 3);
		const missing = await loadFailure('import os\nimport no_such_package.sub\n');
		assert.deepEqual(
			[missing.error.line, missing.error.detail],
			[2, "ModuleNotFoundError: No module named 'no_such_package'"],
		);
		assert.match(missing.error.action ?? '', /^Install no_such_package for .*python/);
		const raised = await loadFailure('import helper\nhelper.go()\n', 'z.reward.py', {
			'helper.py': 'def go():\n    raise KeyError("k")\n',
		});
		assert.deepEqual([raised.error.line, raised.error.detail], [2, "KeyError: 'k'"]);
		assert.match(raised.error.frames ?? '', /helper\.py:2 in go/);
		const exit = await loadFailure('import sys\nsys.exit("no")\n');
		assert.match(exit.error.message, /sys\.exit\('no'\) while being loaded/);
		const died = await loadFailure('import os\nos._exit(5)\n');
		assert.match(died.error.message, /code 5/);
		const none = await loadFailure('def helper(text): return text\n');
		assert.match(none.error.message, /no public function with TRL's signature/);
		const encoding = await loadFailure('# -*- coding: nonsense -*-\n');
		assert.match(encoding.error.message, /nonsense/);
	});

	it('report line coverage separately for each batch', async () => {
		const text = [
			'LIMIT = 2',
			'def step(completions, answer, **kwargs):',
			'    """Doc."""',
			'    out = []',
			'    for a in answer:',
			'        n = int(a)',
			'        if n < LIMIT:',
			'            out.append(0)',
			'        else:',
			'            # nothing',
			'            out.append(helper(',
			'                n))',
			'    return out',
			'def helper(n):',
			'    if n > 100:',
			'        raise ValueError',
			'    return 1',
			'class Judge:',
			'    name = "j"',
			'    def ask(self):',
			'        return self.name',
		].join('\n');
		const runner = await open(text);
		const cover = async (n: number) => (await runner.score('step', rowsOf(n), { coverage: true })).coverage;
		const all = await cover(4);
		assert.deepEqual(all?.lines, [4, 5, 6, 7, 8, 11, 12, 13, 15, 16, 17, 21]);
		assert.deepEqual(all?.reached, [4, 5, 6, 7, 8, 11, 12, 13, 15, 17]);
		assert.deepEqual((await cover(1))?.reached, [4, 5, 6, 7, 8, 13]);
		assert.deepEqual((await cover(4))?.reached, all?.reached);
	});

	it('list the modules they import from their folder', async () => {
		const runner = await open(
			'import json\nfrom lib import deep\ndef f(completions, **k): return [deep.x]\n',
			'f.reward.py',
			{
				'lib/__init__.py': '',
				'lib/deep.py': 'import top\nx = top.y\n',
				'top.py': 'y = 3\n',
			},
		);
		assert.deepEqual((await runner.score('f', rowsOf(1))).values, [3]);
		const local = (path: string) => join(runner.file, '..', path);
		assert.equal(runner.files[0], runner.file);
		assert.deepEqual(
			[...runner.files].sort(),
			[runner.file, local('lib/__init__.py'), local('lib/deep.py'), local('top.py')].sort(),
		);
	});

	it('return the same value in every process', async () => {
		const runner = await open(
			'def order(completions, **k): return [float("".join(set("123456")))] * len(completions)\n',
		);
		const first = (await runner.score('order', rowsOf(1))).values;
		for (let i = 0; i < 3; i++) {
			runner.reload();
			assert.deepEqual((await runner.score('order', rowsOf(1))).values, first);
		}
	});

	it('may start their own processes and threads', async () => {
		const runner = await open(
			[
				'import subprocess, sys, threading, multiprocessing, os',
				'def work(completions, **k):',
				'    out = subprocess.run([sys.executable, "-c", "print(6*7)"], capture_output=True, text=True).stdout',
				'    seen = []',
				'    thread = threading.Thread(target=lambda: seen.append(1)); thread.start(); thread.join()',
				'    pid = os.fork()',
				'    if pid == 0: return [9.0] * len(completions)',
				'    os.waitpid(pid, 0)',
				'    with multiprocessing.get_context("fork").Pool(2) as pool: squares = pool.map(abs, [-3, -4])',
				'    return [float(out) + len(seen) + sum(squares)] * len(completions)',
			].join('\n'),
		);
		for (let i = 0; i < 3; i++) assert.deepEqual((await runner.score('work', rowsOf(2))).values, [50, 50]);
	});

	it('run on every Python from 3.10 on, and an older version is rejected by name', async (t) => {
		const versions = ['3.8', '3.9', '3.10', '3.12', '3.13'].flatMap((version) => {
			try {
				const find = `import sys; print(sys.executable if "%d.%d" % sys.version_info[:2] == "${version}" else "")`;
				const path = execFileSync(`python${version}`, ['-c', find], {
					encoding: 'utf8',
					stdio: ['ignore', 'pipe', 'ignore'],
					env: { ...process.env, PYENV_VERSION: newestOf(version) },
				}).trim();
				return path === '' ? [] : [{ version, path }];
			} catch {
				return [];
			}
		});
		t.diagnostic(`beside the default: ${versions.map(({ version }) => version).join(', ') || 'none'}`);
		const { RewardHosts } = await import('../../../src/rewards/rewardHosts.ts');
		for (const { version, path } of versions) {
			const other = new RewardHosts(
				{ node: process.execPath, nodeEnvironment: {}, python: path },
				{ folder: builtHostFolder() },
			);
			try {
				const text =
					'def f(completions, answer, **k):\n    if len(answer) > 1: raise ValueError\n    return [float(a) for a in answer]\n';
				const runner = await openReward(other, folder, 'v.reward.py', text);
				if (Number(version.slice(2)) < 10) {
					await assert.rejects(runner.describe(), {
						reason: 'unavailable',
						message: new RegExp(`Python ${version} is too old`),
					});
					continue;
				}
				const { values, coverage, isolated } = await runner.score('f', rowsOf(3), { coverage: true });
				assert.deepEqual([values, isolated, coverage], [[0, 1, 2], true, { lines: [2, 3], reached: [2, 3] }], version);
			} finally {
				other.dispose();
				await other.closed();
			}
		}
	});
});

/** Selects the version if pyenv is installed; otherwise has no effect. */
function newestOf(version: string): string {
	try {
		const all = execFileSync('pyenv', ['versions', '--bare'], {
			encoding: 'utf8',
			stdio: ['ignore', 'pipe', 'ignore'],
		});
		return all.split('\n').findLast((one) => one.startsWith(`${version}.`)) ?? '';
	} catch {
		return '';
	}
}
