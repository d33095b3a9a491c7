import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { isolationLineSchema } from '../../../src/protocol/isolation.ts';
import { escapeAttempts } from '../../../src/rewards/sandbox/isolationCheck/isolationAttempts.ts';
import { builtProgram } from '../../support/programs.ts';
import { testSandbox } from '../rewards/sandboxFixture.ts';

const { skip } = await testSandbox();
const folder = mkdtempSync(join(tmpdir(), 'sandbox-cli-'));
after(() => rmSync(folder, { recursive: true, force: true }));

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
	it('prints one attempt per line and what held', { skip }, () => {
		const { status, stdout, lines } = check([]);
		assert.equal(status, 0, stdout);
		assert.match(lines[0] ?? '', /^bubblewrap: no network/);
		for (const { id } of escapeAttempts) assert.match(stdout, new RegExp(`^ {2}${id} +(held|skipped) `, 'm'));
		assert.match(lines.at(-1) ?? '', /^\d+ blocked, 0 not blocked/);
		assert.deepEqual(readdirSync(folder), []);
	});

	it('exits with 1 if something did not hold, and reports it in JSON as well', {
		skip: process.platform !== 'linux',
	}, () => {
		const { status, lines } = check(['--json'], { REASONING_LAB_SANDBOX: 'unsafe' });
		assert.equal(status, 1);
		const decoded = lines.map((line) => decodeOrThrow(isolationLineSchema, JSON.parse(line), line));
		assert.deepEqual(
			decoded.map(({ kind }) => kind),
			[...escapeAttempts.map(() => 'attempt'), 'report'],
		);
		const last = decoded.at(-1);
		assert.ok(last?.kind === 'report' && last.report.kind === 'unsafe' && last.report.failed > 0);
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
