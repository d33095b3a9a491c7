/**
 * Kills the extension host while a run it started is training: `npm run acceptance -- extensionHost [--count N] [--seed
 * N]`. The engine must be unaffected, processes that the editor starts for itself must exit with it, and the next
 * window must show the run.
 */
// @reaches engine extension dashboard
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { inOrder, isAlive, Laboratory, recordOf, stepsOf, waitUntil } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { demoRecipe, smallRecipe } from '../e2e/smallRecipe.ts';
import { skip } from '../support/chromium.ts';
import { readOutcome } from '../unit/engines/embedded/runOutcome.ts';

const { CHECK_COUNT: count = '5', CHECK_SEED: seed = '1' } = process.env;
const steps = 300;
const recipe = smallRecipe(steps);

/** Returns the running processes that have this socket folder in their environment, with their command lines. */
function processesOf(sockets: string): { readonly pid: number; readonly command: string }[] {
	const found: { pid: number; command: string }[] = [];
	for (const name of readdirSync('/proc')) {
		if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
		try {
			if (!readFileSync(`/proc/${name}/environ`, 'utf8').includes(`XDG_RUNTIME_DIR=${sockets}\0`)) continue;
			found.push({ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ') });
		} catch {
			// It has exited, or belongs to another user.
		}
	}
	return found;
}

test(`runs survive ${count} kills of the extension host`, {
	skip: skip || (process.platform === 'linux' ? false : 'needs /proc'),
}, async (t) => {
	const lab = await Laboratory.open(t, 'extension-host');
	const sockets = lab.server.environment.XDG_RUNTIME_DIR;
	assert.ok(sockets, 'the workbench has its own socket folder');
	const step = inOrder(t);
	const hosts = () => processesOf(sockets).filter(({ command }) => command.includes('--type=extensionHost'));
	const whole = lab.write('whole.recipe.json', { ...recipe, name: 'whole' });
	const { code, stderr } = await lab.cli('run', whole);
	assert.equal(code, 0, stderr);
	const undisturbed = await readOutcome(lab.runs()[0] as string);
	lab.write(demoRecipe, recipe);

	for (let number = 1; number <= Number(count); number++) {
		await step(`kill ${number}`, async () => {
			const random = Random.of('extension host', Number(seed), number);
			const workbench = await lab.workbench();
			await workbench.command('Reasoning Lab: Start Demo Run');
			await waitUntil(() => lab.runs().length === number + 1, 'the run exists');
			const run = lab.runs().at(-1) as string;
			const at = random.int(Math.round(steps * 0.7));
			await waitUntil(() => stepsOf(run).length > at, `the run has made more than ${at} steps`);
			const engine = recordOf(run).pid;
			const killed = hosts();
			assert.ok(killed.length > 0, 'an extension host is running');
			for (const { pid } of killed) process.kill(pid, 'SIGKILL');
			assert.ok(isAlive(engine));
			await waitUntil(() => killed.every(({ pid }) => !isAlive(pid)), 'the extension host has exited');
			await workbench.page.close();
			const again = await lab.workbench();
			await again.openSideBar();
			await again.runAction(new RegExp(`^${recordOf(run).name}.*(running|finished)`), /Open Dashboard/);
			await new DashboardPage(await again.app('dashboard')).status(/running|finished/);
			await waitUntil(() => recordOf(run).status === 'finished', 'the run finishes');
			const { checkpoints: _, ...outcome } = await readOutcome(run);
			const { checkpoints: __, ...expected } = undisturbed;
			assert.deepEqual(outcome, expected);
			await again.page.close();
			await waitUntil(() => !isAlive(engine), 'the engine exits');
			const left = processesOf(sockets).filter(({ command }) =>
				/rewardHost|reward_host|dist\/(engine|search)/.test(command),
			);
			assert.deepEqual(left, [], 'nothing is left behind');
			console.log(`${number}: killed after ${at} steps, survived`);
		});
	}
});
