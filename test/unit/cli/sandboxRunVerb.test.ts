import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { root } from '../../scripts/paths.ts';
import { builtProgram } from '../../support/programs.ts';
import { testSandbox } from '../rewards/sandboxFixture.ts';

const { skip } = await testSandbox();

/** Sends lines to `reasoning-lab sandbox-run` and returns its replies. */
async function replies(lines: readonly (object | string)[], environment: NodeJS.ProcessEnv = {}): Promise<unknown[]> {
	const env = { ...process.env, ...environment };
	const child = spawn(process.execPath, [builtProgram('dist/cli.js'), 'sandbox-run'], { env, stdio: 'pipe' });
	child.stdin.end(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
	return (await text(child.stdout))
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
}

const limits = { seconds: 5, memoryMb: 128 };
const python = (code: string, more: object = {}) => ({
	...{ program: 'python', args: ['main.py'], files: { 'main.py': code }, ...limits },
	...more,
});

describe('sandbox-run', () => {
	it('runs one program after another, and reports what it cannot run', { skip }, async () => {
		const found = await replies([
			python('import sys; print(open("data.txt").read() + sys.stdin.read())', {
				files: { 'main.py': 'import sys; print(open("data.txt").read() + sys.stdin.read())', 'data.txt': 'a' },
				stdin: 'b',
			}),
			python('import socket; socket.create_connection(("127.0.0.1", 1))'),
			python('while True: pass', { seconds: 0.5 }),
			{ program: 'node', args: ['-e', 'console.log(1 + 1)'], files: {}, ...limits },
			'{"program": ',
			python('', { files: { '../main.py': '' } }),
			{ program: 'sh', args: [], files: {}, ...limits },
		]);
		const [reads, connects, loops, node, torn, outside, shell] = found as Record<string, unknown>[];
		assert.deepEqual([reads?.end, reads?.status, reads?.stdout], ['exited', 0, 'ab\n']);
		assert.equal(connects?.status, 1);
		assert.match(String(connects?.stderr), /Error/);
		assert.ok(loops?.end === 'wall' || loops?.end === 'cpu', String(loops?.end));
		assert.equal(node?.stdout, '2\n');
		assert.match(String(torn?.error), /not valid JSON/);
		assert.match(String(outside?.error), /not a file name/);
		assert.match(String(shell?.error), /The request is not valid at program/);
	});

	it('runs nothing without a sandbox', async () => {
		// A line that is not a request does not need a sandbox.
		const [torn, refused] = await replies(['{', python('')], {
			REASONING_LAB_SANDBOX: 'container:no/such/image',
			PATH: '',
		});
		assert.match(String((torn as { error: string }).error), /not valid JSON/);
		assert.match(String((refused as { error: string }).error), /not run without a sandbox/);
	});
});

it('the Python module of the code repair template reports why nothing runs', () => {
	const code = 'import reasoning_lab_sandbox as s\ntry: s.check()\nexcept s.SandboxError as error: print(error)';
	const { PATH: path = '', ...env } = process.env;
	const found = spawnSync('python3', ['-c', code], {
		env: { ...env, PYTHONPATH: join(root, 'media/templates/environment'), PYTHONDONTWRITEBYTECODE: '1', PATH: path },
		encoding: 'utf8',
	});
	assert.equal(
		found.stdout,
		'Model-written code requires a sandbox, but the reasoning-lab command was not found. Install it and add it to your PATH.\n',
		found.stderr,
	);
});
