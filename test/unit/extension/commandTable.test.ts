import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandIds } from '../../../src/extension/ids.ts';
import { commands, workspace } from './vscodeStandIn.ts';

const { CommandTable } = await import('../../../src/extension/commandTable.ts');

const { openDashboard, openRollouts, startRun } = commandIds;
const failures: unknown[] = [];
const tableOf = () => new CommandTable({ failure: (error: unknown) => failures.push(error) } as never);

test('a handler is loaded when its command first runs, and gets the arguments', async (t) => {
	const table = tableOf();
	t.after(() => table.dispose());
	let loads = 0;
	table.addLater([openDashboard, openRollouts], async () => {
		loads++;
		return { [openDashboard]: (...args: unknown[]) => args, [openRollouts]: () => 'rollouts' };
	});
	assert.equal(loads, 0);
	const [first, second] = await Promise.all([
		commands.executeCommand(openDashboard, '/run', 3),
		commands.executeCommand(openRollouts),
	]);
	assert.deepEqual([first, second], [['/run', 3], 'rollouts']);
	assert.deepEqual(failures, []);
});

test('a failed load is reported like any failure, and the next use retries it', async (t) => {
	const table = tableOf();
	t.after(() => table.dispose());
	let loads = 0;
	table.addLater([openDashboard], async () => {
		if (++loads === 1) throw new Error('the file is gone');
		return { [openDashboard]: () => 'shown' };
	});
	assert.equal(await commands.executeCommand(openDashboard), undefined);
	assert.match(String(failures.pop()), /the file is gone/);
	assert.equal(await commands.executeCommand(openDashboard), 'shown');
});

test('in an untrusted workspace, the code of a command that needs trust is not loaded', async (t) => {
	const table = tableOf();
	t.after(() => table.dispose());
	table.addLater([startRun], () => assert.fail('the code is loaded although the workspace is not trusted'));
	Object.assign(workspace, { isTrusted: false });
	assert.equal(await commands.executeCommand(startRun), undefined);
	assert.equal((failures.pop() as { reason?: string }).reason, 'denied');
});
