import { lstat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { type Research, readResearch } from '../core/reflexion/research.ts';
import { researchReport } from '../core/reflexion/researchReport.ts';
import { writeFileAtomic } from '../files/atomicFile.ts';
import { requireInside } from '../files/ownFolder.ts';
import type { SearchSpec, ToolSpec } from '../protocol/searchSpec.ts';
import type { TreeEvent } from '../protocol/treeLog.ts';
import { sandboxVariable } from '../rewards/sandbox/sandboxMode.ts';
import { apiKeysOf, apiKeysVariable } from '../rpc/http/apiKeys.ts';
import { runFiles } from '../runs/runFiles.ts';
import { searchLogName } from '../runs/searchLog.ts';
import { continueSearch, type SearchSession, startSearch } from '../search/searchSession.ts';
import { readTreeLog } from '../search/treeLogFile.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { onInterrupt } from './interrupts.ts';
import { flag, integer, type Options, type OptionValues, path, repeatable, text } from './options.ts';
import { budgetOf, searchOptions, searchSpecOf } from './searchArguments.ts';
import { drawMs, progressText } from './searchVerb.ts';
import { defineVerb, type VerbContext } from './verb.ts';

const {
	guide: _guide,
	judge: _judge,
	reward: _reward,
	strategy: _strategy,
	split: _split,
	...agentOptions
} = searchOptions;

const options = {
	tools: repeatable(
		text(
			'LIST',
			'workspace[=FOLDER], dataset=FILE, calculator, code[=python|javascript], none (default: workspace,calculator).',
		),
	),
	web: text('URL', 'Search server to query in addition to the tools.'),
	'web-key-variable': text('NAME', 'Environment variable with the API key for the search server.'),
	sandbox: text('MODE', 'Sandbox for code: auto, bubblewrap, container:IMAGE, or unsafe.'),
	rounds: integer('N', 'Max revisions (default: 3). Set other parameters with --param, such as --param words=400.'),
	report: path('FILE', 'Write the full report as Markdown to this file.'),
	force: flag('Replace an existing report.'),
	from: path('LOG', 'Print the result from a log instead of starting new research.'),
	continue: path('LOG', 'Continue the research in a log instead of starting over.'),
	log: path('FILE', 'Log file (default: a new file in searches/ in the current folder).'),
	...agentOptions,
} as const satisfies Options;

type Values = OptionValues<typeof options>;

export const reflexionVerb = defineVerb({
	name: 'reflexion',
	group: 'Search and evaluate',
	usage: '<question> --policy P [options]',
	arguments: [{ name: 'question', phrase: 'a question', type: 'text', optional: true }],
	summary:
		'Research a question: draft an answer, query tools, and revise until nothing is missing. Produces an answer with citations (docs/reflexion.md).',
	options,
	async run({ values, positionals, ...context }) {
		const [question] = positionals;
		const starts = [question, values.continue, values.from].filter((one) => one !== undefined);
		if (starts.length !== 1) {
			throw new Failure(
				'invalid',
				starts.length === 0
					? 'reasoning-lab reflexion requires a question.'
					: 'A question, --continue, and --from cannot be combined.',
				'See reasoning-lab help reflexion.',
			);
		}
		const report = values.report === undefined ? null : resolve(values.report);
		if (report !== null) await requireRoom(report, values.force === true);
		if (values.from !== undefined) {
			const log = resolve(values.from);
			const { events } = await readTreeLog(log);
			requireResearch(log, events);
			return printEnd(context.output, log, events, report);
		}
		return researched(context, values, question ?? null, report);
	},
});

/** Checks, before any tokens are spent, that the report can be written. */
async function requireRoom(report: string, force: boolean): Promise<void> {
	const there = await lstat(report).catch(() => null);
	if (there !== null && (!force || !there.isFile())) {
		throw new Failure(
			'exists',
			`${report} already exists.`,
			there.isFile() ? 'Add --force to replace it.' : 'Choose another name.',
		);
	}
	if (!(await lstat(dirname(report)).catch(() => null))?.isDirectory()) {
		throw new Failure(
			'missing',
			`The report folder ${dirname(report)} does not exist.`,
			'Create it, or choose another folder.',
		);
	}
}

async function researched(
	{ output, engine, args }: VerbContext,
	values: Values,
	question: string | null,
	report: string | null,
): Promise<number> {
	const own = cliSearchContext(engine, args);
	const sandbox = values.sandbox === undefined ? {} : { [sandboxVariable]: values.sandbox };
	const context = { ...own, environment: { ...own.environment, ...sandbox, ...webKey(values) } };
	const interrupt = new AbortController();
	const release = onInterrupt((count) => {
		interrupt.abort();
		if (count > 1) process.exit(1);
	});
	let drawing: NodeJS.Timeout | undefined;
	try {
		const { signal } = interrupt;
		let session: SearchSession;
		if (question === null) {
			const budget = values.budget === undefined ? {} : budgetOf(values.budget);
			const log = resolve(values.continue as string);
			requireResearch(log, (await readTreeLog(log)).events);
			const renewed = values.policy === undefined && values.spec === undefined ? undefined : await specOf(values);
			session = await continueSearch({
				log,
				budget,
				action: { action: 'more' },
				context,
				signal,
				...(renewed === undefined ? {} : { spec: renewed }),
			});
		} else {
			const log =
				values.log === undefined
					? join(await requireInside(process.cwd(), runFiles.searches), searchLogName('reflexion', new Date()))
					: resolve(values.log);
			const spec = await specOf(values);
			const problem = { prompt: question, answer: null, row: {} };
			session = await startSearch({ spec, problem, log, context, signal });
		}
		output.object({ kind: 'started', log: session.log, tools: session.spec.tools.map(({ use }) => use) });
		if (output.isTerminal) {
			drawing = setInterval(() => output.draw(`\r\x1b[K${progressText(session)}`.slice(0, output.columns + 4)), drawMs);
		}
		const { outcome } = await session.result;
		clearInterval(drawing);
		if (output.isTerminal) output.draw('\r\x1b[K');
		const { events } = await readTreeLog(session.log);
		await printEnd(output, session.log, events, report);
		return outcome.stop === 'policy' || outcome.answer === null ? 1 : 0;
	} finally {
		clearInterval(drawing);
		context.pool.dispose();
		release();
	}
}

async function specOf(values: Values): Promise<SearchSpec> {
	const spec = await searchSpecOf({ ...values, strategy: 'reflexion', ...paramsWith(values) });
	const named = values.tools !== undefined || values.web !== undefined;
	return { ...spec, tools: named || spec.tools.length === 0 ? toolsOf(values) : spec.tools };
}

function requireResearch(log: string, events: readonly TreeEvent[]): void {
	const start = events.find(({ t }) => t === 'start');
	if (start?.t !== 'start' || start.strategy === 'reflexion') return;
	throw new Failure(
		'invalid',
		`${log} is not a research log; its strategy is ${start.strategy}.`,
		'View it with reasoning-lab tree, or continue it with reasoning-lab search --continue.',
	);
}

function paramsWith({ param, rounds }: Values): { param?: string[] } {
	const given = [...(param ?? []), ...(rounds === undefined ? [] : [`rounds=${rounds}`])];
	return given.length === 0 ? {} : { param: given };
}

/** Parses a tool list such as "workspace,dataset=train.jsonl". */
function toolsOf(values: Values): ToolSpec[] {
	const names = (values.tools ?? ['workspace,calculator'])
		.flatMap((list) => list.split(','))
		.map((name) => name.trim());
	const tools = names.filter((name) => name !== '' && name !== 'none').map(toolOf);
	if (values.web === undefined) return tools;
	return [...tools, { use: 'web', url: values.web, timeoutSeconds: 20 }];
}

/** Returns the search server's API key, stored by origin like other server keys, so that logs contain no key. */
function webKey({ web, 'web-key-variable': variable }: Values): Record<string, string> {
	if (variable === undefined) return {};
	const key = process.env[variable];
	if (web === undefined || !URL.canParse(web)) {
		throw new Failure('invalid', '--web-key-variable requires a search server.', 'Set the server URL with --web.');
	}
	if (!key) throw new Failure('missing', `The environment variable ${variable} is not set.`, 'Set it to the API key.');
	const keys = { ...apiKeysOf(process.env), [new URL(web).origin]: key };
	return { [apiKeysVariable]: JSON.stringify(keys) };
}

function toolOf(written: string): ToolSpec {
	const at = written.indexOf('=');
	const [name, value] = at === -1 ? [written, ''] : [written.slice(0, at), written.slice(at + 1)];
	if (name === 'workspace') return { use: 'workspace', folder: resolve(value) };
	if (name === 'dataset' && value !== '') return { use: 'dataset', file: resolve(value) };
	if (name === 'calculator' && value === '') return { use: 'calculator' };
	if (name === 'code' && ['', 'python', 'javascript'].includes(value)) {
		const language = value === 'javascript' ? 'javascript' : 'python';
		return { use: 'code', language, timeoutSeconds: 10 };
	}
	throw new Failure(
		'invalid',
		`"${written}" in --tools is not a valid tool.`,
		'Use a comma-separated list of workspace, workspace=FOLDER, dataset=FILE, calculator, code, or code=javascript. For a search server, use --web URL.',
	);
}

async function printEnd(
	output: CliOutput,
	log: string,
	events: readonly TreeEvent[],
	report: string | null,
): Promise<number> {
	const research = readResearch(events);
	if (report !== null) await writeFileAtomic(report, researchReport(research));
	output.object({ kind: 'result', log, report, ...asJson(research) });
	for (const line of linesOf(research)) output.line(printable(line));
	output.line(printable(log));
	if (report !== null) output.line(printable(report));
	return 0;
}

function asJson(research: Research) {
	const { question, result, open, stop, reason, answers, tools, faults } = research;
	const { tokens, promptTokens, cost, seconds } = research;
	return {
		question,
		answer: result?.text ?? null,
		references: result?.references ?? [],
		dangling: result?.dangling ?? [],
		open,
		stop,
		reason,
		answers: answers.map(({ role, critique, references }) => ({ role, critique, references: references.length })),
		tools: tools.map(({ tool, query, sources, error }) => ({
			tool,
			query,
			sources: sources?.map(({ source }) => source) ?? null,
			error,
		})),
		faults,
		tokens,
		promptTokens,
		cost,
		seconds,
	};
}

function linesOf({ result, open, reason, tools, tokens, promptTokens, cost, answers, seconds }: Research): string[] {
	if (result === null) return ['No answer found.', reason];
	const references = result.references.map(({ number, source, supported, note }) => {
		const verdict =
			supported === true ? 'supported' : `${supported === false ? 'not supported' : 'not checked'}: ${note}`;
		return `  [${number}] ${source} (${verdict})`;
	});
	const failed = tools.filter(({ error }) => error !== null).length;
	return [
		...result.text.split('\n'),
		'',
		...(references.length === 0 ? [] : ['References:', ...references, '']),
		...(open.length === 0 ? [] : ['Unresolved critique:', ...open.map(({ kind, text }) => `  ${kind}: ${text}`), '']),
		reason,
		[
			`1 draft and ${formatCounted(answers.length - 1, 'revision')}`,
			`${formatCounted(tools.length, 'query', 'queries')}${failed === 0 ? '' : `, ${failed} failed`}`,
			`${formatCounted(tokens, 'token')}${promptTokens === null ? '' : `, ${promptTokens} prompt tokens`}`,
			...(cost === null ? [] : [`cost ${cost.toFixed(4)}`]),
			`${seconds.toFixed(1)} s`,
		].join('; '),
	];
}
