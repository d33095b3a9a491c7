import { Failure } from '../base/failure.ts';
import { formatClock } from '../base/format.ts';
import type { RequestRecord, SystemMessages } from '../search/serve/reasonerAppOptions.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { onInterrupt } from './interrupts.ts';
import { choice, flag, group, integer, type Options, repeatable, text } from './options.ts';
import { searchOptions, searchSpecOf } from './searchArguments.ts';
import { tokenFileOption, tokenOf } from './serverToken.ts';
import { defineVerb } from './verb.ts';

const defaults = { port: 8420, timeout: 300, nodes: 10_000, grace: 30 } as const;

const options = {
	...group('Server', {
		port: integer('N', `Port on 127.0.0.1 (default: ${defaults.port}; 0 selects any free port).`),
		name: text('NAME', 'Model name (default: the policy name, with unsupported characters replaced by hyphens).'),
		'system-messages': choice(
			['keep', 'prepend', 'drop'],
			'HOW',
			'How to handle system messages (default: keep). prepend inserts them before the problem.',
		),
		timeout: integer(
			'SECONDS',
			`Time limit per search, after which the best answer so far is returned (default: ${defaults.timeout}; max ${defaults.nodes} nodes unless --budget sets nodes).`,
		),
		grace: integer(
			'SECONDS',
			`Time for running requests to finish after Ctrl+C (default: ${defaults.grace}). A second Ctrl+C cancels them.`,
		),
		'max-requests': integer('N', 'Max concurrent searches (default: 8).'),
		'max-waiting': integer('N', 'Max queued requests (default: 1000).'),
		'max-body': integer('BYTES', 'Max request size (default: 1048576).'),
	}),
	...group('Access', {
		...tokenFileOption,
		token: text('TEXT', 'The token itself. Other users of this machine might be able to see it in the process list.'),
		'no-token': flag('Do not require a token. Any program run by any user of this machine gets access.'),
		'allow-origin': repeatable(text('URL', 'Web origin allowed to use the API.')),
	}),
	...searchOptions,
} as const satisfies Options;

export const serveVerb = defineVerb({
	name: 'serve',
	group: 'Search and evaluate',
	usage: '--policy P [options]',
	summary: 'Serve searches as an OpenAI-compatible API on this machine (docs/reasoner-api.md).',
	options,
	async run({ values, output, engine, args }) {
		const token = await tokenOf(values);
		const { port = defaults.port } = values;
		if (port > 65_535) throw new Failure('invalid', `Invalid --port value ${port}.`, 'Use a port up to 65535.');
		const how = systemMessagesOf(values['system-messages']);
		const given = await searchSpecOf(values);
		const spec = {
			...given,
			budget: { seconds: values.timeout ?? defaults.timeout, nodes: defaults.nodes, ...given.budget },
		};
		const graceMs = (values.grace ?? defaults.grace) * 1000;
		const [{ createReasoner }, { newToken }, { serveReasoner }, { defaultReasonerLimits: limits }] = await Promise.all([
			import('../search/createReasoner.ts'),
			import('../rpc/http/loopbackGuard.ts'),
			import('../search/serve/reasonerServer.ts'),
			import('../search/serve/reasonerAppOptions.ts'),
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
						bodyBytes: values['max-body'] ?? limits.bodyBytes,
						running: Math.max(1, values['max-requests'] ?? limits.running),
						waiting: values['max-waiting'] ?? limits.waiting,
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
						output.line(printable(`error: ${failure.toString()}`));
					},
				});
				const { url, model } = server;
				// Print a generated token once; a user-supplied token is already known.
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
				output.line(printable(`${model} is listening on ${url}, using ${spec.strategy} search. Press Ctrl+C to stop.`));
				if (made !== null) output.line(`Token: ${made}`);
				if (secret === null) output.line('No token is required: anyone who can reach the port can use the API.');
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
});

function systemMessagesOf(how: string | undefined): SystemMessages | undefined {
	if (how === undefined || how === 'keep' || how === 'prepend' || how === 'drop') return how;
	throw new Failure('invalid', `Invalid --system-messages value "${how}".`, 'Use keep, prepend, or drop.');
}

function requestLine({ path, status, strategy, tokens, seconds, message }: RequestRecord): string {
	const what = strategy === null ? '' : `  ${strategy}, ${tokens} tokens`;
	return `${status}  ${path}${what}  ${formatClock(seconds)}${message === null ? '' : `  ${message}`}`;
}
