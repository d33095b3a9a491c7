import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runCodeTests } from '../../src/rewards/codeTestsRun.ts';
import {
	endlessCheats,
	javascriptCheats,
	javascriptRows,
	pythonCheats,
	pythonRows,
} from '../support/codeTestCheats.ts';
import { testSandbox } from '../unit/rewards/sandboxFixture.ts';

/* Every cheating answer against every form of tests; `npm test` tries two forms for each answer. */

const { sandbox, skip } = await testSandbox();

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
