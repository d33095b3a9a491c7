// @reaches rewardHost rewardPython
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import {
	episodeOutcomeText,
	turnCondition,
	writeEpisodeDebugLaunch,
} from '../../../src/episodes/episodeDebugLaunch.ts';
import { node, root } from '../../scripts/paths.ts';
import { rewardFolder } from '../rewards/hostFixtures.ts';
import { guessing } from './guessingEnvironment.ts';
import { guessingScript } from './guessingScript.ts';

const guess = (value: unknown) => [{ name: 'guess', arguments: { value } }];

/** Plays an episode in the program that the debugger runs, without a debugger. */
async function played(ending: 'py' | 'ts', text: string, calls: ReturnType<typeof guess>[], row = { number: 7 }) {
	const file = join(await rewardFolder(), `guess.env.${ending}`);
	await writeFile(file, text);
	const launch = await writeEpisodeDebugLaunch({ file, row, seed: 1, calls });
	const host = join(root, 'src/rewards', ending === 'py' ? 'python/reward_host.py' : 'host/main.ts');
	const program = ending === 'py' ? ['python3', host] : [node, '--disable-warning=ExperimentalWarning', host];
	try {
		await promisify(execFile)(program[0] as string, [...program.slice(1), ...launch.args]);
		const outcome = await launch.outcome();
		assert.ok(outcome);
		return outcome;
	} finally {
		await launch.remove();
	}
}

describe('the program that plays an episode for a debugger', () => {
	for (const [ending, text] of [
		['py', guessing],
		['ts', guessingScript],
	] as const) {
		it(`plays the turns, and reports which one it plays: ${ending}`, async () => {
			const outcome = await played(ending, text, [guess(3), guess(9)]);
			assert.equal(episodeOutcomeText(outcome), 'Turn 2: lower');
			assert.match(episodeOutcomeText(await played(ending, text, [])), /^Reset: .*Guess my number/);
			const broken = await played(ending, text.replace('def reset', 'def reset((').replace('reset({', 'reset(({'), []);
			assert.throws(() => episodeOutcomeText(broken), /Syntax|expected|Unexpected|Expected|invalid/i);
		});
	}

	it('limits a breakpoint to a turn', async () => {
		const condition = turnCondition('a.env.py', 2);
		const text = guessing.replace('self.tries += 1', `self.tries += 1 if ${condition} else 100`);
		const outcome = await played('py', text.replace('"correct" if', 'str(self.tries) if True else "" if'), [
			guess(1),
			guess(2),
		]);
		assert.equal(episodeOutcomeText(outcome), 'Turn 2: 101');
		assert.equal(turnCondition('a.env.ts', 2), 'process.env.REASONING_LAB_TURN === "2"');
	});
});
