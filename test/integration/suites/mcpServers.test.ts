import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { activated, until, workspaceFolder } from '../support/laboratory.ts';

suite('MCP server in the editor', () => {
	test('is offered for the open folders, and its program responds', async () => {
		const api = await activated();
		const servers = await until('the provider is registered', () => api.mcpServers ?? undefined);
		const [server, ...others] = servers.provideMcpServerDefinitions();
		assert.ok(server);
		assert.deepEqual(others, []);
		assert.deepEqual(server.args.slice(1), ['mcp', '--folder', workspaceFolder()]);
		const env = { ...process.env, ...(server.env as Record<string, string>) };
		const run = promisify(execFile)(server.command, server.args, { env, timeout: 60_000 });
		const initialize = {
			jsonrpc: '2.0',
			id: 1,
			method: 'initialize',
			params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
		};
		const { stdin, stdout } = run.child;
		let answered = '';
		stdout?.on('data', (chunk) => {
			answered += chunk;
		});
		stdin?.write(`${JSON.stringify(initialize)}\n`);
		await until('it answers', () => answered.includes('\n'));
		assert.equal(JSON.parse(answered).result.serverInfo.name, 'reasoning-lab');
		stdin?.end();
		await run;
	});
});
