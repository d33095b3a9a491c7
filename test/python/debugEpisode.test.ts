import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { episodeOutcomeText, turnCondition, writeEpisodeDebugLaunch } from '../../src/episodes/episodeDebugLaunch.ts';
import { bodyLine } from '../../src/extension/rewardTests/bodyLine.ts';
import { pythonLaunch } from '../../src/rewards/debugLaunch.ts';
import { rewardHostFolder } from '../../src/rewards/rewardHostFolder.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { DapClient } from '../support/dapClient.ts';
import { guessing } from '../unit/episodes/guessingEnvironment.ts';
import { rewardFolder } from '../unit/rewards/hostFixtures.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

describe('an episode under debugpy', { skip }, () => {
	let client: DapClient | undefined;
	after(() => client?.dispose());

	test('stops in the tool of the selected turn, not in earlier calls to the same tool', {
		timeout: 60_000,
	}, async () => {
		const file = join(await rewardFolder(), 'guess.env.py');
		await writeFile(file, guessing);
		const guess = (value: number) => [{ name: 'guess', arguments: { value } }];
		const calls = [guess(3), guess(5), guess(9)];
		const launch = await writeEpisodeDebugLaunch({ file, row: { number: 7 }, seed: 1, calls });
		try {
			const text = await readFile(file, 'utf8');
			const signature = text.split('\n').findIndex((line) => line.includes('def guess('));
			const line = bodyLine(text, { endLine: signature }, 'python') + 1;
			const dap = new DapClient(python, ['-m', 'debugpy.adapter']);
			client = dap;
			await dap.request('initialize', { adapterID: 'debugpy', pathFormat: 'path', linesStartAt1: true });
			const launched = dap.request('launch', pythonLaunch(python, rewardHostFolder(), launch));
			await dap.event('initialized');
			const { breakpoints } = await dap.request('setBreakpoints', {
				source: { path: file },
				breakpoints: [{ line, condition: turnCondition(file, 3) }],
			});
			assert.equal(breakpoints.length, 1);
			await dap.request('configurationDone');
			await launched;

			const stopped = await dap.event('stopped');
			assert.equal(stopped.reason, 'breakpoint');
			const { stackFrames } = await dap.request('stackTrace', { threadId: stopped.threadId });
			assert.equal(stackFrames[0].name, 'guess');
			assert.equal(stackFrames[0].source.path, file);
			const seen = async (expression: string) =>
				(await dap.request('evaluate', { expression, frameId: stackFrames[0].id, context: 'watch' })).result;
			assert.equal(await seen('value'), '9');
			assert.equal(await seen('self.tries'), '2', 'the earlier turns were played');
			await dap.request('continue', { threadId: stopped.threadId });
			await dap.event('terminated');

			const outcome = await launch.outcome();
			assert.ok(outcome);
			assert.equal(episodeOutcomeText(outcome), 'Turn 3: lower');
		} finally {
			await launch.remove();
		}
	});
});
