/**
 * A scripted agent solves five tasks only through the MCP server. Two seeds plant the problems in different locations.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { findCitations } from '../../../src/core/address/citations.ts';
import { writeEvaluations, writeHackedRun, writeJudgedRun, writePlantedRun } from '../../support/agent/agentRuns.ts';
import { ScriptedAgent } from '../../support/agent/scriptedAgent.ts';
import { mcpEnvironment } from '../../support/mcpFolder.ts';
import { builtProgram } from '../../support/programs.ts';

test('a scripted agent solves five tasks through the tools alone', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'mcp-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const runs = join(folder, 'runs');
	const begins = [await writeHackedRun(join(runs, 'hack-1'), 1), await writeHackedRun(join(runs, 'hack-2'), 2)];
	assert.notEqual(begins[0], begins[1]);
	await writePlantedRun(join(runs, 'kl'), 'learning-rate-high');
	const disagreements = await writeJudgedRun(join(runs, 'judged'), 'judged', 1);
	// By hand: 2 (1 + 15 + 105) / 2^15, and 2 (1 + 15 + 105 + 455 + 1365 + 3003 + 5005) / 2^15.
	await writeEvaluations(join(runs, 'judged'), [2, 4], { onlyFirst: 2, onlySecond: 13, both: 40, neither: 25 });
	await writeEvaluations(join(runs, 'hack-1'), [2, 4], { onlyFirst: 9, onlySecond: 6, both: 40, neither: 25 });
	const client = new Client({ name: 'agent', version: '1' });
	await client.connect(
		new StdioClientTransport({
			command: process.execPath,
			args: [builtProgram('dist/cli.js'), 'mcp', '--folder', runs, '--allow-actions'],
			env: mcpEnvironment(folder),
		}),
	);
	context.after(() => client.close());
	const agent = new ScriptedAgent(client);

	const hacks = [await agent.findHack('hack-1'), await agent.findHack('hack-2')];
	assert.deepEqual(
		hacks.map(({ step }) => step),
		begins,
	);

	const cause = await agent.findKlCause('kl');
	const recipe = await readFile(join(runs, 'kl/recipe.json'), 'utf8');
	assert.equal(cause.key, 'stages.0.learning_rate');
	assert.match(recipe.split('\n')[cause.line - 1] ?? '', /"learning_rate": 0\.003/);

	const disagreement = await agent.findDisagreements('judged');
	assert.ok(disagreements.length > 50);
	assert.deepEqual(disagreement.addresses, disagreements);

	const better = await agent.pickCheckpoint('judged');
	assert.deepEqual([better.step, better.p.toFixed(10)], [4, (242 / 32_768).toFixed(10)]);
	const undecided = await agent.pickCheckpoint('hack-1');
	assert.deepEqual([undecided.step, undecided.p.toFixed(6)], [null, (19_898 / 32_768).toFixed(6)]);

	const conclusions = [...hacks, cause, disagreement, better, undecided];
	const report = await agent.writeReport('judged', 'findings', conclusions);
	assert.ok(findCitations(report).length >= 10);
	for (const { text } of conclusions) assert.ok(report.includes(text));

	// A report with a number that is not in the data, or without citations, is not written.
	const wrong = report.replace(/\[\d+\.\d%\]/, '[99.9%]');
	for (const [text, why] of [
		[wrong, /99\.9% does not match the data/],
		[report.replace('p = 0.0074', 'p = 0.0075'), /0\.0075 does not match the data: .*\bp 0\.0073/],
		[`${report}See rl://judged/step/99.`, /1 of \d+ citations did not pass.*step 99/],
		['Everything is fine.', /does not cite any data/],
	] as const) {
		await assert.rejects(agent.call('write_report', { run: 'judged', name: 'wrong', text }), why);
	}
	await assert.rejects(readFile(join(runs, 'judged/annotations/reports/wrong.md')), /ENOENT/);
	await assert.rejects(agent.call('write_report', { run: 'judged', name: 'findings', text: report }), /"exists"/);
	await agent.call('write_report', { run: 'judged', name: 'findings', text: report, replace: true });
	for (const name of ['../x', 'a/b', '.x', '']) {
		await assert.rejects(agent.call('write_report', { run: 'judged', name, text: report }), /name/);
	}
});
