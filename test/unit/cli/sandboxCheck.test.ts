import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { type IsolationReport, isolationLineSchema } from '../../../src/protocol/isolation.ts';
import { escapeAttempts } from '../../../src/rewards/sandbox/isolationCheck/isolationAttempts.ts';
import { builtProgram } from '../../support/programs.ts';
import { testSandbox } from '../rewards/sandboxFixture.ts';

const { skip } = await testSandbox();
const folder = mkdtempSync(join(tmpdir(), 'sandbox-cli-'));
/** Separate home folder inside the real one, so that concurrent checks do not see each other's files. */
const home = mkdtempSync(join(homedir(), '.sandbox-home-'));
chmodSync(home, 0o755);
after(() => {
	for (const made of [folder, home]) rmSync(made, { recursive: true, force: true });
});

function check(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
	const { REASONING_LAB_SANDBOX: _, ...rest } = process.env;
	const done = spawnSync(process.execPath, [builtProgram('dist/cli.js'), 'sandbox-check', ...args], {
		cwd: folder,
		encoding: 'utf8',
		env: { ...rest, ...environment },
	});
	return { ...done, lines: done.stdout.trim().split('\n') };
}

describe('reasoning-lab sandbox-check', () => {
	describe('in bubblewrap', { skip }, () => {
		let report: IsolationReport;
		before(() => {
			const { status, stdout, lines } = check(['--json'], { HOME: home });
			assert.equal(status, 0, stdout);
			const decoded = lines.map((line) => decodeOrThrow(isolationLineSchema, JSON.parse(line), line));
			assert.deepEqual(
				decoded.map(({ kind }) => kind),
				[...escapeAttempts.map(() => 'attempt'), 'report'],
			);
			const last = decoded.at(-1);
			assert.ok(last?.kind === 'report' && last.report.kind === 'bubblewrap');
			report = last.report;
		});

		for (const { id, tried, expected } of escapeAttempts) {
			it(`${id}: ${tried}: ${expected}`, (test) => {
				const attempt = report.attempts.find((one) => one.id === id);
				assert.ok(attempt, 'it was not tried');
				if (attempt.outcome === 'skipped') test.skip(attempt.evidence);
				else assert.equal(attempt.outcome, 'held', attempt.evidence);
			});
		}

		it('reports what was contained and leaves nothing behind', () => {
			assert.match(report.description, /^bubblewrap: no network/);
			assert.deepEqual([report.failed, report.untried], [0, 0]);
			assert.equal(report.held + report.skipped, escapeAttempts.length);
			assert.deepEqual(readdirSync(folder), []);
			assert.deepEqual(readdirSync(home), []);
		});

		it('stops a fork bomb of 200 processes far below that number', () => {
			const bomb = report.attempts.find(({ id }) => id === 'fork-bomb');
			const max = Math.max(...(bomb?.evidence.match(/\d+/g) ?? ['200']).map(Number));
			assert.ok(max < 200, bomb?.evidence);
		});
	});

	it('prints one attempt per line, and exits with 1 if any attempt escaped', {
		skip: process.platform !== 'linux',
	}, () => {
		const { status, stdout, lines } = check([], { REASONING_LAB_SANDBOX: 'unsafe' });
		assert.equal(status, 1, stdout);
		assert.match(lines[0] ?? '', /^unsafe: a plain process/);
		for (const { id } of escapeAttempts) assert.match(stdout, new RegExp(`^ {2}${id} +(held|skipped|ESCAPED) `, 'm'));
		assert.match(stdout, /^ {2}read-home +ESCAPED /m);
		assert.match(lines.at(-1) ?? '', /^\d+ blocked, [1-9]\d* not blocked/);
	});

	it('rejects an unknown mode and an unavailable one', () => {
		const unknown = check(['--sandbox', 'none', '--json']);
		assert.equal(unknown.status, 2);
		assert.match(unknown.stderr, /Unknown sandbox "none"/);
		const missing = check(['--sandbox', 'container:no/such-image']);
		assert.equal(missing.status, 1);
		assert.match(missing.stderr, /^reasoning-lab: Model-written code is not run without a sandbox: /);
	});
});
