import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import type { SandboxLimits, SandboxProgram } from '../../../src/rewards/sandbox/sandbox.ts';
import { testSandbox } from './sandboxFixture.ts';

const { sandbox, skip } = await testSandbox();

/** Limits used by code tests. */
const limits: Partial<SandboxLimits> = { wallMs: 20_000, cpuSeconds: 10, memoryMb: 272, processes: 10 };
const ofLanguage = {
	python: { file: 'main.py', flags: ['-s', '-B'], limits: { ...limits, addressSpaceMb: 400 } },
	node: { file: 'main.cjs', flags: [], limits: { ...limits, memoryMb: 352, processes: 24 } },
} as const;

/** Typical programs written by people and models; the last output of each is "42". */
const python: Readonly<Record<string, string>> = {
	threads:
		'import threading\nr = []\nt = [threading.Thread(target=lambda: r.append(14)) for _ in range(3)]\n[x.start() for x in t]\n[x.join() for x in t]\nprint(sum(r))',
	'a thread pool':
		'from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as p: print(sum(p.map(lambda x: x, [20, 22])))',
	'a process pool':
		'import multiprocessing as m\ndef f(x): return x\nif __name__ == "__main__":\n    with m.Pool(2) as p: print(sum(p.map(f, [20, 22])))',
	'a subprocess':
		'import subprocess, sys\nprint(subprocess.run([sys.executable, "-c", "print(42)"], capture_output=True, text=True, check=True).stdout)',
	'a shell pipe':
		'import subprocess\nprint(subprocess.check_output("echo 41 42 | cut -d\' \' -f2", shell=True, text=True))',
	'deep recursion':
		'import sys, threading\nsys.setrecursionlimit(200000)\nthreading.stack_size(64 << 20)\ndef f(n): return 42 if n == 0 else f(n - 1)\nt = threading.Thread(target=lambda: print(f(50000)))\nt.start()\nt.join()',
	asyncio: 'import asyncio\nasync def f(): \n    await asyncio.sleep(0.01)\n    return 42\nprint(asyncio.run(f()))',
	'an asyncio subprocess':
		'import asyncio\nasync def f():\n    p = await asyncio.create_subprocess_exec("echo", "42", stdout=asyncio.subprocess.PIPE)\n    print((await p.communicate())[0].decode())\nasyncio.run(f())',
	'its own files': 'print(42 if "main.py" in __import__("os").listdir(".") and open("main.py").read() else 0)',
	'temporary files':
		'import tempfile, shutil, os\nwith tempfile.TemporaryDirectory() as d:\n    open(d + "/a", "w").write("42")\n    shutil.copy2(d + "/a", d + "/b")\n    shutil.copytree(d, "/tmp/other")\n    print(open("/tmp/other/b").read())',
	sqlite:
		'import sqlite3\nc = sqlite3.connect("a.db")\nc.execute("create table t (x)")\nc.execute("insert into t values (42)")\nc.commit()\nprint(c.execute("select x from t").fetchone()[0])',
	'an alarm':
		'import signal\nsignal.signal(signal.SIGALRM, lambda *_: print(42))\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\nsignal.pause()',
	'a socket pair': 'import socket\na, b = socket.socketpair()\na.sendall(b"42")\nprint(b.recv(2).decode())',
	'a multiprocessing queue':
		'import multiprocessing as m\ndef f(q): q.put(42)\nif __name__ == "__main__":\n    q = m.Queue()\n    p = m.Process(target=f, args=(q,))\n    p.start()\n    print(q.get())\n    p.join()',
	'a memory-mapped file':
		'import mmap\nopen("a", "wb").write(b"42")\nwith open("a", "r+b") as f: print(mmap.mmap(f.fileno(), 0)[:2].decode())',
	compression:
		'import zlib, lzma, bz2\nprint(lzma.decompress(lzma.compress(bz2.decompress(bz2.compress(zlib.decompress(zlib.compress(b"42")))))).decode())',
	randomness:
		'import secrets, random, uuid, os, hashlib\nhashlib.sha256(os.urandom(8) + secrets.token_bytes(4) + uuid.uuid4().bytes)\nrandom.seed(1)\nprint(42)',
	'large numbers': 'print(42 if str(3 ** 8000)[0] and pow(2, 10**6, 97) else 0)',
	ctypes: 'import ctypes\nprint(ctypes.CDLL(None).abs(-42))',
	unittest:
		'import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\nunittest.main(exit=False)\nprint(42)',
	'its own resource limits':
		'import resource, time, os, sys\nresource.getrusage(resource.RUSAGE_SELF)\nresource.setrlimit(resource.RLIMIT_STACK, resource.getrlimit(resource.RLIMIT_STACK))\ntime.sleep(0.001)\nos.nice(1)\nos.sched_getaffinity(0)\nprint(42)',
	input: 'import sys\nprint(sum(map(int, sys.stdin.read().split())))',
	'numpy, if installed':
		'try:\n    import numpy as n\n    a = n.ones((200, 200))\n    assert (a @ a)[0, 0] == 200 and n.linalg.norm(n.fft.fft(a)) > 0\nexcept ImportError: pass\nprint(42)',
	'pytest, if installed':
		'import subprocess, sys\nopen("test_a.py", "w").write("def test(tmp_path, capfd): (tmp_path / \'a\').write_text(\'x\')")\nr = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_a.py"], capture_output=True, text=True)\nprint(42 if "1 passed" in r.stdout or "No module named pytest" in r.stderr else r.stdout + r.stderr)',
};

const node: Readonly<Record<string, string>> = {
	'large numbers': 'console.log(String((2n ** 4000n) % 2n + 42n));',
	'worker threads':
		"const { Worker } = require('worker_threads');\nlet sum = 0;\nfor (const n of [20, 22]) new Worker('require(`worker_threads`).parentPort.postMessage(' + n + ')', { eval: true }).on('message', (v) => { sum += v; if (sum === 42) console.log(sum); });",
	'a subprocess': "console.log(require('child_process').execFileSync('echo', ['42']).toString());",
	'a subprocess with piped output':
		"const p = require('child_process').spawn(process.execPath, ['-e', 'console.log(42)']);\np.stdout.pipe(process.stdout);",
	'files and streams':
		"const fs = require('fs');\nfs.writeFileSync('a', '42');\nfs.createReadStream('a').pipe(fs.createWriteStream('b')).on('finish', async () => console.log(await fs.promises.readFile('b', 'utf8')));",
	WebAssembly: 'new WebAssembly.Memory({ initial: 1, maximum: 100 }).grow(2);\nconsole.log(42);',
	'shared memory':
		'const a = new Int32Array(new SharedArrayBuffer(4));\nAtomics.add(a, 0, 42);\nAtomics.wait(a, 0, 42, 5);\nconsole.log(a[0]);',
	'timers and promises': "require('timers/promises').setTimeout(10).then(() => console.log(42));",
	'hashes and compression':
		"const z = require('zlib');\nrequire('crypto').scryptSync('a', 'b', 16);\nrequire('crypto').randomUUID();\nz.gzip('42', (e, b) => console.log(String(z.gunzipSync(b))));",
	'input lines':
		"let sum = 0;\nrequire('readline').createInterface({ input: process.stdin }).on('line', (l) => { for (const w of l.split(' ')) sum += +w; }).on('close', () => console.log(sum));",
	'a large array': 'const a = new Float64Array(5e6).fill(1);\nconsole.log(a.length === 5e6 ? 42 : 0);',
	'a server on a Unix socket':
		"const net = require('net');\nconst s = net.createServer((c) => c.end('42')).listen('/tmp/s', () => net.connect('/tmp/s').on('data', (d) => { console.log(String(d)); s.close(); }));",
};

describe('ordinary programs in the sandbox', { skip }, () => {
	for (const [program, programs] of [
		['python', python],
		['node', node],
	] as const satisfies readonly (readonly [SandboxProgram, unknown])[]) {
		const { file, flags, limits } = ofLanguage[program];
		for (const [name, code] of Object.entries(programs)) {
			it(`${program}: ${name}`, async () => {
				const args = [...flags, file];
				const result = await sandbox.run({ program, args, files: { [file]: code }, stdin: '20 22\n', limits });
				assert.equal(result.stdout.trim().split('\n').at(-1), '42', `${result.end} ${result.stderr}`);
				assert.deepEqual([result.end, result.status], ['exited', 0]);
			});
		}
	}
});

describe('kernel memory held by programs', { skip }, () => {
	it('page tables count as memory', async () => {
		const code = `
			const kept = [];
			for (let i = 0; i < 12; i++) {
				const all = new Uint8Array(new SharedArrayBuffer(2 * 1024 ** 3));
				for (let at = 0; at < all.length; at += 4096 * 256) kept.push(all[at]);
				kept.push(all);
			}
			console.log('all');
			setTimeout(() => undefined, 500);`;
		const run = (memoryMb: number) =>
			sandbox.run({ program: 'node', args: ['-e', code], limits: { memoryMb, wallMs: 10_000 } });
		const { end, stdout, peakMemoryMb } = await run(1000);
		assert.deepEqual([end, stdout], ['exited', 'all\n']);
		const less = await run(Math.round(peakMemoryMb - 15));
		assert.equal(less.end, 'memory');
	});

	it('address space is limited for Node too', async () => {
		const code = `
			const kept = [];
			try {
				for (let i = 0; i < 100; i++) kept.push(new SharedArrayBuffer(8 * 1024 ** 3));
			} catch (error) {
				console.log(kept.length, error.message);
			}`;
		const { stdout } = await sandbox.run({ program: 'node', args: ['-e', code] });
		assert.match(stdout, /^[0-4] Array buffer allocation failed/);
	});

	it('sockets count as memory, even without a descriptor', async () => {
		const code = `
import socket, time
way = socket.socketpair()
for _ in range(40):
    pair = socket.socketpair()
    socket.send_fds(way[0], [b"x"], [one.fileno() for one in pair])
    for one in pair: one.close()
time.sleep(2)`;
		const { end } = await sandbox.run({ program: 'python', args: ['-c', code], limits: { memoryMb: 22 } });
		assert.equal(end, 'memory');
		const { end: wide } = await sandbox.run({ program: 'python', args: ['-c', code], limits: { memoryMb: 60 } });
		assert.equal(wide, 'exited');
	});
});

describe('a machine without a reaper for orphans', { skip }, () => {
	it('is reported for leaving zombies, and one with a reaper is not', {
		skip: sandbox.missing('python') ?? false,
	}, () => {
		const module = new URL('../../../src/rewards/sandbox/bubblewrapSandbox.ts', import.meta.url).href;
		const code = `
			import { bubblewrapSandbox } from ${JSON.stringify(module)};
			import { readdirSync, readFileSync } from 'node:fs';
			const sandbox = await bubblewrapSandbox();
			const limits = { wallMs: 300 };
			const many = [1, 2, 3].map(() => sandbox.run({ program: 'sh', args: ['-c', 'sleep 9 & sleep 9'], limits }));
			const ends = (await Promise.all(many)).map(({ end }) => end).join();
			const countZombies = () => {
				const stats = readdirSync('/proc').flatMap((pid) => {
					try {
						return [readFileSync('/proc/' + pid + '/stat', 'latin1').split(') ').at(-1).split(' ')];
					} catch {
						return [];
					}
				});
				return stats.filter(([state, parent]) => state === 'Z' && Number(parent) === process.ppid).length;
			};
			// A supervisor reaps its sandbox shortly after the sandbox has ended.
			let zombies = countZombies();
			for (let i = 0; i < 100 && zombies > 1; i++) {
				await new Promise((resolve) => setTimeout(resolve, 50));
				zombies = countZombies();
			}
			console.log(JSON.stringify({ gaps: sandbox.gaps, ends, zombies }));`;
		// With PR_SET_CHILD_SUBREAPER, orphaned descendants become children of this process.
		const script = `
import ctypes, os, subprocess, sys, threading, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
child = os.fork()
if child == 0:
    os.execv(sys.argv[2], [sys.argv[2], "--input-type=module", "-e", sys.argv[3]])
while True:
    pid, status = os.waitpid(-1 if sys.argv[1] == "reaps" else child, 0)
    if pid == child:
        break`;
		const zombiesWhere = (how: string) => {
			const { stdout, stderr } = spawnSync('python3', ['-c', script, how, process.execPath, code], {
				encoding: 'utf8',
			});
			assert.notEqual(stdout, '', stderr);
			return JSON.parse(stdout) as { gaps: string[]; ends: string; zombies: number };
		};
		const left = zombiesWhere('leaves');
		assert.match(left.gaps.join(), /a process that reaps finished sandboxes/);
		// Killed sandboxes are reaped by their supervisor; the one left is from the check that the sandbox works.
		assert.deepEqual([left.ends, left.zombies], ['wall,wall,wall', 1]);
		assert.doesNotMatch(zombiesWhere('reaps').gaps.join(), /reaps/);
	});
});
