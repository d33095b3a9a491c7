import { checkAborted } from '../base/async.ts';
import { episodeDifference, stateDifference } from '../core/episode/episodeDifference.ts';
import { scriptPolicy } from '../core/episode/episodePolicies.ts';
import type { RepeatedEpisode } from '../core/episode/findings/verificationEvidence.ts';
import type { EnvironmentDescription } from '../protocol/environmentHost.ts';
import type { Episode, ToolCall } from '../protocol/episode.ts';
import type { EnvironmentData } from './environmentData.ts';
import type { EnvironmentRunner } from './environmentRunner.ts';
import { runEpisode } from './runEpisode.ts';

/** Number of rows whose episodes are repeated. */
const maxRows = 5;
/** Instance numbers that do not collide with those of other episodes. */
const instances = { first: 1_000_001, second: 1_000_002, other: 1_000_003 } as const;

type Row = EnvironmentData['rows'][number];

/**
 * Repeats episodes with the same row and calls, and returns those that differ. The calls come from the solution or,
 * if there is none, from the random policy.
 */
export async function repeatEpisodes(
	runner: EnvironmentRunner,
	environment: EnvironmentDescription,
	rows: readonly Row[],
	episodes: readonly Episode[],
	{ seed, signal }: { readonly seed: number; readonly signal?: AbortSignal },
): Promise<RepeatedEpisode[]> {
	const scripts = rows.flatMap((row) => {
		const played = ['random', 'gold'].flatMap((policy) => {
			const episode = episodes.find((one) => one.policy === policy && one.row === row.row);
			return episode === undefined || episode.error !== undefined ? [] : [episode];
		});
		// The longest episode is the most likely to show a difference.
		const longest = played.sort((a, b) => b.turns.length - a.turns.length)[0];
		return longest === undefined ? [] : [{ ...row, calls: longest.turns.map(({ calls }) => calls) }];
	});
	const found: RepeatedEpisode[] = [];
	for (const [i, script] of scripts.slice(0, maxRows).entries()) {
		checkAborted(signal);
		const other = scripts[(i + 1) % scripts.length] ?? script;
		found.push(...(await new Repetition(runner, environment, seed, signal).repeat(script, other)));
		if (found.length >= 3) break;
	}
	return found;
}

interface Script extends Row {
	readonly calls: readonly (readonly ToolCall[])[];
}

class Repetition {
	readonly #runner: EnvironmentRunner;
	readonly #environment: EnvironmentDescription;
	readonly #seed: number;
	readonly #signal: AbortSignal | undefined;

	constructor(
		runner: EnvironmentRunner,
		environment: EnvironmentDescription,
		seed: number,
		signal: AbortSignal | undefined,
	) {
		this.#runner = runner;
		this.#environment = environment;
		this.#seed = seed;
		this.#signal = signal;
	}

	async repeat(script: Script, other: Script): Promise<RepeatedEpisode[]> {
		const { row } = script;
		const first = await this.#play(script, instances.first);
		const second = await this.#play(script, instances.second, true);
		const difference = episodeDifference(first, second) ?? stateDifference(first, second);
		if (difference !== null) return await this.#explain(script, difference);
		const repeated = (again: RepeatedEpisode['difference'] | null): RepeatedEpisode[] =>
			again === null ? [] : [{ row, where: 'again', difference: again }];
		if (this.#environment.concurrent === false) {
			return repeated(episodeDifference(first, await this.#play(script, instances.first, true)));
		}
		const [beside] = await Promise.all([
			this.#play(script, instances.second, true, true),
			this.#play(other, instances.other, true, true),
		]);
		const shared = episodeDifference(first, beside);
		const again = episodeDifference(first, await this.#play(script, instances.first, true));
		return [...(shared === null ? [] : [{ row, where: 'beside' as const, difference: shared }]), ...repeated(again)];
	}

	/**
	 * Determines why two instances in one process produced different episodes: because of randomness, which also differs
	 * between processes with different seeds, or because they share state.
	 */
	async #explain(script: Script, difference: RepeatedEpisode['difference']): Promise<RepeatedEpisode[]> {
		const { row } = script;
		await this.#runner.restart(this.#seed + 1);
		const first = await this.#play(script, instances.first, true);
		await this.#runner.restart(this.#seed + 2);
		const second = await this.#play(script, instances.first, true);
		await this.#runner.restart(this.#seed);
		const random = episodeDifference(first, second) ?? stateDifference(first, second);
		if (random !== null) return [{ row, where: 'new', difference }];
		// Differences in state alone can be legitimate, such as instance numbers.
		return difference.what === 'state' ? [] : [{ row, where: 'beside', difference }];
	}

	/** @param stepwise whether to play turn by turn, so that concurrent episodes alternate */
	async #play(script: Script, instance: number, discard = false, stepwise = false): Promise<Episode> {
		const { row, columns, calls } = script;
		const session = this.#runner.start(columns, { instance, state: true });
		const act = scriptPolicy(calls);
		const { ownsReward } = this.#environment;
		const common = { session, row, columns, policy: 'repeat', act, maxTurns: calls.length, ownsReward };
		const whole = stepwise ? {} : { script: calls };
		const episode = await runEpisode({ ...common, ...whole, signal: this.#signal });
		await session.end({ discard });
		return episode;
	}
}
