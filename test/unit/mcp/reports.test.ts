/** Tests reports on runs outside the server's folders: where they are stored, their address, and the notice for the editor. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAddress } from '../../../src/core/address/dataAddress.ts';
import { openLink } from '../../../src/core/address/openLink.ts';
import { addressFacts } from '../../../src/mcp/citations/addressFacts.ts';
import { Runs } from '../../../src/mcp/runs.ts';
import { Searches } from '../../../src/mcp/searches.ts';
import { writeReportTool } from '../../../src/mcp/tools/reportTools.ts';
import { RunRegistry } from '../../../src/runs/runRegistry.ts';
import { reportNames } from '../../../src/runs/runReports.ts';
import { readWrittenReport } from '../../../src/runs/writtenReports.ts';
import { root } from '../../scripts/paths.ts';
import { writeRun } from '../webview/rollouts/rolloutsFixture.ts';

test('a report outside the project has an address, and the editor is notified', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'rl-reports-'));
	const home = join(folder, 'home');
	const earlier = process.env.REASONING_LAB_HOME;
	process.env.REASONING_LAB_HOME = home;
	t.after(async () => {
		if (earlier === undefined) delete process.env.REASONING_LAB_HOME;
		else process.env.REASONING_LAB_HOME = earlier;
		await rm(folder, { recursive: true, force: true });
	});
	const project = join(folder, 'project');
	await mkdir(join(project, 'runs'), { recursive: true });
	await writeRun(join(project, 'runs/inside'), [1, 2], { groups: 1, size: 2 });
	await writeRun(join(folder, 'elsewhere/outside'), [1, 2], { groups: 1, size: 2 });
	await cp(join(root, 'test/fixtures/trl-run'), join(folder, 'elsewhere/trl'), { recursive: true });
	const registry = new RunRegistry(home);
	await registry.add(join(folder, 'elsewhere/outside'));
	await registry.add(join(folder, 'elsewhere/trl'), 'trl');
	const runs = new Runs([project], registry);
	t.after(() => runs.dispose());
	const context = { runs, searches: new Searches(runs), signal: new AbortController().signal };
	const write = async (run: string) => {
		const text = `See [the rewards](${openLink('vscode', `rl://${run}/metric/reward`)}).`;
		const input = { run, name: 'why', text, replace: false };
		return (await writeReportTool.run(input as never, context as never)) as { path: string; address: string };
	};
	const notices = join(home, 'reports');
	await mkdir(notices, { recursive: true });
	const old = `${'0'.repeat(32)}.json`;
	for (const name of [old, 'other']) {
		await writeFile(join(notices, name), '');
		await utimes(join(notices, name), 1, 1);
	}

	assert.equal((await write('inside')).path, join(project, 'runs/inside/annotations/reports/why.md'));
	assert.deepEqual(await readdir(notices), [old, 'other'], 'a report in the project needs no notice');
	for (const [i, run] of ['outside', 'trl'].entries()) {
		const { path, address } = await write(run);
		assert.equal(address, `rl://${run}/report/why`);
		assert.deepEqual(await addressFacts(parseAddress(address), context), []);
		assert.equal(await readFile(path, 'utf8'), `See [the rewards](rl://${run}/metric/reward).\n`);
		assert.ok(
			!(run === 'trl' && path.startsWith(join(folder, 'elsewhere'))),
			'nothing is written to runs of other trainers',
		);
		const names = (await readdir(notices)).filter((name) => name !== 'other');
		assert.ok(!names.includes(old));
		assert.equal(names.length, i + 1);
		const found = await Promise.all(names.map((name) => readWrittenReport(name, home)));
		assert.deepEqual(
			found.find((one) => one.path === path),
			{ format: 1, run: join(folder, 'elsewhere', run), path, folders: [project] },
		);
	}
	assert.ok((await readdir(notices)).includes('other'), 'other files are left alone');
	for (const run of ['project/runs/inside', 'elsewhere/outside', 'elsewhere/trl']) {
		assert.deepEqual(await reportNames(join(folder, run)), ['why']);
	}
	await assert.rejects(addressFacts(parseAddress('rl://trl/report/other'), context), { reason: 'missing' });
});
