/** Tests two MCP servers at the same time: one per editor window, and two with the same index. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { editorVariable } from '../../../src/protocol/editorRequest.ts';
import { mcpEnvironment } from '../../support/mcpFolder.ts';
import { builtProgram } from '../../support/programs.ts';
import { writeRun } from '../webview/rollouts/rolloutsFixture.ts';

test('two servers on one project each show data in their own window, and both answer queries', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'two-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	await writeRun(join(folder, 'runs/sums'), [1, 2], { groups: 2, size: 4 });
	const windows = ['a', 'b'].map((name) => join(folder, 'windows', name));
	const clients = await Promise.all(
		windows.map(async (window) => {
			await mkdir(window, { recursive: true });
			const client = new Client({ name: 'test', version: '1' });
			await client.connect(
				new StdioClientTransport({
					command: process.execPath,
					args: [builtProgram('dist/cli.js'), 'mcp', '--folder', join(folder, 'runs')],
					env: { ...mcpEnvironment(folder), [editorVariable]: window },
				}),
			);
			context.after(() => client.close());
			return client;
		}),
	);
	const call = async (client: Client | undefined, name: string, args: Record<string, unknown>) => {
		const { structuredContent, isError, content } = (await client?.callTool({ name, arguments: args })) ?? {};
		assert.ok(!isError, JSON.stringify(content));
		return structuredContent as { readonly items: unknown };
	};

	/** Answers the next request of a window as the editor does. @returns its address */
	const shown = async (window: string) => {
		for (;;) {
			const name = (await readdir(window)).find((one) => one.endsWith('.request.json'));
			if (name !== undefined) {
				const { address } = JSON.parse(await readFile(join(window, name), 'utf8')) as { address: string };
				await writeFile(join(window, name.replace('.request.', '.answer.')), '{"failure":null}');
				return address;
			}
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
	};
	const addresses = [1, 2].map((step) => `rl://sums/step/${step}`);
	const asked = addresses.map((address, i) => call(clients[i], 'show_in_editor', { address }));
	assert.deepEqual(await Promise.all(windows.map(shown)), addresses);
	await Promise.all(asked);

	// Only one of them can write the saved index. The other one has its own index.
	const count = { sql: "select count(*) from rollouts where run like '%sums'", runs: ['sums'] };
	const answers = await Promise.all(clients.map((client) => call(client, 'query', count)));
	assert.deepEqual(
		answers.map(({ items }) => items),
		[[[16]], [[16]]],
	);
	// The saved index remains usable when the first server has ended.
	await clients[0]?.close();
	assert.deepEqual((await call(clients[1], 'query', count)).items, [[16]]);
});
