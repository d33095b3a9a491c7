import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { SandboxLimits } from '../../../src/rewards/sandbox/sandbox.ts';
import { until } from './hostFixtures.ts';
import { testSandbox } from './sandboxFixture.ts';

const { sandbox, skip } = await testSandbox();

const python = (code: string, limits: Partial<SandboxLimits> = {}, stdin?: string) =>
	sandbox.run({
		program: 'python',
		args: ['-B', 'main.py'],
		files: { 'main.py': code },
		limits,
		...(stdin === undefined ? {} : { stdin }),
	});

describe('a sandboxed program', { skip }, () => {
	it('reads stdin, writes stdout and returns its exit status', async () => {
		const result = await python(
			'import sys\nprint(sys.stdin.read()[::-1])\nsys.stderr.write("x")\nsys.exit(3)',
			{},
			'abc',
		);
		assert.equal(result.stdout, 'cba\n');
		assert.equal(result.stderr, 'x');
		assert.deepEqual([result.end, result.status], ['exited', 3]);
	});

	it('can read its input from /dev/stdin', async () => {
		const result = await sandbox.run({
			program: 'node',
			args: ['-e', "process.stdout.write(require('fs').readFileSync('/dev/stdin', 'utf8').toUpperCase())"],
			stdin: 'abc',
		});
		assert.equal(result.stdout, 'ABC', result.stderr);
	});

	it('can read but not modify its files, and can create others next to them', async () => {
		const result = await python(
			[
				'import os',
				'try:',
				'    open("main.py", "a")',
				'except OSError as error:',
				'    print(error.strerror)',
				'try:',
				'    os.replace("main.py", "other.py")',
				'except OSError as error:',
				'    print(error.strerror)',
				'open("own.txt", "w").write("x")',
				'print(sorted(os.listdir(".")))',
			].join('\n'),
		);
		assert.match(result.stdout, /^(Read-only file system|Permission denied)\n.+\n\['main\.py', 'own\.txt'\]\n$/);
	});

	it('starts from scratch each time', async () => {
		await python('open("left", "w").write("x"); open("/tmp/left", "w").write("x")');
		const { stdout } = await python('import os; print(os.listdir("."), os.listdir("/tmp"))');
		assert.equal(stdout, "['main.py'] []\n");
	});

	it('iterates over sets of strings in the same order every time', async () => {
		const code = 'print(list({str(i) for i in range(50)}))';
		const [first, second] = await Promise.all([python(code), python(code)]);
		assert.equal(first.stdout, second.stdout);
	});

	it('reports by name how it ended', async () => {
		const cases: readonly (readonly [string, string, Partial<SandboxLimits>])[] = [
			['wall', 'import time; time.sleep(30)', { wallMs: 300 }],
			['cpu', 'while True: pass', { cpuSeconds: 1, wallMs: 8000 }],
			['memory', 'x = b"x" * 400_000_000; import time; time.sleep(5)', { memoryMb: 100 }],
			['output', 'while True: print("x" * 1000)', { outputBytes: 100_000 }],
			['signal', 'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)', {}],
			['exited', 'raise SystemExit(1)', {}],
		];
		const ends = await Promise.all(cases.map(async ([, code, limits]) => (await python(code, limits)).end));
		assert.deepEqual(
			ends,
			cases.map(([end]) => end),
		);
	});

	it('cannot exceed its address space limit', async () => {
		const { stdout, end } = await python(
			'try:\n    bytearray(500_000_000)\nexcept MemoryError:\n    print("refused")',
			{ addressSpaceMb: 300, memoryMb: 2000 },
		);
		assert.deepEqual([end, stdout], ['exited', 'refused\n']);
	});

	it('is killed with all its processes, however they hide', async () => {
		const token = `left-${process.pid}-${Math.random()}`;
		const running = sandbox.start({
			program: 'python',
			args: ['-B', 'main.py'],
			files: {
				'main.py': [
					'import os, sys, time',
					'for i in range(4):',
					'    if os.fork() == 0:',
					'        os.setsid()',
					'        if os.fork() == 0:',
					`            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", "${token}"])`,
					'        os._exit(0)',
					'time.sleep(0.5)',
					'print("ready", flush=True)',
					'time.sleep(60)',
				].join('\n'),
			},
		});
		await new Promise<void>((resolve) => running.stdout.once('data', () => resolve()));
		await until(async () => (await processesWith(token)).length === 4);
		running.kill();
		assert.equal((await running.ended).end, 'cancelled');
		assert.deepEqual(await processesWith(token), []);
	});

	it('is canceled by its signal', async () => {
		const abort = new AbortController();
		const running = sandbox.run({ program: 'sh', args: ['-c', 'sleep 30'] }, abort.signal);
		setTimeout(() => abort.abort(), 50);
		await assert.rejects(running, { reason: 'cancelled' });
		await assert.rejects(sandbox.run({ program: 'sh', args: ['-c', ':'] }, abort.signal), { reason: 'cancelled' });
	});

	it('does not fail if it ignores its input', async () => {
		const result = await sandbox.run({ program: 'sh', args: ['-c', 'exit 0'], stdin: 'x'.repeat(5_000_000) });
		assert.deepEqual([result.end, result.status], ['exited', 0]);
	});

	it('cannot be given a file whose name contains a folder or an option', async () => {
		for (const name of ['../x', '/etc/passwd', '-x', 'a/b', '']) {
			await assert.rejects(
				async () => sandbox.run({ program: 'sh', args: ['-c', ':'], files: { [name]: '' } }),
				{ reason: 'invalid' },
				name,
			);
		}
	});
});

async function processesWith(token: string): Promise<string[]> {
	const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
	const found = await Promise.all(
		pids.map(async (pid) => {
			const line = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
			return line.split('\0').includes(token) ? [pid] : [];
		}),
	);
	return found.flat();
}
