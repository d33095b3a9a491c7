// @reaches extension rewardHost search rolloutIndex
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandIds } from '../../src/extension/ids.ts';
import { trustedCommands } from '../../src/extension/trustedCommands.ts';
import { sweepCommands } from '../e2e/commandSweep.ts';
import { HostDriver } from '../e2e/hostDriver.ts';
import { HostileWorkspace } from '../e2e/hostileWorkspace.ts';
import { Laboratory } from '../e2e/laboratory.ts';
import { skip } from '../support/chromium.ts';

/*
 * Runs every command in Restricted Mode with every argument that a menu, a link or another extension could pass it from
 * a hostile workspace. `test/e2e/restricted.test.ts` calls each command once.
 */

test('no command runs anything from an untrusted workspace, whatever its arguments', {
	skip,
	timeout: 3_600_000,
}, async (t) => {
	const driver = new HostDriver();
	t.after(() => driver.dispose());
	const lab = await Laboratory.open(t, 'restricted-all', { restricted: true, extensions: [driver.folder] });
	const hostile = await HostileWorkspace.write(lab.workspace, join(lab.server.home, 'started.txt'));
	t.after(() => hostile.stop());
	const workbench = await lab.workbench();
	await workbench.openSideBar();
	await workbench.run(/^stopped/).waitFor();
	const { policy } = hostile;
	const file = (name: string) => ({ file: hostile.path(name) });
	const comparison = {
		spec: {
			...{ name: 'x', policy, problems: { from: 'file', path: hostile.path('data/train.jsonl') } },
			strategies: [{ strategy: 'best-of-n', params: { n: 2 } }],
		},
		folder: hostile.path('comparisons/begun'),
	};
	const given: Record<string, readonly unknown[]> = {
		recipe: [file('own.recipe.json')],
		'PyTorch engine recipe': [file('torch.recipe.json')],
		'TypeScript reward file': [file('rewards/hostile.reward.ts'), 'hostile'],
		'Python reward file': [file('rewards/snake.reward.py'), 'snake'],
		dataset: [file('data/train.jsonl'), 0],
		'stopped run': [hostile.path('runs/stopped'), 40],
		pipeline: [hostile.path('runs/story')],
		'search log': [hostile.path('searches/hostile.jsonl'), { simulations: 4 }],
		policy: [policy],
		'policy and a problem': [{ policy, strategy: 'mcts', problem: { prompt: '2+3', answer: '5', row: {} } }],
		'script as a policy': [{ kind: 'scripted', file: hostile.path('played.script.json') }],
		'unfinished comparison': [{ folder: hostile.path('comparisons/unfinished') }],
		'new comparison': [comparison],
	};
	const left: string[] = [];
	for (const [name, values] of Object.entries(given)) {
		await t.test(name, async () => {
			const swept = await sweepCommands(driver, workbench, {
				commands: Object.values(commandIds),
				arguments: { [name]: values },
				milliseconds: 5000,
			});
			for (const { command, notices, pending } of swept) {
				if (pending) left.push(`${command} (${name})`);
				if (!trustedCommands.has(command as never)) continue;
				assert.match(notices.join(), /not trusted/, command);
			}
			hostile.untouched(`after ${name}`);
			await driver.run((vscode) => vscode.commands.executeCommand('workbench.action.closeAllEditors'));
		});
	}
	t.diagnostic(`still running after 5 s: ${left.join(', ') || 'none'}`);
});
