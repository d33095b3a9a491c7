import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import type { IsolationReport } from '../../../../../src/protocol/isolation.ts';
import { checkIsolation } from '../../../../../src/rewards/sandbox/isolationCheck/checkIsolation.ts';
import type { Sandbox } from '../../../../../src/rewards/sandbox/sandbox.ts';
import { unsafeSandbox } from '../../../../../src/rewards/sandbox/unsafeSandbox.ts';
import { testSandbox } from '../../sandboxFixture.ts';

const { sandbox, skip } = await testSandbox();
/** Root without a separate user: no kernel limit counts its processes, so the supervisor must. */
const asRoot = await testSandbox({ dropUser: false });
const isRoot = process.getuid?.() === 0;

let workspace: string;
/** Separate home folder inside the real one, so that concurrent checks do not see each other's files. */
let home: string;
before(async () => {
	workspace = await mkdtemp(join(tmpdir(), 'sandbox-workspace-'));
	home = await mkdtemp(join(homedir(), '.sandbox-home-'));
	await chmod(home, 0o755);
	process.env[process.platform === 'win32' ? 'USERPROFILE' : 'HOME'] = home;
	assert.equal(homedir(), home);
});
after(async () => {
	await rm(workspace, { recursive: true, force: true });
	await rm(home, { recursive: true, force: true });
});

function outcomes(report: IsolationReport): Record<string, string> {
	return Object.fromEntries(report.attempts.map(({ id, outcome, evidence }) => [id, `${outcome}: ${evidence}`]));
}

/** Attempts whose outcome can depend on the user. `npm run acceptance -- escapesAsRoot` tries all of them. */
const byUser = [
	...['read-shadow', 'write-system', 'proc-root', 'devices', 'sysctl', 'kill-outside', 'ptrace', 'read-memory'],
	...['fork-bomb', 'thread-bomb', 'orphans', 'memory-of-many', 'socket-buffers', 'pipe-buffers'],
	...['identity', 'user-namespace', 'mount', 'file-handles', 'kernel-keys'],
];

// sandboxCheck.test.ts tries all of them without being root, through the command line.
describe('bubblewrap as root', { skip: isRoot ? asRoot.skip : 'requires root' }, () => {
	it('contains the attempts that depend on the user, and leaves nothing behind', async () => {
		const report = await checkIsolation(asRoot.sandbox, { workspace, only: byUser });
		const open = report.attempts.filter(({ outcome }) => outcome !== 'held' && outcome !== 'skipped');
		assert.deepEqual(
			open.map(({ id, outcome, evidence }) => `${id} ${outcome}: ${evidence}`),
			[],
		);
		assert.equal(report.attempts.length, byUser.length);
		assert.deepEqual(await readdir(workspace), []);
		assert.deepEqual(await readdir(home), []);
	});
});

describe('attempts that cannot run', { skip }, () => {
	const count = ({ held, failed, skipped, untried }: IsolationReport) => [held, failed, skipped, untried];
	const tried = (run: Sandbox['run']) => {
		const { kind, description, gaps, missing, start } = sandbox;
		const made: Sandbox = { kind, description, gaps, start, missing: missing.bind(sandbox), run };
		return checkIsolation(made, { workspace, only });
	};
	/** One attempt for each kind of check. */
	const only = ['dns', 'write-home', 'kill-outside', 'fork-bomb', 'outlive', 'memory', 'cpu', 'wall', 'output'];

	it('count as neither contained nor escaped if their program does not start', async () => {
		const report = await tried(({ limits, ...command }, signal) =>
			sandbox.run({ ...command, limits: { ...limits, addressSpaceMb: 4 } }, signal),
		);
		assert.deepEqual(count(report), [0, 0, 0, only.length]);
		assert.match(report.attempts[0]?.evidence ?? '', /shared object|SIGSEGV|memory/i);
	});

	it('are reported with a reason if the sandbox does not start, and other attempts continue', async () => {
		const report = await tried((command, signal) => {
			if (command.args.includes('dns')) throw new Failure('unavailable', 'bubblewrap failed to start: no memory.');
			return sandbox.run({ ...command, program: 'sh', args: ['-c', 'exit 3'] }, signal);
		});
		assert.deepEqual(count(report), [0, 0, 0, only.length]);
		const found = outcomes(report);
		assert.equal(found.dns, 'untried: bubblewrap failed to start: no memory.');
		assert.equal(found.cpu, 'untried: it exited with code 3');
	});

	it('include attempts that stop after they started', async () => {
		const report = await tried(({ files, ...command }, signal) => {
			const script = (files?.['escapes.py'] ?? '').replace(/^attempts\[.*$/m, 'raise SystemExit("broken off")');
			return sandbox.run({ ...command, files: { ...files, 'escapes.py': script } }, signal);
		});
		assert.deepEqual(count(report), [0, 0, 0, only.length]);
		assert.equal(outcomes(report).wall, 'untried: broken off');
	});
});

describe('attempts without a sandbox', () => {
	it('escape, so an escape would be detected', { skip: process.platform !== 'linux' }, async () => {
		const only = [
			'tcp-loopback',
			'read-home',
			'read-workspace',
			'read-tmp',
			'see-processes',
			'kill-outside',
			'outlive',
		];
		const report = await checkIsolation(await unsafeSandbox(), { workspace, only });
		const found = outcomes(report);
		for (const id of only) assert.match(found[id] ?? 'not tested', /^escaped/, id);
		assert.equal(report.failed, only.length);
	});

	it('are skipped if they would modify the machine', async () => {
		const report = await checkIsolation(await unsafeSandbox(), {
			workspace,
			only: ['mount', 'write-system', 'fork-bomb'],
		});
		assert.deepEqual(new Set(report.attempts.map(({ outcome }) => outcome)), new Set(['skipped']));
	});

	it('can be stopped, and then fail with "cancelled"', async () => {
		const abort = new AbortController();
		const checking = checkIsolation(await unsafeSandbox(), {
			workspace,
			only: ['wall'],
			signal: abort.signal,
		});
		setTimeout(() => abort.abort(), 100);
		await assert.rejects(checking, { reason: 'cancelled' });
		assert.deepEqual(await readdir(workspace), []);
	});
});
