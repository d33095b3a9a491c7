import { resolve } from 'node:path';
import { path, repeatable } from './options.ts';
import { defineVerb } from './verb.ts';
import { packageVersion } from './versionVerb.ts';

export const mcpVerb = defineVerb({
	name: 'mcp',
	group: 'Runs',
	summary: 'Serve runs to agents over the Model Context Protocol on stdin and stdout (docs/mcp.md).',
	options: {
		folder: repeatable(path('FOLDER', 'Folder of the runs to serve (default: the current folder).')),
	},
	async run({ values }) {
		const [{ serveStdio }, { createServer }, { Runs }, version] = await Promise.all([
			import('@modelcontextprotocol/server/stdio'),
			import('../mcp/createServer.ts'),
			import('../mcp/runs.ts'),
			packageVersion(),
		]);
		const runs = new Runs((values.folder ?? ['.']).map((folder) => resolve(folder)));
		const closed = new Promise<void>((close) => process.stdin.once('close', close).once('end', close));
		const handle = serveStdio(() => createServer(runs, version));
		await closed;
		await handle.close();
		await runs.dispose();
		return 0;
	},
});
