import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { findSignatures } from '../../src/extension/rewards/rewardSignatures.ts';
import { bodyLine } from '../../src/extension/rewardTests/bodyLine.ts';
import { outcomeWords, pythonLaunch, writeDebugLaunch } from '../../src/rewards/debugLaunch.ts';
import { rewardHostFolder } from '../../src/rewards/rewardHostFolder.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { DapClient } from '../support/dapClient.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

describe('a Python reward under debugpy', { skip }, () => {
	const file = join(root, 'test/fixtures/rewards/export.reward.py');
	let client: DapClient | undefined;
	after(() => client?.dispose());

	test('stops in the reward with the exact row and finishes with its value', { timeout: 60_000 }, async () => {
		const answer = '47';
		const row = { prompt: '40+7=', completion: 'it is 42', answer, row: { answer }, truncated: false };
		const context = { tags: { think: null, answer: null }, task: null, folder: root };
		const batch = await writeDebugLaunch({ file, reward: 'digits', row, context });
		try {
			const text = readFileSync(file, 'utf8');
			const signature = findSignatures(text, file).find(({ name }) => name === 'digits');
			assert.ok(signature);
			const line = bodyLine(text, signature, 'python') + 1;

			const dap = new DapClient(python, ['-m', 'debugpy.adapter']);
			client = dap;
			await dap.request('initialize', { adapterID: 'debugpy', pathFormat: 'path', linesStartAt1: true });
			const launched = dap.request('launch', pythonLaunch(python, rewardHostFolder(), batch));
			await dap.event('initialized');
			const { breakpoints } = await dap.request('setBreakpoints', {
				source: { path: file },
				breakpoints: [{ line }],
			});
			assert.equal(breakpoints.length, 1);
			await dap.request('configurationDone');
			await launched;

			const stopped = await dap.event('stopped');
			assert.equal(stopped.reason, 'breakpoint');
			const { stackFrames } = await dap.request('stackTrace', { threadId: stopped.threadId });
			assert.equal(stackFrames[0].name, 'digits');
			assert.equal(stackFrames[0].source.path, file);
			const seen = async (expression: string) =>
				(await dap.request('evaluate', { expression, frameId: stackFrames[0].id, context: 'watch' })).result;
			assert.equal(await seen('completions'), "['it is 42']");
			assert.equal(await seen('answer'), "['47']");
			await dap.request('continue', { threadId: stopped.threadId });
			await dap.event('terminated');

			const outcome = await batch.outcome();
			assert.ok(outcome);
			assert.equal(outcomeWords(outcome, 'case 1'), 'case 1: 0.5');
		} finally {
			await batch.remove();
		}
	});
});
