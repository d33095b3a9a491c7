import { basename, dirname, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatClock } from '../base/format.ts';
import { readSmallFile } from '../runs/safeFile.ts';
import type { RequestRecord, SystemMessages } from '../search/serve/reasonerApp.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { onInterrupt } from './interrupts.ts';
import { parseArguments, wholeNumber } from './parseArguments.ts';
import { searchOptionLines, searchOptions, searchSpecOf } from './searchArguments.ts';
import type { Verb } from './verb.ts';

const options = {
	...searchOptions,
	port: { type: 'string' },
	token: { type: 'string' },
	'no-token': { type: 'boolean' },
	'allow-origin': { type: 'string', multiple: true },
	name: { type: 'string' },
	'system-messages': { type: 'string' },
	'max-requests': { type: 'string' },
	'max-waiting': { type: 'string' },
	'max-body': { type: 'string' },
	'token-file': { type: 'string' },
	timeout: { type: 'string' },
	grace: { type: 'string' },
} as const;

const tokenVariable = 'REASONING_LAB_TOKEN';
const defaults = { port: 8420, timeout: 300, nodes: 10_000, grace: 30 } as const;

export const serveVerb: Verb = {
	name: 'serve',
	usage: '--policy P [--strategy S] [--reward R]',
	summary: 'Serve searches as an OpenAI-compatible API on this machine (docs/reasoner-api.md).',
	options: [
		...searchOptionLines,
		['--port N', `On 127.0.0.1 (default ${defaults.port}); 0: one that is free.`],
		[
			'--token-file FILE',
			`A file with what clients must send; default: the variable ${tokenVariable}, else a new token, which is printed.`,
		],
		['--token TEXT', 'The same as text; other users of the machine may see it in the list of processes.'],
		['--no-token', 'Whoever can reach the port may use it: every program of every user of this machine.'],
		['--allow-origin URL', 'A web page that may use it; may be repeated.'],
		['--name NAME', "Name of the model; default: the policy's, with - for blanks and other marks."],
		[
			'--system-messages HOW',
			'keep (default), prepend to the problem, or drop: for policies that take no instructions.',
		],
		['--max-requests N', 'Requests that search at a time (default 8); --max-waiting N: that wait (default 1000).'],
		['--max-body BYTES', 'Of a request (default 1048576).'],
		[
			'--timeout SECONDS',
			`Of a search (default ${defaults.timeout}; ${defaults.nodes} nodes unless --budget sets nodes); it then answers with what it has.`,
		],
		['--grace SECONDS', `What runs may go on after Ctrl+C (default ${defaults.grace}); a second Ctrl+C ends it.`],
	],
	async run({ args, output, engine }) {
		const { values } = parseArguments('serve', args, options, { names: [], least: 0, most: 0 });
		const token = await tokenOf(values);
		const number = (name: keyof typeof values, otherwise: number) =>
			wholeNumber(values[name] as string | undefined, `--${name}`) ?? otherwise;
		const port = number('port', defaults.port);
		if (port > 65_535) throw new Failure('invalid', `--port is ${port}.`, 'Choose one up to 65535.');
		const how = systemMessagesOf(values['system-messages']);
		const given = await searchSpecOf(values);
		const spec = {
			...given,
			budget: { seconds: number('timeout', defaults.timeout), nodes: defaults.nodes, ...given.budget },
		};
		const graceMs = number('grace', defaults.grace) * 1000;
		const [{ createReasoner }, { newToken, serveReasoner }, { defaultReasonerLimits: limits }] = await Promise.all([
			import('../search/createReasoner.ts'),
			import('../search/serve/reasonerServer.ts'),
			import('../search/serve/reasonerApp.ts'),
		]);
		const context = cliSearchContext(engine, args);
		const interrupt = new AbortController();
		let interrupted: (count: number) => void = () => interrupt.abort();
		const release = onInterrupt((count) => interrupted(count));
		try {
			const reasoner = await createReasoner({ spec, context, signal: interrupt.signal });
			try {
				const secret = token === undefined ? newToken() : token;
				const server = await serveReasoner({
					reasoner,
					port,
					token: secret,
					origins: values['allow-origin'] ?? [],
					limits: {
						bodyBytes: number('max-body', limits.bodyBytes),
						running: Math.max(1, number('max-requests', limits.running)),
						waiting: number('max-waiting', limits.waiting),
					},
					...(values.name === undefined ? {} : { model: values.name }),
					...(how === undefined ? {} : { systemMessages: how }),
					onRequest: (record) => {
						output.object({ kind: 'request', ...record });
						output.line(printable(requestLine(record)));
					},
					onFault: (error) => {
						const failure = Failure.from(error);
						output.object({ kind: 'fault', error: failure.toJSON() });
						output.line(printable(`fault: ${failure.toString()}`));
					},
				});
				const { url, model } = server;
				// A token that somebody chose is known; one that was made is told this once.
				const made = token === undefined ? secret : null;
				const strategies = reasoner.strategies.map(({ name }) => name);
				output.object({
					kind: 'listening',
					url,
					port: server.port,
					model,
					strategy: spec.strategy,
					strategies,
					token: made,
				});
				output.line(printable(`${model} listens on ${url}, searching by ${spec.strategy}. Ctrl+C ends it.`));
				if (made !== null) output.line(`Token: ${made}`);
				if (secret === null) output.line('Whoever can reach the port may use it: no token is asked for.');
				await new Promise<void>((resolve, reject) => {
					interrupted = (count) => server.close(count > 1 ? 0 : graceMs).then(resolve, reject);
					if (interrupt.signal.aborted) interrupted(1);
				});
				return 0;
			} finally {
				reasoner.dispose();
			}
		} finally {
			context.pool.dispose();
			release();
		}
	},
};

/** What was chosen; null: none is asked for; undefined: nothing was said. */
async function tokenOf(values: {
	readonly token?: string;
	readonly 'token-file'?: string;
	readonly 'no-token'?: boolean;
}): Promise<string | null | undefined> {
	const file = values['token-file'];
	if (file !== undefined && (values.token !== undefined || values['no-token'])) {
		throw new Failure('invalid', '--token-file cannot be given with --token or --no-token.', 'Choose one of them.');
	}
	if (values['no-token']) {
		if (values.token !== undefined) {
			throw new Failure('invalid', '--token and --no-token cannot be given together.', 'Choose one of them.');
		}
		return null;
	}
	const token = file === undefined ? (values.token ?? process.env[tokenVariable]) : await readToken(resolve(file));
	if (token === undefined || /^\S{8,}$/.test(token)) return token;
	throw new Failure(
		'invalid',
		'The token is too short, or has blanks.',
		'Choose at least 8 characters without blanks.',
	);
}

function systemMessagesOf(how: string | undefined): SystemMessages | undefined {
	if (how === undefined || how === 'keep' || how === 'prepend' || how === 'drop') return how;
	throw new Failure('invalid', `--system-messages is "${how}".`, 'Choose keep, prepend or drop.');
}

async function readToken(file: string): Promise<string> {
	return (await readSmallFile(dirname(file), basename(file), 4096)).trim();
}

function requestLine({ path, status, strategy, tokens, seconds, message }: RequestRecord): string {
	const what = strategy === null ? '' : `  ${strategy}, ${tokens} tokens`;
	return `${status}  ${path}${what}  ${formatClock(seconds)}${message === null ? '' : `  ${message}`}`;
}
