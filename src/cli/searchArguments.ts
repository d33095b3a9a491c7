import { lstat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { readSmallFile } from '../files/safeFile.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type PolicySpec, type PolicySpecOf, policySpecSchema } from '../protocol/policySpec.ts';
import {
	plainScorers,
	type ScorerSpec,
	type SearchSpec,
	type SearchSpecInput,
	scorerSpecSchema,
	searchSpecSchema,
} from '../protocol/searchSpec.ts';
import { type SearchBudget, searchBudgetSchema } from '../protocol/treeLog.ts';
import { isRewardFileName } from '../rewards/rewardFileName.ts';
import { listCheckpoints, manifestName } from '../runs/checkpointFiles.ts';
import { findRun } from './findRun.ts';
import { group, integer, number, type Options, type OptionValues, path, repeatable, text } from './options.ts';

/*
 * Command-line options for policies, strategies, scorers, and budgets, shared by `search`, `solve`, `serve`,
 * `compare-strategies`, `generate-data`, and `reflexion`.
 */

/** Options that specify a policy. */
export const policyOptions = group('Policy', {
	policy: path(
		'P',
		'A checkpoint folder, a run (RUN, RUN@12, RUN@best, RUN@live), http://HOST/v1, a script (.json, .jsonl), or JSON.',
	),
	model: text('NAME', 'Model on the server. Required if the server has several.'),
	api: text('API', 'Server API: chat (default) or completions.'),
	'key-variable': text('NAME', 'Environment variable with the API key for the server. Files cannot set this.'),
	system: text('TEXT', 'System message for the server.'),
});

/** Options that fully specify a search. */
export const searchOptions = {
	...group('Search', {
		strategy: text('NAME', 'best-of-n, beam, mcts, ... (default: best-of-n with a scorer, else self-consistency).'),
		param: repeatable(text('NAME=VALUE', 'Strategy parameter, such as n=16. Values are JSON or plain text.')),
		guide: text(
			'SCORER',
			'Step scorer: self-evaluation, mean-logprob, self-certainty, majority, value, process, reward:NAME, or JSON.',
		),
		judge: text('SCORER', 'Scorer that selects the final answer (default: the guide).'),
		reward: text('R', 'Same as --guide reward:R. R is a built-in reward or FILE#NAME; gold:R uses the gold answer.'),
		budget: text('LIST', 'Limits such as tokens=20000,seconds=60 (nodes, tokens, simulations, seconds, cost).'),
		split: text(
			'RULE',
			'Rule for splitting completions into steps: lines (default), paragraphs, sentences, tokens-16, completion, text=TEXT.',
		),
		concurrency: integer('N', 'Concurrent requests (default: 8).'),
		seed: integer('S', 'Random seed (default: 0).'),
		spec: path('FILE', 'All settings as JSON. Command-line options take precedence.'),
	}),
	...group('Sampling', {
		temperature: number('T', 'Sampling temperature (default: 1).'),
		'top-p': number('P', 'Nucleus sampling threshold (default: 1).'),
		'max-tokens': integer('N', 'Max tokens per completion.'),
		'max-step-tokens': integer('N', 'Max tokens per step (default: 256).'),
		alternatives: integer('N', 'Log the N most likely alternatives for each token, if the policy reports them.'),
	}),
	...policyOptions,
} as const satisfies Options;

export type PolicyValues = OptionValues<typeof policyOptions>;
export type SearchValues = OptionValues<typeof searchOptions>;

/** Builds a search spec from command-line options. Fails with `invalid` or `missing` and names the option. */
export async function searchSpecOf(values: SearchValues): Promise<SearchSpec> {
	const file = values.spec === undefined ? {} : await readObject(values.spec, '--spec');
	const policy = await policyOf(values, file.policy);
	const guide = values.guide ?? (values.reward === undefined ? undefined : `reward:${values.reward}`);
	const sampling = {
		...(file.sampling as object | undefined),
		...given({
			temperature: values.temperature,
			topP: values['top-p'],
			maxTokens: values['max-tokens'],
			maxStepTokens: values['max-step-tokens'],
			tokens: values.alternatives,
		}),
	};
	const spec: Record<string, unknown> = {
		strategy: guide === undefined && values.judge === undefined ? 'self-consistency' : 'best-of-n',
		...file,
		...(values.strategy === undefined
			? {}
			: { strategy: values.strategy, ...(values.spec === undefined ? {} : { params: {} }) }),
		policy,
		sampling,
		...(values.split === undefined ? {} : { split: splitOf(values.split) }),
		...(guide === undefined ? {} : { guide: await scorerOf(guide, '--guide') }),
		...(values.judge === undefined ? {} : { judge: await scorerOf(values.judge, '--judge') }),
		...(values.budget === undefined ? {} : { budget: budgetOf(values.budget) }),
		...given({ concurrency: values.concurrency, seed: values.seed }),
	};
	if (values.param !== undefined) spec.params = { ...(spec.params as object | undefined), ...paramsOf(values.param) };
	return decodeOrThrow(searchSpecSchema, spec satisfies Partial<Record<keyof SearchSpecInput, unknown>>, 'The search');
}

/** Returns the policy specified by `--policy` and its related options. */
export async function policyOf(values: PolicyValues, otherwise?: unknown): Promise<PolicySpec> {
	const named = values.policy;
	if (named === undefined) {
		if (otherwise !== undefined) return decodeOrThrow(policySpecSchema, otherwise, 'The policy');
		throw new Failure(
			'invalid',
			'No policy specified.',
			'Use --policy with a run (reasoning-lab status lists runs), a script, or http://HOST/v1.',
		);
	}
	if (named.trimStart().startsWith('{')) {
		return withKey(decodeOrThrow(policySpecSchema, parsed(named, '--policy'), '--policy'), values);
	}
	if (/^https?:/.test(named)) return serverOf(named, values);
	const path = resolve(named);
	const info = await lstat(path).catch(() => null);
	if (info?.isFile()) return withKey(await fileOf(path), values);
	if ((await lstat(join(path, manifestName)).catch(() => null))?.isFile()) return { kind: 'checkpoint', folder: path };
	if (/\.jsonl?$/.test(named)) {
		throw new Failure(
			'missing',
			`The file ${path} does not exist.`,
			'--policy accepts a script, a run, a checkpoint, or a server.',
		);
	}
	return runOf(named);
}

/** Applies `--key-variable` to a server policy that does not specify a key variable. */
function withKey(policy: PolicySpec, { 'key-variable': keyVariable }: PolicyValues): PolicySpec {
	return policy.kind !== 'openai' || keyVariable === undefined ? policy : { keyVariable, ...policy };
}

async function serverOf(address: string, values: PolicyValues): Promise<PolicySpec> {
	const url = URL.canParse(address) ? new URL(address) : null;
	if (url === null) {
		throw new Failure(
			'invalid',
			`--policy value "${address}" is not a valid URL.`,
			'Use the format http://127.0.0.1:8000/v1.',
		);
	}
	const named = values.model ?? decodeURIComponent(url.hash.slice(1));
	url.hash = '';
	const server = (model: string) =>
		decodeOrThrow(
			policySpecSchema,
			{
				kind: 'openai',
				name: `${model} at ${url.host}`,
				baseUrl: url.href.replace(/\/$/, ''),
				model,
				...(values.api === undefined ? {} : { api: values.api }),
				...(values['key-variable'] === undefined ? {} : { keyVariable: values['key-variable'] }),
				...(values.system === undefined ? {} : { system: values.system }),
			},
			'--policy',
		) as PolicySpecOf<'openai'>;
	return server(named === '' ? await onlyModel(server('any')) : named);
}

/** Maximum number of models listed when a server has several. */
const maxNamed = 10;

async function onlyModel(server: PolicySpecOf<'openai'>): Promise<string> {
	const { listModels } = await import('../policies/openai/openOpenAiPolicy.ts');
	const models = await listModels(
		{ ...server, retries: 0, timeoutSeconds: 20 },
		{
			environment: process.env,
			keyVariables: server.keyVariable === undefined ? [] : [server.keyVariable],
		},
	);
	const [only] = models;
	if (models.length === 1 && only !== undefined) return only;
	const names = models.slice(0, maxNamed).join(', ');
	throw new Failure(
		'invalid',
		models.length === 0
			? `${server.baseUrl} lists no models.`
			: `${server.baseUrl} has ${formatCounted(models.length, 'model')}: ${names}${models.length > maxNamed ? ', ...' : ''}.`,
		'Choose one with --model NAME.',
	);
}

/** Reads a policy spec or a script from a file. */
async function fileOf(path: string): Promise<PolicySpec> {
	if (path.endsWith('.json')) {
		const value = await readObject(path, '--policy');
		if ('kind' in value) return decodeOrThrow(policySpecSchema, value, path);
	}
	return { kind: 'scripted', file: path };
}

/**
 * Resolves RUN to its latest checkpoint, RUN@12 to the checkpoint at step 12, RUN@best to the best one, and RUN@live to
 * the running engine.
 */
async function runOf(named: string): Promise<PolicySpec> {
	const at = named.lastIndexOf('@');
	const [name, which] = at > 0 ? [named.slice(0, at), named.slice(at + 1)] : [named, 'newest'];
	const run = await findRun(name);
	if (which === 'live') return { kind: 'engine', run };
	const checkpoints = await listCheckpoints(run);
	const chosen =
		which === 'newest'
			? checkpoints.at(-1)
			: which === 'best'
				? checkpoints.find(({ best }) => best)
				: checkpoints.find(({ step }) => String(step) === which);
	if (chosen !== undefined) return { kind: 'checkpoint', folder: chosen.path };
	throw new Failure(
		'missing',
		`${run} has no complete checkpoint${which === 'newest' ? '' : ` "${which}"`}.`,
		checkpoints.length === 0
			? 'Wait until it has saved a checkpoint.'
			: `Available steps: ${checkpoints.map(({ step }) => step).join(', ')}.`,
	);
}

/** Parses a scorer: a name, `reward:NAME`, `gold:NAME` (an oracle), or JSON. `FILE#NAME` can replace a reward name. */
export async function scorerOf(written: string, option: string): Promise<ScorerSpec> {
	if (written.trimStart().startsWith('{')) return decodeOrThrow(scorerSpecSchema, parsed(written, option), option);
	if (plainScorers.includes(written)) return decodeOrThrow(scorerSpecSchema, { use: written }, option);
	const match = /^(?:(reward|gold):)+(.+)$/.exec(written);
	if (match === null) {
		throw new Failure(
			'invalid',
			`${option} value "${written}" is not a valid scorer.`,
			`Use one of ${plainScorers.join(', ')}, reward:NAME, or gold:NAME.`,
		);
	}
	const gold = /(^|:)gold:/.test(written.slice(0, written.length - (match[2] as string).length));
	return decodeOrThrow(scorerSpecSchema, { use: 'reward', reward: await rewardOf(match[2] as string), gold }, option);
}

async function rewardOf(name: string): Promise<string | Record<string, unknown>> {
	const [file = '', reward] = name.split('#');
	if (!isRewardFileName(file)) return name;
	const path = resolve(file);
	if (!(await lstat(path).catch(() => null))?.isFile())
		throw new Failure('missing', `The reward file ${path} does not exist.`);
	return reward === undefined ? { file: path } : { file: path, name: reward };
}

/** Parses a split rule: a rule name, or `text=TEXT` for the text that ends a step. */
export function splitOf(written: string): string | { text: string } {
	return written.startsWith('text=') ? { text: written.slice('text='.length) } : written;
}

/** Parses a budget such as "tokens=20000,seconds=60". */
export function budgetOf(written: string, option = '--budget'): SearchBudget {
	const budget: Record<string, number> = {};
	for (const part of written.split(',')) {
		const match = /^\s*(nodes|tokens|simulations|seconds|cost)\s*=\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*$/.exec(part);
		if (match === null) {
			throw new Failure(
				'invalid',
				`${option} value "${written}" is not a valid budget.`,
				`Use the format ${option} tokens=20000,seconds=60 (nodes, tokens, simulations, seconds, cost).`,
			);
		}
		budget[match[1] as string] = Number(match[2]);
	}
	return decodeOrThrow(searchBudgetSchema, budget, option);
}

/** Parses strategy parameters such as "n=16" or "mode=vote". */
export function paramsOf(written: readonly string[]): Record<string, unknown> {
	return Object.fromEntries(
		written.map((entry) => {
			const at = entry.indexOf('=');
			if (at < 1) throw new Failure('invalid', `Invalid --param value "${entry}".`, 'Use the format --param n=16.');
			return [entry.slice(0, at).trim(), paramValue(entry.slice(at + 1))];
		}),
	);
}

function paramValue(written: string): unknown {
	try {
		return JSON.parse(written);
	} catch {
		return written;
	}
}

/** Returns the entries whose value is defined. */
export function given(entries: Record<string, unknown>): Record<string, unknown> {
	return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

async function readObject(path: string, option: string): Promise<Record<string, unknown>> {
	const file = resolve(path);
	return parsed(await readSmallFile(dirname(file), basename(file)), option);
}

function parsed(written: string, option: string): Record<string, unknown> {
	let value: unknown;
	try {
		value = JSON.parse(written);
	} catch (error) {
		throw new Failure('invalid', `${option} is not valid JSON: ${(error as Error).message}.`);
	}
	if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
	throw new Failure('invalid', `${option} is not a JSON object.`);
}
