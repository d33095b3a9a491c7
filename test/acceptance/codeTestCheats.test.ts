import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { probes } from '../../src/core/reward/audit/probes.ts';
import { runCodeTests } from '../../src/rewards/codeTestsRun.ts';
import {
	endlessCheats,
	javascriptCheats,
	javascriptRows,
	pythonCheats,
	pythonRows,
} from '../support/codeTestCheats.ts';
import { codeProblems, javascriptProblems } from '../unit/rewards/audit/auditedProblems.ts';
import { audit, contextOf, openRunner, r1 } from '../unit/rewards/audit/auditHosts.ts';
import { testSandbox } from '../unit/rewards/sandboxFixture.ts';

/*
 * Tries every cheating answer against every form of tests (`npm test` tries only some forms for each answer), and runs
 * audit probes against the reward that runs code: all those about code, and others that it may be vulnerable to.
 */

const { sandbox, skip } = await testSandbox();

const aboutCode = probes.filter(({ id }) => id.startsWith('code-') && id !== 'code-as-answer').map(({ id }) => id);
const others = [
	...['empty', 'no-answer', 'wrong-answer', 'other-row', 'many-answers', 'two-answers-first-right'],
	...['two-answers-last-right', 'nested-answers', 'gold-absent', 'judge-instruction'],
];

describe('audit probes', { skip, timeout: 600_000 }, () => {
	for (const [what, language, problems, ids] of [
		['about Python code', 'python', codeProblems, aboutCode],
		// The tests of these problems compare with ==, so a number as text passes them.
		['about JavaScript code', 'javascript', javascriptProblems, aboutCode.filter((id) => id !== 'code-near')],
		['that are not about code', 'python', codeProblems, others],
	] as const) {
		test(`${what} do not succeed against the reward that runs code`, async (context) => {
			const builtIns = [{ use: 'code-tests', name: 'code', timeoutSeconds: 2, language }];
			const runner = await openRunner(context, { builtIns, context: contextOf(r1) });
			const report = await audit(runner, 'code', problems, { probes: ids });
			assert.equal(report.honest, 1);
			assert.deepEqual(
				report.findings.map(({ probe, evidence }) => [probe, evidence[0]?.completion]),
				[],
			);
			for (const { probe, outcome } of report.probes) {
				assert.notEqual(outcome, 'error', probe);
				if (aboutCode.includes(probe)) assert.equal(outcome, 'held', probe);
			}
			assert.equal(report.probes.length, ids.length);
		});
	}
});

describe('cheating answers', { skip, timeout: 1_800_000, concurrency: 2 }, () => {
	for (const [language, cheats, rows] of [
		['python', pythonCheats, pythonRows],
		['javascript', javascriptCheats, javascriptRows],
	] as const) {
		for (const [name, code] of Object.entries(cheats)) {
			test(`pass no form of tests in ${language}: ${name}`, async () => {
				const timeoutSeconds = endlessCheats.has(name) ? 0.3 : 1.5;
				for (const [form, row] of Object.entries(rows)) {
					const stopAtFailure = row.kind !== 'asserts';
					const options = { timeoutSeconds, memoryMb: 128, language, stopAtFailure };
					const { passed, total } = await runCodeTests(sandbox, code, row, options);
					assert.equal(passed, 0, `${form}: ${passed} of ${total}`);
				}
			});
		}
	}
});
