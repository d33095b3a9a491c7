import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import type { IsolationReport } from '../../../../../src/protocol/isolation.ts';
import { checkIsolation } from '../../../../../src/rewards/sandbox/isolationCheck/checkIsolation.ts';
import { escapeAttempts } from '../../../../../src/rewards/sandbox/isolationCheck/isolationAttempts.ts';
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

for (const [name, made, why] of [
	['bubblewrap', sandbox, skip],
	['bubblewrap as root', asRoot.sandbox, isRoot ? asRoot.skip : 'only root can be root'],
] as const) {
	describe(`${name}: escape attempts`, { skip: why }, () => {
		let report: IsolationReport;
		before(async () => {
			report = await checkIsolation(made, { workspace });
		});

		for (const { id, tried, expected } of escapeAttempts) {
			it(`${id}: ${tried}: ${expected}`, (test) => {
				const attempt = report.attempts.find((one) => one.id === id);
				assert.ok(attempt, 'it was not tried');
				if (attempt.outcome === 'skipped') test.skip(attempt.evidence);
				else assert.equal(attempt.outcome, 'held', attempt.evidence);
			});
		}

		it('reports what was contained and leaves nothing behind', async () => {
			assert.deepEqual([report.failed, report.untried], [0, 0]);
			assert.equal(report.held + report.skipped, escapeAttempts.length);
			assert.deepEqual(await readdir(workspace), []);
			assert.deepEqual(await readdir(home), []);
		});

		it('a fork bomb of 200 processes stays far below that number', () => {
			const bomb = report.attempts.find(({ id }) => id === 'fork-bomb');
			const max = Math.max(...(bomb?.evidence.match(/\d+/g) ?? ['200']).map(Number));
			assert.ok(max < 200, bomb?.evidence);
		});
	});
}

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
		const report = await checkIsolation(await unsafeSandbox(), { workspace });
		const found = outcomes(report);
		for (const id of [
			'tcp-loopback',
			'read-home',
			'read-workspace',
			'read-tmp',
			'see-processes',
			'kill-outside',
			'outlive',
		]) {
			assert.match(found[id] ?? 'not tested', /^escaped/, id);
		}
		assert.ok(report.failed >= 7);
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
