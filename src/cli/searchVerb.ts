import { join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { formatValue } from '../core/reward/verification/verificationSummary.ts';
import type { SearchResult } from '../core/search/searchRun.ts';
import { requireInside } from '../files/ownFolder.ts';
import { decode } from '../protocol/decode.ts';
import { policySpecSchema } from '../protocol/policySpec.ts';
import type { SearchSpec } from '../protocol/searchSpec.ts';
import type { SearchProblem } from '../protocol/treeLog.ts';
import { runFiles } from '../runs/runFiles.ts';
import { isRunFolder } from '../runs/runFolders.ts';
import { searchLogName } from '../runs/searchLog.ts';
import { readProblemRow } from '../search/problemSet.ts';
import type { SearchContext } from '../search/searchContext.ts';
import { continueSearch, type SearchSession, startSearch } from '../search/searchSession.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { environmentOf, environmentProblem, episodeOptions } from './episodeSearchArguments.ts';
import { onInterrupt } from './interrupts.ts';
import { group, integer, type Options, type OptionValues, path, text } from './options.ts';
import { budgetOf, type SearchValues, searchOptions, searchSpecOf } from './searchArguments.ts';
import { defineVerb, type VerbContext } from './verb.ts';

/** Options that specify the problem and its gold answer. */
export const problemOptions = group('Problem', {
	answer: text('TEXT', 'Gold answer. If given, the result shows whether it was found.'),
	dataset: path('FILE', 'Read the problem from a JSONL file instead of the argument.'),
	row: integer('N', 'Dataset row, starting from 1 (default: 1).', 1),
});

const options = {
	...problemOptions,
	log: path(
		'FILE',
		"Log file (default: a new file in searches/ in the policy's run, or in the current folder if there is no run).",
	),
	continue: path('LOG', 'Continue the search in a log with the budget given by --budget.'),
	...episodeOptions,
	...searchOptions,
} as const satisfies Options;

type Values = OptionValues<typeof options>;

/** Options allowed with --continue. Any other option requires a new policy or spec. */
const continueOptions: readonly string[] = ['continue', 'budget', 'policy', 'spec', 'python'];

/** Redraw interval of the live line, in milliseconds. */
export const drawMs = 200;

export const searchVerb = defineVerb({
	name: 'search',
	group: 'Search and evaluate',
	usage: '<problem> --policy P [options]',
	arguments: [{ name: 'problem', phrase: 'a problem', type: 'text', optional: true }],
	summary: 'Search for the answer to one problem and log the search tree. Ctrl+C stops the search.',
	options,
	async run({ values, positionals, ...context }) {
		if (values.continue === undefined) return started(values, positionals[0], context);
		requireNoProblem(values, positionals[0]);
		return wentOn(values, context);
	},
});

async function started(
	values: Values,
	text: string | undefined,
	{ output, engine, args }: VerbContext,
): Promise<number> {
	const { spec, problem } = await wanted(values, text);
	const log = values.log === undefined ? await logFor(spec) : resolve(values.log);
	return followed(output, cliSearchContext(engine, args, values.python), (context, signal) =>
		startSearch({ spec, problem, log, context, signal }),
	);
}

/** Returns the search specified by the options: for the answer to a problem, or for an episode on a dataset row. */
async function wanted(values: Values, text: string | undefined): Promise<{ spec: SearchSpec; problem: SearchProblem }> {
	const scored = values.guide ?? values.judge ?? values.reward;
	const own = values.environment === undefined || scored !== undefined ? values : { ...values, guide: 'environment' };
	const spec = await searchSpecOf(own);
	const environment = await environmentOf(values, spec);
	if (environment === null) return { spec, problem: await problemOf(values, text, 'search') };
	if (text !== undefined || values.answer !== undefined) {
		throw new Failure(
			'invalid',
			`${text === undefined ? '--answer' : 'A problem'} cannot be combined with an environment.`,
			'Select a dataset row with --row.',
		);
	}
	return { spec: { ...spec, environment }, problem: await environmentProblem(environment, values) };
}

/** Rejects problem, setting, and log options for a continued search, because its log defines them. */
function requireNoProblem(values: Values, text: string | undefined): void {
	const given = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [name]));
	const spare = given.filter((name) => !continueOptions.includes(name) && !(values.policy ?? values.spec));
	const wrong = [
		...(text === undefined ? [] : ['a problem']),
		...given.filter((name) => name in problemOptions || name === 'log').map((name) => `--${name}`),
		...spare.filter((name) => !(name in problemOptions) && name !== 'log').map((name) => `--${name}`),
	];
	if (wrong.length === 0) return;
	throw new Failure(
		'invalid',
		`${wrong.join(' and ')} cannot be combined with --continue, because the log already defines these settings.`,
		'Omit these options, or respecify all settings with --policy or --spec.',
	);
}

async function wentOn(
	values: SearchValues & Pick<Values, 'continue' | 'python'>,
	{ output, engine, args }: VerbContext,
): Promise<number> {
	const log = resolve(values.continue as string);
	const budget = values.budget === undefined ? {} : budgetOf(values.budget);
	const spec = values.policy === undefined && values.spec === undefined ? undefined : await searchSpecOf(values);
	return followed(output, cliSearchContext(engine, args, values.python), (context, signal) =>
		continueSearch({
			log,
			budget,
			action: { action: 'more' },
			context,
			signal,
			...(spec === undefined ? {} : { spec }),
		}),
	);
}

async function followed(
	output: CliOutput,
	context: SearchContext,
	begin: (context: SearchContext, signal: AbortSignal) => Promise<SearchSession>,
): Promise<number> {
	const interrupt = new AbortController();
	const release = onInterrupt((count) => {
		interrupt.abort();
		if (count > 1) process.exit(1);
	});
	let drawing: NodeJS.Timeout | undefined;
	try {
		const session = await begin(context, interrupt.signal);
		const { notes } = session;
		output.object({
			kind: 'started',
			log: session.log,
			strategy: session.spec.strategy,
			...(notes.length === 0 ? {} : { notes }),
		});
		for (const note of notes) output.line(printable(`Note: ${note}`));
		if (output.isTerminal) {
			drawing = setInterval(() => output.draw(`\r\x1b[K${progressText(session)}`.slice(0, output.columns + 4)), drawMs);
		}
		const result = await session.result;
		clearInterval(drawing);
		if (output.isTerminal) output.draw('\r\x1b[K');
		report(output, session, result);
		const { stop } = result.outcome;
		return stop === 'policy' || stop === 'scorer' || stop === 'environment' ? 1 : 0;
	} finally {
		clearInterval(drawing);
		context.pool.dispose();
		release();
	}
}

export function progressText({ progress }: SearchSession): string {
	const { strategy, nodes, tokens, simulations, seconds } = progress;
	const parts = [strategy, formatCounted(nodes, 'node'), formatCounted(tokens, 'token')];
	if (simulations > 0) parts.push(formatCounted(simulations, 'simulation'));
	return [...parts, `${seconds.toFixed(0)} s`].join('  ');
}

function report(output: CliOutput, session: SearchSession, { outcome, totals, message }: SearchResult): void {
	const correct = session.correct;
	output.object({
		kind: 'result',
		log: session.log,
		answer: outcome.answer,
		correct,
		value: outcome.value,
		best: outcome.best,
		text: outcome.best === null ? null : textOf(session, outcome.best),
		stop: outcome.stop,
		message,
		oracle: isOracle(session),
		faults: session.faults.count,
		...totals,
	});
	const episodes = session.spec.environment !== undefined;
	const verdict = correct === null ? '' : correct ? '  (correct)' : '  (incorrect)';
	const bound = isOracle(session) ? '  selected with the gold answer: an upper bound, not a result' : '';
	output.line(
		episodes
			? `Reward: ${outcome.value === null ? 'none' : formatValue(outcome.value)}, ${formatCounted(turnsIn(session, outcome.best), 'turn')}`
			: printable(`Answer: ${outcome.answer ?? 'none'}${verdict}${bound}`),
	);
	const used = [
		formatCounted(totals.nodes, 'node'),
		formatCounted(totals.tokens, 'token'),
		...(totals.simulations > 0 ? [formatCounted(totals.simulations, 'simulation')] : []),
		`${totals.seconds.toFixed(1)} s`,
	];
	if (totals.cost !== null) used.push(`cost ${totals.cost.toFixed(4)}`);
	output.line(`${used.join(', ')}; ended: ${outcome.stop}${message === null ? '' : `: ${printable(message)}`}`);
	const { count, last } = session.faults;
	if (count > 0 && last !== message) output.line(printable(`${formatCounted(count, 'fault')}; last: ${last}`));
	output.line(printable(session.log));
}

/** Returns whether selection used the gold answer. If so, the result is an upper bound. */
const isOracle = ({ spec }: SearchSession): boolean =>
	[spec.guide, spec.judge].some((one) => one?.use === 'environment' || (one?.use === 'reward' && one.gold));

const turnsIn = ({ tree }: SearchSession, best: readonly number[] | null): number =>
	(best ?? []).filter((id) => tree.notesOf(id).length > 0).length;

function textOf({ tree }: SearchSession, best: readonly number[]): string {
	return best
		.slice(1)
		.map((id) => tree.node(id)?.text ?? '')
		.join('');
}

export type ProblemValues = OptionValues<typeof problemOptions>;

/** Returns the problem given as text or as a dataset row. Fails with `invalid` or `missing`. */
export async function problemOf(values: ProblemValues, text: string | undefined, verb: string): Promise<SearchProblem> {
	if ((text === undefined) === (values.dataset === undefined)) {
		throw new Failure(
			'invalid',
			text === undefined ? `reasoning-lab ${verb} requires a problem.` : 'A problem and --dataset cannot be combined.',
			text === undefined
				? 'Pass it as an argument, or select a dataset row with --dataset FILE --row 1.'
				: 'Use only one of them.',
		);
	}
	const answer = values.answer ?? null;
	if (text !== undefined) return { prompt: text, answer, row: {} };
	const problem = await readProblemRow(resolve(values.dataset as string), values.row ?? 1);
	return { ...problem, answer: answer ?? problem.answer };
}

/** Returns the log path: inside the policy's run, or in the current folder if there is none. */
async function logFor({ policy, strategy }: SearchSpec): Promise<string> {
	const decoded = decode(policySpecSchema, policy);
	const run = !decoded.ok
		? null
		: decoded.value.kind === 'engine'
			? decoded.value.run
			: decoded.value.kind === 'checkpoint'
				? resolve(decoded.value.folder, '../..')
				: null;
	const base = run !== null && (await isRunFolder(run)) ? run : process.cwd();
	const folder = await requireInside(base, runFiles.searches);
	return join(folder, searchLogName(strategy, new Date()));
}
