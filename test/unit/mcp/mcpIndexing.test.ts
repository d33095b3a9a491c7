/** Tests calls to the MCP server while it indexes a run: progress, cancellation, and calls that need no index. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { progressReporter } from '../../../src/mcp/progress.ts';
import { makeRolloutFolder } from '../../bench/rolloutFolder.ts';
import { mcpEnvironment } from '../../support/mcpFolder.ts';
import { builtProgram } from '../../support/programs.ts';

const rollouts = 20_000;

/** Cells of a query's rows, without the marks of quoted text. */
const cells = ({ items }: Record<string, unknown>) =>
	(items as ({ quoted_text: string } | number)[][]).map((row) =>
		row.map((cell) => (typeof cell === 'number' ? cell : cell.quoted_text)),
	);

test('a first index reports progress, can be canceled and does not hold up other calls', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'mcp-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	await makeRolloutFolder(join(folder, 'runs/large'), { rollouts, groups: 50, bytes: 900 });
	await makeRolloutFolder(join(folder, 'runs/small'), { rollouts: 40, groups: 5, bytes: 900 });
	await mkdir(join(folder, 'runs/broken'));
	await writeFile(join(folder, 'runs/broken/run.json'), '{');
	const client = new Client({ name: 'test', version: '1' });
	await client.connect(
		new StdioClientTransport({
			command: process.execPath,
			args: [builtProgram('dist/cli.js'), 'mcp', '--folder', join(folder, 'runs')],
			env: mcpEnvironment(folder),
		}),
	);
	context.after(() => client.close());
	const call = async (name: string, args: Record<string, unknown>, options: object = {}) => {
		const { structuredContent, isError, content } = await client.callTool({ name, arguments: args }, options);
		assert.ok(!isError, JSON.stringify(content));
		return structuredContent as Record<string, unknown>;
	};
	const counts = 'select run, rollouts from runs order by run';
	// Text search does not need the index.
	await call('search_text', { pattern: 'induction', runs: ['small'] });
	assert.deepEqual(cells(await call('query', { sql: counts, runs: ['small'] })), [['small', 40]]);

	const cancel = new AbortController();
	const progress: { progress: number; total?: number; message?: string }[] = [];
	let begin: () => void = () => undefined;
	const begun = new Promise<void>((resolve) => {
		begin = resolve;
	});
	const indexing = call(
		'query',
		{ sql: counts, runs: ['large'] },
		{
			signal: cancel.signal,
			onprogress: (news: (typeof progress)[number]) => {
				progress.push(news);
				begin();
			},
		},
	);
	const rejected = assert.rejects(indexing);
	await begun;
	const { items } = await call('search_text', { pattern: 'induction', runs: ['small'], limit: 3 });
	assert.equal((items as unknown[]).length, 3);
	// A run that is already indexed is not queued behind the other one.
	await call('query', { sql: counts, runs: ['small'] });
	cancel.abort();
	await rejected;
	const [first] = progress;
	assert.deepEqual([first?.progress, first?.total, first?.message], [0, 1, 'Indexing 1 of 1 run (0%)']);
	const partial = await call('query', { sql: counts, runs: ['small'] });
	const [large = ['', 0]] = cells(partial) as [string, number][];
	assert.ok(large[0].endsWith('large') && large[1] < rollouts, JSON.stringify(partial.items));
	if (large[1] > 0) assert.deepEqual(partial.partially_indexed_runs, ['large']);

	// The next call continues, and a run that cannot be read is named without failing the others.
	const all = await call('query', { sql: counts });
	assert.deepEqual(cells(all), [
		['large', rollouts],
		['small', 40],
	]);
	assert.deepEqual(
		(all.unread_runs as { run: string }[]).map(({ run }) => run),
		['broken'],
	);
	const named = await client.callTool({ name: 'query', arguments: { sql: counts, runs: ['broken'] } });
	assert.equal(named.isError, true);
});

test('progress increases and is not sent too often', () => {
	const sent: number[] = [];
	let now = 0;
	const report = progressReporter(
		async ({ progress }) => {
			sent.push(progress);
		},
		() => now,
	);
	for (const [at, done] of [
		[0, 0],
		[10, 1],
		[300, 2],
		[600, 2],
		[900, 1],
		[1200, 3],
	] as const) {
		now = at;
		report(done, 5, 'x');
	}
	assert.deepEqual(sent, [0, 2, 3]);
});
