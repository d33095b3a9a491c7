import { realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { isInside } from '../../files/isInside.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { plainScorers, type ScorerSpec, type SearchSpec, searchSpecSchema } from '../../protocol/searchSpec.ts';
import { readSearchSummary } from '../../runs/searchLog.ts';
import { continueSearch } from '../../search/searchSession.ts';
import * as input from '../inputs.ts';
import type { KnownRun, Runs } from '../runs.ts';
import { requireOwn, searchBudget, startSearchJob } from '../searchJob.ts';
import { defineAction } from '../tool.ts';

export const continueSearchTool = defineAction({
	name: 'continue_search',
	title: 'Continue a search',
	description:
		"Continue a run's search in its log with an additional budget, everywhere or below one node, and return immediately. read_job returns progress and the result. Works only for searches that this user started with a checkpoint of the run. Uses the device, and runs the code of the reward file or environment of the search if it has one.",
	effect: 'control',
	input: v.object({
		run: input.run,
		search: input.text('Search, as returned by list_searches.'),
		node: v.optional(input.described(input.whole(0, 1e9), 'Continue only below this node. Default: everywhere.')),
		...searchBudget,
	}),
	async run({ run: named, search, node, tokens, seconds }, { runs, searches, actions, signal }) {
		const run = await runs.find(named);
		await requireOwn(run);
		actions.jobs.requireRoom();
		const log = await searches.pathOf(run.name, search);
		const spec = await specOf(log);
		await requireOffered(spec, run, runs);
		const address = formatAddress({ kind: 'search', run: run.name, search, tree: 1, node: node ?? null });
		const subject = { run: run.name, search, address, strategy: spec.strategy };
		const upperBound = [spec.guide, spec.judge].some((scorer) => scorer?.use === 'reward' && scorer.gold);
		const action = node === undefined ? ({ action: 'more' } as const) : ({ action: 'branch', node } as const);
		return await startSearchJob({ actions, run, subject, upperBound, signal }, (context, stop) =>
			continueSearch({ log, budget: { tokens, seconds }, action, context, signal: stop }),
		);
	},
});

async function specOf(log: string): Promise<SearchSpec> {
	const given = (await readSearchSummary(log))?.start.spec;
	if (given !== undefined) return decodeOrThrow(searchSpecSchema, given, `The specification in ${basename(log)}`);
	throw new Failure(
		'unsupported',
		`${basename(log)} does not specify how to continue the search.`,
		'Start a new search for the same problem.',
	);
}

/**
 * Fails unless `start_search` could have started the search, so that agents cannot use other servers, programs or code.
 * Searches over episodes are also accepted if the environment is a file inside the server's folders.
 */
async function requireOffered(spec: SearchSpec, run: KnownRun, runs: Runs): Promise<void> {
	const { policy, guide, judge, environment, tools } = spec;
	if (!(await belongsTo(policy, run))) throw unsupported(`its policy is not a checkpoint of ${run.name}`);
	if (tools.length > 0) throw unsupported('it uses tools');
	for (const scorer of [guide, judge]) await requireScorer(scorer, runs);
	if (environment === undefined) return;
	if (environment.file === undefined) throw unsupported('its environment is not a file');
	await runs.fileWithin(environment.file);
}

async function belongsTo(policy: PolicySpec, run: KnownRun): Promise<boolean> {
	if (policy.kind !== 'checkpoint' && policy.kind !== 'engine') return false;
	const real = (path: string) => realpath(path).catch(() => path);
	const [folder, place] = await Promise.all([
		real(run.folder),
		real(policy.kind === 'engine' ? policy.run : policy.folder),
	]);
	return policy.kind === 'engine' ? place === folder : isInside(place, folder);
}

async function requireScorer(scorer: ScorerSpec | null, runs: Runs): Promise<void> {
	if (scorer === null || scorer.use === 'environment') return;
	if (scorer.use === 'reward') {
		const { reward } = scorer;
		if (typeof reward === 'string') return;
		// A built-in reward's options can specify servers and programs.
		if (typeof reward.file !== 'string') throw unsupported('its reward has options');
		await runs.fileWithin(reward.file);
		return;
	}
	if (!plainScorers.includes(scorer.use) || 'model' in scorer) throw unsupported(`it uses the scorer ${scorer.use}`);
}

const unsupported = (why: string): Failure =>
	new Failure(
		'unsupported',
		`The search cannot be continued here, because ${why}.`,
		'Continue it in the editor, or start a new search.',
	);
