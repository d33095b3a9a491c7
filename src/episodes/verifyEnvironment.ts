import { checkAborted } from '../base/async.ts';
import { environmentLanguage } from '../core/episode/environmentLanguage.ts';
import {
	type EpisodePolicy,
	type EpisodePolicyName,
	episodePolicies,
	randomPolicy,
	scriptPolicy,
	trainedPolicy,
	wrongScript,
} from '../core/episode/episodePolicies.ts';
import { episodeStatistics } from '../core/episode/episodeStatistics.ts';
import { environmentFindings } from '../core/episode/findings/environmentFindings.ts';
import { labelDifference } from '../core/episode/labeledEpisode.ts';
import { solutionOf } from '../core/episode/solution.ts';
import type { EnvironmentDescription } from '../protocol/environmentHost.ts';
import type { EnvironmentVerification, LabeledResult } from '../protocol/environmentVerification.ts';
import type { Episode, ToolCall } from '../protocol/episode.ts';
import type { EnvironmentData } from './environmentData.ts';
import type { EnvironmentRunner } from './environmentRunner.ts';
import { repeatEpisodes } from './repeatEpisodes.ts';
import { runEpisode } from './runEpisode.ts';

export interface VerifyOptions {
	/** Maximum number of turns for the random policy. */
	readonly turns: number;
	readonly seed: number;
	readonly signal?: AbortSignal;
	/** Plays one episode per row with a trained policy, under the policy name `policy`. */
	readonly trained?: (rows: EnvironmentData['rows']) => Promise<readonly Episode[]>;
}

/**
 * Number of episodes that may terminate their process before the rest are skipped, because each one can take as long as
 * the time limit.
 */
const maxLost = 4;
/** Maximum number of turns for the other policies, whose scripts have a fixed length. */
const scriptedTurns = 1000;

/**
 * Plays episodes with all built-in policies and reports what is wrong with the environment. Fails with the same errors
 * as `EnvironmentRunner.describe`, or with `cancelled`; anything else that goes wrong is reported as a finding.
 */
export async function verifyEnvironment(
	runner: EnvironmentRunner,
	data: EnvironmentData,
	options: VerifyOptions,
): Promise<EnvironmentVerification> {
	const start = performance.now();
	const environment = await runner.describe();
	const episodes: Episode[] = [];
	const remarks = [...data.remarks];
	const plan = data.rows.flatMap(({ row, columns }) =>
		policiesOf(environment, row, columns, options.seed).map((policy) => ({ row, columns, ...policy })),
	);
	let lost = 0;
	for (const { row, columns, ...policy } of plan) {
		checkAborted(options.signal);
		if (lost >= maxLost) {
			remarks.push(
				`${plan.length - episodes.length} of ${plan.length} episodes were skipped because ${lost} terminated their process.`,
			);
			break;
		}
		const episode = await playPolicy(runner, environment, { row, columns }, policy, options);
		episodes.push(episode);
		if (endsProcess(episode)) lost++;
	}
	if (options.trained !== undefined) {
		const why = unplayable(environment, lost);
		if (why === null) episodes.push(...(await options.trained(data.rows)));
		else remarks.push(`The policy played no episodes because ${why}.`);
	}
	const labeled = lost > 0 ? [] : await playLabeled(runner, environment, data.labeled, options.signal);
	const repeated = lost > 0 ? [] : await repeatEpisodes(runner, environment, data.rows, episodes, options);
	const { gold, policies } = statisticsOf(environment, episodes);
	const findings = environmentFindings({
		environment,
		language: environmentLanguage(runner.file),
		episodes,
		policies,
		gold,
		repeated,
		turnLimit: options.turns,
		labeled: data.labeled === undefined ? null : { ...data.labeled, results: labeled },
		solutionFaults: data.rows.flatMap(({ row, columns }) => {
			const { fault } = solutionOf(columns);
			return fault === undefined ? [] : [{ row, message: fault }];
		}),
	});
	return {
		file: runner.file,
		environment,
		dataset: data.described,
		rows: data.rows.length,
		solvable: data.rows.filter(({ columns }) => solutionOf(columns).turns !== null).length,
		policies,
		findings,
		turnMs: turnTimes(episodes),
		durationMs: performance.now() - start,
		files: [...runner.files, ...data.files],
		remarks,
		episodes,
		labeled,
	};
}

/** Plays labeled episodes and compares them with their labels. Stops after the first that terminates its process. */
export async function playLabeled(
	runner: EnvironmentRunner,
	{ ownsReward }: EnvironmentDescription,
	labeled: EnvironmentData['labeled'],
	signal: AbortSignal | undefined,
): Promise<LabeledResult[]> {
	const results: LabeledResult[] = [];
	for (const one of labeled?.episodes ?? []) {
		checkAborted(signal);
		const session = runner.start(one.row);
		const script = { act: scriptPolicy(one.turns), script: one.turns, maxTurns: scriptedTurns };
		const common = { session, row: one.line - 1, columns: one.row, policy: 'labeled', ownsReward, signal };
		const episode = await runEpisode({ ...common, ...script });
		await session.end();
		results.push({ label: one.label, line: one.line, difference: labelDifference(one, episode), episode });
		if (endsProcess(episode)) break;
	}
	return results;
}

/** Plays one episode with a policy. */
export async function playPolicy(
	runner: EnvironmentRunner,
	{ ownsReward }: EnvironmentDescription,
	{ row, columns }: EnvironmentData['rows'][number],
	{ maxTurns, ...policy }: PlannedPolicy,
	{ turns, signal, state = false }: Pick<VerifyOptions, 'turns' | 'signal'> & { readonly state?: boolean },
): Promise<Episode> {
	const session = runner.start(columns, { state });
	const episode = await runEpisode({
		...{ session, row, columns, ownsReward, signal, ...policy },
		maxTurns: maxTurns ?? turns,
	});
	await session.end();
	return episode;
}

/** A policy for one row. */
export interface PlannedPolicy {
	readonly policy: EpisodePolicyName;
	readonly act: EpisodePolicy;
	/** All calls, if they do not depend on tool results. */
	readonly script?: readonly (readonly ToolCall[])[];
	readonly maxTurns?: number;
}

/** Returns the policies to play on a row, the solution first. */
export function policiesOf(
	environment: EnvironmentDescription,
	row: number,
	columns: Readonly<Record<string, unknown>>,
	seed: number,
): PlannedPolicy[] {
	const { turns } = solutionOf(columns);
	const { tools } = environment;
	const scripted = (policy: EpisodePolicyName, script: PlannedPolicy['script'] & object): PlannedPolicy => {
		return { policy, act: scriptPolicy(script), script, maxTurns: scriptedTurns };
	};
	return [
		...(turns === null ? [] : [scripted('gold', turns)]),
		{ policy: 'random', act: randomPolicy(tools, seed, row) },
		scripted('idle', []),
		scripted('wrong', wrongScript(tools)),
	];
}

/** Returns why a policy cannot play; null if it can. */
function unplayable({ tools }: EnvironmentDescription, lost: number): string | null {
	if (lost >= maxLost) return `${lost} episodes terminated their process`;
	const unknown = tools.find(({ schema }) => schema === null);
	return unknown === undefined ? null : `the tool ${unknown.name} has no valid schema`;
}

function statisticsOf(environment: EnvironmentDescription, episodes: readonly Episode[]) {
	const gold = new Map<number, number>();
	for (const { policy, row, reward } of episodes) if (policy === 'gold' && reward !== null) gold.set(row, reward);
	const best = environment.rewardRange?.[1] ?? null;
	const policies = [...episodePolicies, trainedPolicy].flatMap((policy) => {
		const played = episodes.filter((episode) => episode.policy === policy);
		return played.length === 0 ? [] : [episodeStatistics(policy, played, gold, best)];
	});
	return { gold, policies };
}

function endsProcess({ error }: Episode): boolean {
	return error !== undefined && ['timeout', 'memory', 'processes', 'exited', 'load'].includes(error.kind);
}

function turnTimes(episodes: readonly Episode[]): EnvironmentVerification['turnMs'] {
	const times = episodes
		.filter(({ policy }) => policy !== 'wrong')
		.flatMap(({ turns }) => turns.filter(({ results }) => results.length > 0).map(({ durationMs }) => durationMs))
		.sort((a, b) => a - b);
	if (times.length === 0) return null;
	const mean = times.reduce((a, b) => a + b, 0) / times.length;
	return { mean, p95: times[Math.min(times.length - 1, Math.floor(0.95 * times.length))] as number };
}
