import * as v from 'valibot';
import { checkAborted } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { Random } from '../../base/random.ts';
import { trainedPolicy } from '../../core/episode/episodePolicies.ts';
import { turnsOf } from '../../core/search/episodeTurns.ts';
import { SearchStop } from '../../core/search/searchStop.ts';
import type { SearchTree } from '../../core/search/searchTree.ts';
import type { TreeNode } from '../../core/search/treeNode.ts';
import type { EnvironmentData } from '../../episodes/environmentData.ts';
import { type Episode, type EpisodeError, episodeErrorKinds } from '../../protocol/episode.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { type SearchEnvironment, searchSpecSchema } from '../../protocol/searchSpec.ts';
import { samplingStrategy } from '../compare/sampling.ts';
import { OpenSearch } from '../openSearch.ts';
import type { SearchContext } from '../searchContext.ts';
import type { OpenEpisodes } from './openEpisodes.ts';

type Row = EnvironmentData['rows'][number];

/** Number of rows whose episodes are played at the same time, so that a policy can sample them as a batch. */
const atOnce = 16;

export interface PolicyEpisodes {
	/** Policy name. */
	readonly name: string;
	/** One per row, with the policy name {@link trainedPolicy}. */
	readonly episodes: readonly Episode[];
}

export interface PolicyEpisodesOptions {
	readonly policy: PolicySpec;
	readonly environment: SearchEnvironment;
	/** The open environment. The caller disposes of it. */
	readonly episodes: OpenEpisodes;
	readonly rows: readonly Row[];
	readonly seed: number;
	readonly context: SearchContext;
	readonly signal: AbortSignal;
	/** Called when an episode has ended. */
	readonly onPlayed?: () => void;
}

/**
 * Lets a policy play one episode per row. Fails with the same errors as `OpenSearch.open`, with `unavailable` if the
 * policy fails, and with `cancelled`.
 */
export async function policyEpisodes(options: PolicyEpisodesOptions): Promise<PolicyEpisodes> {
	const { policy, environment, rows, seed, context, signal, onPlayed } = options;
	const spec = v.parse(searchSpecSchema, {
		...{ policy, environment, seed, concurrency: atOnce, split: 'completion', judge: { use: 'environment' } },
		...{ strategy: 'self-consistency', params: { n: 1 } },
	});
	const search = await OpenSearch.open(spec, context, signal, options.episodes);
	try {
		const episodes: Episode[] = [];
		const play = async (row: Row) => {
			const episode = await playRow(search, row, seed, signal);
			onPlayed?.();
			return episode;
		};
		for (let from = 0; from < rows.length; from += atOnce) {
			episodes.push(...(await Promise.all(rows.slice(from, from + atOnce).map(play))));
		}
		return { name: search.policy.name, episodes };
	} finally {
		search.dispose();
	}
}

async function playRow(search: OpenSearch, { row, columns }: Row, seed: number, signal: AbortSignal): Promise<Episode> {
	const start = performance.now();
	const ended = (played: Pick<Episode, 'turns' | 'reward' | 'stop'> & Partial<Episode>): Episode => ({
		...{ row, policy: trainedPolicy, observation: null, durationMs: performance.now() - start, logs: [] },
		...played,
	});
	const failed = (during: 'reset' | 'call', message: string): Episode => {
		return ended({ turns: [], reward: null, stop: 'failed', error: { during, ...faultOf(message) } });
	};
	let problem: Awaited<ReturnType<OpenSearch['pose']>>;
	try {
		problem = await search.pose({ prompt: '', answer: null, row: { ...columns } });
	} catch (error) {
		if (!(error instanceof SearchStop)) throw error;
		return failed('reset', error.message);
	}
	let fault: string | null = null;
	const { outcome, tree, message } = await search.run({
		problem,
		onEvent: (event) => {
			if (event.t === 'fault' && event.part === 'tool') fault = event.message;
		},
		strategy: samplingStrategy('judge'),
		seed: Random.of(seed, 'verify', row).uint32(),
		signal,
	}).result;
	checkAborted(signal);
	if (outcome.stop === 'policy' || outcome.stop === 'scorer') {
		throw new Failure('unavailable', `The policy did not play an episode: ${message ?? 'it returned no text'}`);
	}
	const node = tree.nodes.find(({ final }) => final);
	if (node === undefined) return failed('call', message ?? 'The environment failed.');
	if (fault !== null) return { ...failed('call', fault), ...playedTurns(tree, node, Infinity), stop: 'failed' };
	return ended({ ...playedTurns(tree, node, search.spec.environment?.maxTurns ?? Infinity), reward: node.score });
}

/** Splits a search fault, such as "timeout: It took longer than 5 s.", into its kind and message. */
function faultOf(text: string): Pick<EpisodeError, 'kind' | 'message'> {
	const [, written, message = ''] = /^([a-z]+): ([\s\S]*)$/.exec(text) ?? [];
	const kind = episodeErrorKinds.find((one) => one === written);
	return kind === undefined ? { kind: 'invalid', message: text } : { kind, message };
}

function playedTurns(tree: SearchTree, node: TreeNode, maxTurns: number): Pick<Episode, 'turns' | 'stop'> {
	const turns = turnsOf(tree, node.id);
	const played = turns.filter(({ calls }) => calls.length > 0);
	// If an episode ends with calls before the limit, the environment ended it.
	const byCalls = played.length < maxTurns ? 'done' : 'turns';
	return {
		turns: played.map(({ calls }) => ({
			calls: calls.map(({ name, arguments: given }) => ({ name, arguments: given })),
			results: calls.map(({ name, result, failed }) => ({ name, content: result, failed })),
			done: null,
			durationMs: 1000 * calls.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0),
		})),
		stop: turns.length > played.length ? 'policy' : byCalls,
	};
}
