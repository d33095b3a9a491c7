import { isAbsolute, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { isScheme } from '../core/address/openLink.ts';
import { growHeapSlowly, keepYoungGenerationSmall } from '../processes/heapGrowth.ts';
import { editorVariable, linkSchemeVariable } from '../protocol/editorRequest.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { flag, group, integer, path, repeatable } from './options.ts';
import { tokenFileOption, tokenOf } from './serverToken.ts';
import { defineVerb } from './verb.ts';
import { packageFacts } from './versionVerb.ts';

const defaultPort = 8421;

export const mcpVerb = defineVerb({
	name: 'mcp',
	group: 'Runs',
	summary: 'Serve runs to agents over the Model Context Protocol, on stdin and stdout or over HTTP (docs/mcp.md).',
	options: {
		folder: repeatable(path('FOLDER', 'Folder with the runs to serve (default: the current folder).')),
		'allow-actions': flag(
			'Also offer tools that run code in reward files, start and stop runs, searches, and evaluations, and write reports. Only for folders that you trust.',
		),
		python: path('PATH', 'Python interpreter for *.reward.py files (default: REASONING_LAB_PYTHON, or python3).'),
		...group('Streamable HTTP', {
			http: flag('Serve HTTP on 127.0.0.1 instead of stdin and stdout. Clients must send the token.'),
			port: integer('N', `Port on 127.0.0.1 (default: ${defaultPort}; 0 selects any free port).`),
			...tokenFileOption,
		}),
	},
	async run({ values, output, engine }) {
		const { http = false, port = defaultPort } = values;
		if (!http && (values.port ?? values['token-file']) !== undefined) {
			throw new Failure('invalid', '--port and --token-file only apply to HTTP.', 'Add --http.');
		}
		if (port > 65_535) throw new Failure('invalid', `Invalid --port value ${port}.`, 'Use a port up to 65535.');
		const token = http ? await tokenOf(values) : null;
		keepYoungGenerationSmall();
		growHeapSlowly();
		const [{ createServer }, { Editor }, { Jobs }, { Runs }, { Searches }, { docsFolder }, { version, folder }] =
			await Promise.all([
				import('../mcp/createServer.ts'),
				import('../mcp/editor.ts'),
				import('../mcp/jobs.ts'),
				import('../mcp/runs.ts'),
				import('../mcp/searches.ts'),
				import('../mcp/resources.ts'),
				packageFacts(),
			]);
		const runs = new Runs((values.folder ?? ['.']).map((folder) => resolve(folder)));
		const jobs = new Jobs();
		const actions = values['allow-actions'] ? { engine, python: values.python ?? null, jobs } : null;
		const searches = new Searches(runs);
		const docs = await docsFolder(folder);
		const folderOfEditor = process.env[editorVariable];
		const editor = folderOfEditor && isAbsolute(folderOfEditor) ? new Editor(folderOfEditor) : null;
		const scheme = process.env[linkSchemeVariable] ?? '';
		const linkScheme = isScheme(scheme) ? scheme : null;
		const create = () => createServer({ runs, searches, actions, editor, linkScheme, version, docs });
		try {
			if (http) await serveUntilInterrupted({ create, port, token: token ?? null, output });
			else await serveUntilClosed(create);
		} finally {
			await jobs.dispose();
			await runs.dispose();
		}
		return 0;
	},
});

type Create = () => ReturnType<typeof import('../mcp/createServer.ts').createServer>;

async function serveUntilClosed(create: Create): Promise<void> {
	const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
	const closed = new Promise<void>((close) => process.stdin.once('close', close).once('end', close));
	const handle = serveStdio(create);
	await closed;
	await handle.close();
}

interface HttpService {
	readonly create: Create;
	readonly port: number;
	/** null: create and print a token. */
	readonly token: string | null;
	readonly output: CliOutput;
}

async function serveUntilInterrupted({ create, port, token, output }: HttpService): Promise<void> {
	const [{ serveHttp }, { newToken }] = await Promise.all([
		import('../mcp/http/serveHttp.ts'),
		import('../rpc/http/loopbackGuard.ts'),
	]);
	const secret = token ?? newToken();
	let interrupt: () => void = () => undefined;
	const interrupted = new Promise<void>((resolve) => {
		interrupt = resolve;
	});
	const release = onInterrupt(() => interrupt());
	try {
		const server = await serveHttp({
			port,
			token: secret,
			createServer: create,
			onFault: (error) => output.line(printable(`error: ${error.message}`)),
		});
		// Print a generated token once; a user-supplied token is already known.
		output.object({ kind: 'listening', url: server.url, port: server.port, token: token === null ? secret : null });
		output.line(`Listening on ${server.url}. Press Ctrl+C to stop.`);
		if (token === null) output.line(`Token: ${secret}`);
		await interrupted;
		await server.close();
	} finally {
		release();
	}
}
