import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { RewardHosts } from '../../../src/rewards/rewardHosts.ts';
import type { RewardLimits, RewardRunner } from '../../../src/rewards/rewardRunner.ts';
import { builtHostFolder } from '../../support/programs.ts';
import { context, openHosts, openReward, processesWith, rewardFolder, rowsOf, until } from './hostFixtures.ts';

/** One fault in both languages. It occurs on the row with gold answer 2; `good` in the same file never fails. */
interface Bad {
	readonly python: string;
	readonly node: string;
	readonly limits?: Partial<RewardLimits>;
	readonly kind: string;
	readonly message: RegExp;
	/** Line at fault, or null if only the process could have reported it and is gone. */
	readonly pythonLine: number | null;
	readonly nodeLine: number | null;
}

const python = (body: string) =>
	[
		'import os, sys, time',
		'def bad(completions, answer, **kwargs):',
		'    if "2" in answer:',
		`        ${body}`,
		'    return [1.0] * len(answer)',
		'def good(completions, **kwargs):',
		'    return [2.0] * len(completions)',
	].join('\n');

const node = (body: string) =>
	[
		"import { writeSync } from 'node:fs';",
		'export const bad = ({ answer }) => {',
		"\tif (answer === '2') {",
		`\t\t${body}`,
		'\t}',
		'\treturn 1;',
		'};',
		'export const good = () => 2;',
		'export { writeSync };',
	].join('\n');

/** A batch with a fault always takes its whole time, but a good row needs enough of it on a busy machine. */
const quick = { rowMs: 1000, batchMs: 300 };

const faults: Readonly<Record<string, Bad>> = {
	'an infinite loop': {
		python: 'while True: pass',
		node: 'for (;;);',
		limits: quick,
		kind: 'timeout',
		message: /exceeded its time limit of 1 s/,
		pythonLine: 4,
		nodeLine: null,
	},
	'an endless wait': {
		python: 'time.sleep(1000)',
		node: 'return new Promise(() => {});',
		limits: quick,
		kind: 'timeout',
		message: /exceeded its time limit/,
		pythonLine: 4,
		nodeLine: null,
	},
	'an endlessly growing list': {
		python: 'x = []\n        while True: x.append(bytearray(1 << 20))',
		node: 'const x = []; for (;;) x.push(new Array(1 << 17).fill(0.5));',
		limits: { memoryMb: 200, rowMs: 60_000 },
		kind: 'memory',
		message: /memory|heap/,
		pythonLine: null,
		nodeLine: null,
	},
	'an allocation beyond all limits': {
		python: 'x = bytearray(1 << 42)',
		node: 'const x = []; for (let i = 0; i < 1e9; i++) x.push(Buffer.alloc(1 << 24, 1));',
		limits: { memoryMb: 200, rowMs: 60_000 },
		kind: 'memory',
		message: /memory/i,
		pythonLine: 4,
		nodeLine: null,
	},
	'a call to sys.exit or process.exit': {
		python: 'sys.exit(3)',
		node: 'process.exit(3);',
		kind: 'exited',
		message: /exit\(3\) was called/,
		pythonLine: 4,
		nodeLine: 4,
	},
	'a call to os._exit or process.reallyExit': {
		python: 'os._exit(3)',
		node: 'process.reallyExit(3);',
		kind: 'exited',
		message: /process exited with code 3/,
		pythonLine: null,
		nodeLine: null,
	},
	'a crash': {
		python: 'os.abort()',
		node: 'process.abort();',
		kind: 'exited',
		message: /killed by SIGABRT/,
		pythonLine: null,
		nodeLine: null,
	},
};

describe('a reward that harms its process', () => {
	let hosts: RewardHosts;
	let folder: string;
	before(async () => {
		hosts = await openHosts();
		folder = await rewardFolder();
	});

	for (const [name, fault] of Object.entries(faults)) {
		for (const language of ['python', 'node'] as const) {
			it(`with ${name} (${language}): the row is named, the others are scored, and the reward recovers`, async () => {
				const file = language === 'python' ? 'bad.reward.py' : 'bad.reward.mjs';
				const text = language === 'python' ? python(fault.python) : node(fault.node);
				const runner = await openReward(hosts, folder, file, text, fault.limits);
				const { values, errors, isolated } = await runner.score('bad', rowsOf(4));
				assert.deepEqual(values, [1, 1, null, 1]);
				assert.deepEqual(
					errors.map(({ index, kind }) => [index, kind]),
					[[2, fault.kind]],
				);
				assert.match(errors[0]?.message ?? '', fault.message);
				const line = language === 'python' ? fault.pythonLine : fault.nodeLine;
				if (line !== null) assert.equal(errors[0]?.line, line);
				// In per-row scoring, process.exit is an exception in a single row.
				const perRow = language === 'node' && fault.nodeLine !== null;
				assert.equal(isolated, perRow ? undefined : true);
				await recovers(runner);
			});
		}
	}

	async function recovers(runner: RewardRunner): Promise<void> {
		const { values, errors } = await runner.score('good', rowsOf(4));
		assert.deepEqual([values, errors], [[2, 2, 2, 2], []]);
	}

	it('on every row reports an error for each row without trying them all', async () => {
		const text = 'import os\ndef bad(completions, **kwargs):\n    open("starts", "a").write("x")\n    os._exit(1)\n';
		const runner = await openReward(hosts, folder, 'b.reward.py', text);
		const { values, errors, isolated } = await runner.score('bad', rowsOf(100));
		assert.deepEqual(values, new Array(100).fill(null));
		assert.deepEqual(
			errors.map(({ index, kind }) => [index, kind]),
			rowsOf(100).map((_, i) => [i, 'exited']),
		);
		assert.equal(isolated, true);
		const { readFile } = await import('node:fs/promises');
		assert.equal((await readFile(join(runner.file, '../starts'), 'utf8')).length, 6);
	});

	it('by closing every file descriptor is killed and replaced', async () => {
		const text = [
			'import os, time',
			'def bad(completions, **k):',
			'    os.closerange(3, 1024)',
			'    time.sleep(600)',
			'def good(completions, **k): return [2] * len(completions)',
		].join('\n');
		// Within the exit deadline of a host whose connection is gone.
		const runner = await openReward(hosts, folder, 'c.reward.py', text);
		const { values, errors } = await runner.score('bad', rowsOf(1), { timeoutMs: 300 });
		assert.deepEqual(values, [null]);
		assert.equal(errors.length, 1);
		assert.ok(['exited', 'timeout'].includes(errors[0]?.kind ?? ''), errors[0]?.kind);
		const cancel = new AbortController();
		const pending = runner.score('bad', rowsOf(1), { signal: cancel.signal, timeoutMs: 60_000 });
		await new Promise((resolve) => setTimeout(resolve, 500));
		cancel.abort();
		// On a busy machine, the host may have been killed before the cancel request.
		const late = await pending.catch((error: unknown) => {
			assert.equal(Failure.from(error).reason, 'cancelled');
			return null;
		});
		if (late !== null) assert.deepEqual([late.values, late.errors[0]?.kind], [[null], 'exited']);
		await recovers(Object.assign(runner, {}));
	});

	it('in batch-only mode fails as a batch', async () => {
		const text =
			'import os\ndef bad(completions, **kwargs): os._exit(1)\nbad.batch_only = True\ndef good(completions, **k): return [2] * len(completions)';
		const runner = await openReward(hosts, folder, 'b.reward.py', text);
		const { values, errors, isolated } = await runner.score('bad', rowsOf(3));
		assert.deepEqual(values, [null, null, null]);
		assert.deepEqual(
			errors.map(({ index, kind }) => [index, kind]),
			[[-1, 'exited']],
		);
		assert.equal(isolated, undefined);
		await recovers(Object.assign(runner, {}));
	});

	it('by modifying its process affects only that process', async () => {
		const text = [
			'export const bad = () => { Array.prototype.map = null; return 1; };',
			'export const odd = () => ({ get then() { throw new Error("no then"); } });',
			'export const good = () => 2;',
		].join('\n');
		const runner = await openReward(hosts, folder, 'g.reward.mjs', text);
		const { values, errors } = await runner.score('bad', rowsOf(2));
		assert.deepEqual(values, [null, null]);
		assert.deepEqual(
			errors.map(({ index, kind }) => [index, kind]),
			[
				[0, 'exited'],
				[1, 'exited'],
			],
		);
		await recovers(runner);
		const odd = await runner.score('odd', rowsOf(1));
		assert.deepEqual([odd.errors[0]?.kind, odd.errors[0]?.message], ['threw', 'Error: no then']);
	});

	it('by replacing functions that the host uses can still respond', async () => {
		const text = [
			'import json, os',
			'def bad(completions, **k):',
			'    json.dumps = json.loads = os.write = os.read = None',
			'    print("still here")',
			'    return [1.0] * len(completions)',
			'def good(completions, **k): return [2] * len(completions)',
		].join('\n');
		const runner = await openReward(hosts, folder, 'j.reward.py', text);
		const { values, errors, logs } = await runner.score('bad', rowsOf(2));
		assert.deepEqual([values, errors, logs], [[1, 1], [], ['still here']]);
		await recovers(runner);
	});

	it('by logging a non-numeric metric is reported with its line', async () => {
		const text = [
			'def bad(completions, log_metric, **k):',
			'    log_metric("length", "long")',
			'    return [1.0] * len(completions)',
			'def good(completions, log_metric, **k):',
			'    for value in (1e308, 1e308): log_metric("large", value)',
			'    for value in (float("inf"), float("-inf")): log_metric("odd", value)',
			'    log_metric("fine", 3)',
			'    return [2] * len(completions)',
		].join('\n');
		const runner = await openReward(hosts, folder, 'm.reward.py', text);
		const { errors } = await runner.score('bad', rowsOf(1));
		assert.deepEqual(
			errors.map(({ index, kind, line }) => [index, kind, line]),
			[[0, 'threw', 2]],
		);
		const { values, metrics } = await runner.score('good', rowsOf(1));
		assert.deepEqual([values, metrics], [[2], { fine: 3 }]);
	});

	it('leaves no process behind, even in a separate session and environment', async () => {
		const marker = `600.${Math.floor(Math.random() * 1e9)}`;
		const text = [
			'import subprocess',
			'def bad(completions, **k):',
			`    subprocess.Popen(["sleep", "${marker}"], start_new_session=True, env={"PATH": "/usr/bin:/bin"})`,
			'    return [1.0] * len(completions)',
		].join('\n');
		const own = await openHosts();
		const runner = await openReward(own, folder, 'n.reward.py', text);
		await runner.score('bad', rowsOf(1));
		// A process that has just started briefly has no command line.
		await until(async () => (await processesWith(marker)).length === 1);
		own.dispose();
		await own.closed();
		await until(async () => (await processesWith(marker)).length === 0);
	});

	// At most 66 concurrent processes: the limit plus those that start between two checks.
	const bombs: Readonly<Record<string, string>> = {
		'in one process': [
			'import os, time',
			'def bad(completions, answer, **kwargs):',
			'    for i in range(150):',
			'        if os.fork() == 0:',
			'            time.sleep(600)',
			'            os._exit(0)',
			'        time.sleep(0.002)',
			'    time.sleep(600)',
		].join('\n'),
		'that forks twice into new sessions': [
			'import os, time',
			'def bad(completions, answer, **kwargs):',
			'    for i in range(150):',
			'        if os.fork() == 0:',
			'            os.setsid()',
			'            if os.fork() == 0:',
			'                time.sleep(600)',
			'            time.sleep(0.3)',
			'            os._exit(0)',
			'        time.sleep(0.01)',
			'    time.sleep(600)',
		].join('\n'),
		'that starts programs': [
			'import subprocess, sys, time',
			'def bad(completions, answer, **kwargs):',
			'    for i in range(60):',
			'        subprocess.Popen(["sleep", "600"], start_new_session=i % 2 == 0)',
			'    time.sleep(600)',
		].join('\n'),
	};
	for (const [name, text] of Object.entries(bombs)) {
		it(`with a fork bomb ${name}: all processes are killed`, async () => {
			const good = 'def good(completions, **kwargs):\n    return [2.0] * len(completions)\n';
			const marker = `bomb-${Math.random().toString(36).slice(2)}`;
			const environment = { ...process.env, BOMB_MARKER: marker };
			const bombed = await openHosts({ environment });
			const limits = { processes: 20, rowMs: 20_000, batchMs: 20_000 };
			const runner = await openReward(bombed, folder, 'bomb.reward.py', `${text}\n${good}`, limits);
			const { errors } = await runner.score('bad', rowsOf(1));
			assert.deepEqual(
				errors.map(({ index, kind }) => [index, kind]),
				[[0, 'processes']],
			);
			assert.match(errors[0]?.message ?? '', /had \d+ processes, exceeding its limit of 20/);
			await recovers(runner);
			// Only the new host and its watcher remain.
			await until(async () => (await processesWith(marker)).length <= 2);
			bombed.dispose();
			await until(async () => (await processesWith(marker)).length === 0);
		});
	}

	it('leaves nothing running after disposal, whatever it is doing', async () => {
		const marker = `left-${Math.random().toString(36).slice(2)}`;
		const busy = await openHosts({ environment: { ...process.env, LEFT_MARKER: marker }, spares: true });
		const loops = await openReward(busy, folder, 'l.reward.mjs', 'export const bad = () => { for (;;); };');
		const text =
			'import subprocess\ndef bad(completions, **k):\n    subprocess.Popen(["sleep", "600"], start_new_session=True)\n    while True: pass\n';
		const starts = await openReward(busy, folder, 'l.reward.py', text);
		const scores = [loops, starts].map((runner) => runner.score('bad', rowsOf(1)).catch((error: unknown) => error));
		await until(async () => (await processesWith(marker)).length >= 7);
		busy.dispose();
		for (const outcome of await Promise.all(scores)) {
			assert.ok(outcome instanceof Error ? 'reason' in outcome : true, String(outcome));
		}
		await until(async () => (await processesWith(marker)).length === 0);
	});

	for (const [how, end] of [
		['killed', ''],
		['killed while it shuts down its hosts', 'hosts.dispose();'],
	]) {
		it(`ends with the process that started it, even if that process is ${how}`, async () => {
			const { spawn } = await import('node:child_process');
			const marker = `orphan-${Math.random().toString(36).slice(2)}`;
			const rewards = [
				['o.reward.mjs', 'export const bad = () => { for (;;); };'],
				['o.reward.py', 'import re\ndef bad(completions, **k):\n    re.match(r"(a*)*b", "a" * 100)\n'],
			] as const;
			const files: string[] = [];
			for (const [name, text] of rewards) files.push((await openReward(hosts, folder, name, text)).file);
			const sources = new URL('../../../src/rewards/', import.meta.url).href;
			const program = `
			import { RewardHosts } from '${sources}rewardHosts.ts';
			import { findRewardPrograms } from '${sources}rewardPrograms.ts';
			const hosts = new RewardHosts(await findRewardPrograms(), { folder: ${JSON.stringify(builtHostFolder())} });
			for (const file of ${JSON.stringify(files)}) {
				const runner = hosts.open({ file, context: ${JSON.stringify(context)} });
				await runner.describe();
				void runner.score('bad', ${JSON.stringify(rowsOf(1))});
			}
			process.once('SIGUSR2', () => {
				${end}
				setImmediate(() => process.kill(process.pid, 'SIGKILL'));
			});
			setTimeout(() => console.log('busy'), 300);`;
			const starter = spawn(process.execPath, ['--input-type=module', '-e', program], {
				env: { ...process.env, ORPHAN_MARKER: marker },
				stdio: ['ignore', 'pipe', 'inherit'],
			});
			await new Promise<void>((resolve) => starter.stdout.once('data', () => resolve()));
			// Two hosts and two watchers, plus the parent.
			await until(async () => (await processesWith(marker)).length === 5);
			starter.kill('SIGUSR2');
			await until(async () => (await processesWith(marker)).length === 0);
		});
	}
});

describe('a reward that prints', () => {
	let hosts: RewardHosts;
	let folder: string;
	before(async () => {
		hosts = await openHosts();
		folder = await rewardFolder();
	});
	/** 1 GB if time permits. */
	const bytes = Number(process.env.PRINTED_BYTES ?? 150_000_000);
	/** For output in short lines, which takes much longer to print and is then handled in the same way. */
	const lineBytes = bytes / 5;

	const ways: Readonly<Record<string, readonly [string, string]>> = {
		'with print': ['p.reward.py', `    for i in range(${lineBytes / 1000}): print("x" * 999)`],
		'with os.write': ['p.reward.py', `    for i in range(${bytes / 100_000}): os.write(1, b"y" * 99_999 + b"\\n")`],
		'in a child': [
			'p.reward.py',
			`    subprocess.run([sys.executable, "-c", "import os\\nfor i in range(${bytes / 100_000}): os.write(2, b'z' * 99_999 + b'\\\\n')"])`,
		],
		'with console.log': [
			'p.reward.mjs',
			`\tconst text = "x".repeat(999); for (let i = 0; i < ${lineBytes / 1000}; i++) console.log(text);`,
		],
	};
	for (const [way, [name, body]] of Object.entries(ways)) {
		it(`a lot of output ${way} keeps the start, reports the truncation, and uses no extra memory`, async () => {
			const text = name.endsWith('.py')
				? `import os, subprocess, sys\ndef loud(completions, **k):\n    print("begin", flush=True)\n${body}\n    return [1] * len(completions)\n`
				: `export const loud = () => {\n\tconsole.log("begin");\n${body}\n\treturn 1;\n};`;
			const runner = await openReward(hosts, folder, name, text);
			await runner.describe();
			global.gc?.();
			const before = process.memoryUsage.rss();
			const { values, errors, logs } = await runner.score('loud', rowsOf(1));
			const grown = process.memoryUsage.rss() - before;
			assert.deepEqual([values, errors], [[1], []]);
			assert.equal(logs[0], 'begin');
			assert.ok(
				logs.some((line) => /(omitted|printed and dropped)\)$/.test(line)),
				logs.slice(-3).join('\n').slice(0, 300),
			);
			const kept = logs.reduce((sum, line) => sum + line.length, 0);
			assert.ok(kept < 300_000, `${kept} characters are kept`);
			assert.ok(grown < 100e6, `${grown} bytes more`);
		});
	}

	it('output that resembles the protocol is only printed', async () => {
		const message = 'Content-Length: 37\\r\\n\\r\\n{"jsonrpc":"2.0","id":1,"result":[1]}';
		const text = [
			'import os, subprocess',
			'def forge(completions, **k):',
			`    text = ${JSON.stringify(message).replaceAll('\\\\', '\\')}`,
			'    print(text)',
			'    os.write(1, text.encode()); os.write(2, text.encode())',
			'    subprocess.run(["printf", "%s", text])',
			'    for fd in range(3, 20):',
			'        try: os.write(fd, text.encode())',
			'        except OSError: pass',
			'    return [4.0] * len(completions)',
		].join('\n');
		const runner = await openReward(hosts, folder, 'f.reward.py', text);
		for (let i = 0; i < 3; i++) {
			const { values, errors, logs } = await runner.score('forge', rowsOf(2));
			assert.deepEqual([values, errors], [[4, 4], []]);
			assert.equal(logs.filter((line) => line.startsWith('{"jsonrpc"')).length, 4);
		}
		const script = [
			"import { writeSync } from 'node:fs';",
			"import { spawnSync } from 'node:child_process';",
			`const text = ${JSON.stringify(message).replaceAll('\\\\', '\\')};`,
			'export const forge = () => {',
			'\tconsole.log(text); process.stderr.write(text); writeSync(1, text); writeSync(2, text);',
			"\tspawnSync('sh', ['-c', 'printf %s \"$0\"; printf %s \"$0\" >&3; printf %s \"$0\" >&4', text], { stdio: ['ignore', 1, 2] });",
			'\treturn 4;',
			'};',
		].join('\n');
		const other = await openReward(hosts, folder, 'f.reward.mjs', script);
		for (let i = 0; i < 3; i++) {
			const { values, errors } = await other.score('forge', rowsOf(2));
			assert.deepEqual([values, errors], [[4, 4], []]);
		}
	});

	it('may close or replace its streams', async () => {
		const text =
			'import sys\ndef shut(completions, **k):\n    sys.stdout.close(); sys.stderr = None\n    return [1] * len(completions)\n';
		const runner = await openReward(hosts, folder, 's.reward.py', text);
		for (let i = 0; i < 2; i++) {
			const { values } = await runner.score('shut', rowsOf(1));
			assert.deepEqual(values, [1]);
		}
	});

	it('gets only its own lines, each once, starting with output from loading', async () => {
		const text =
			'import sys\nprint("loading")\ndef say(completions, **k):\n    print("out"); print("err", file=sys.stderr)\n    return [1] * len(completions)\n';
		const runner = await openReward(hosts, folder, 'w.reward.py', text);
		assert.deepEqual((await runner.score('say', rowsOf(1))).logs, ['loading', 'out', 'err']);
		assert.deepEqual((await runner.score('say', rowsOf(1))).logs, ['out', 'err']);
		const died = 'import os\ndef die(completions, **k):\n    print("last words")\n    os._exit(1)\n';
		const other = await openReward(hosts, folder, 'd.reward.py', died);
		assert.deepEqual((await other.score('die', rowsOf(1))).logs, ['last words']);
	});
});

describe('a missing program', () => {
	it('is named, with an action', async () => {
		const folder = await rewardFolder();
		const nowhere = join(folder, 'nowhere');
		const hosts = new RewardHosts(
			{ node: nowhere, nodeEnvironment: {}, python: nowhere },
			{ folder: builtHostFolder() },
		);
		const texts = { 'a.reward.py': 'def f(completions, **k): return []', 'a.reward.ts': 'export const f = () => 1;' };
		for (const [name, text] of Object.entries(texts)) {
			const runner = await openReward(hosts, folder, name, text);
			await assert.rejects(runner.describe(), {
				reason: 'unavailable',
				message: new RegExp(`^${name} needs .* or newer: Cannot start the program ${nowhere}\\.$`),
				action: /reasoningLab\./,
			});
			await assert.rejects(runner.score('f', rowsOf(1)), { reason: 'unavailable' });
		}
		hosts.dispose();
		await hosts.closed();
	});

	it('is also named if it is the host program', async () => {
		const folder = await rewardFolder();
		const hosts = new RewardHosts({ node: process.execPath, nodeEnvironment: {}, python: 'python3' }, { folder });
		const runner = await openReward(hosts, folder, 'a.reward.py', 'def f(completions, **k): return []');
		await assert.rejects(runner.describe(), { reason: 'missing', message: /reward_host\.py/ });
		await assert.rejects(access(join(folder, 'python')));
		hosts.dispose();
	});
});
