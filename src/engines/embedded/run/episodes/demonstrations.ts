import { Failure } from '../../../../base/failure.ts';
import { Random } from '../../../../base/random.ts';
import type { Problem } from '../../../../core/dataset/problem.ts';
import { randomPolicy, scriptPolicy } from '../../../../core/episode/episodePolicies.ts';
import { type Solution, solutionColumn, solutionOf } from '../../../../core/episode/solution.ts';
import type { ResolvedSftStage } from '../../../../core/recipe/resolvedRecipe.ts';
import { runEpisode } from '../../../../episodes/runEpisode.ts';
import type { Episode } from '../../../../protocol/episode.ts';
import { environmentFailures } from '../../../shared/environmentFailures.ts';
import type { ImitatedSequence } from '../imitation/imitationUpdate.ts';
import { ScoringFailed } from '../rollout.ts';
import type { StageHost, Verdict } from '../stageHost.ts';
import { Conversation } from './conversation.ts';
import type { EpisodePlayer } from './episodePlayer.ts';
import type { EpisodeText } from './episodeText.ts';
import type { OpenedEnvironment } from './openedEnvironment.ts';

export interface DemonstrationSettings {
	/** Fraction of episodes that follow the row's solution. */
	readonly gold: number;
	readonly maxTurns: number;
}

/** Default settings of a stage. */
export const demonstrationDefaults: DemonstrationSettings = { gold: 1, maxTurns: 10 };

/** Number of consecutive unusable episodes after which the stage fails. */
const patience = 1000;

/** Returns the demonstration for a problem. The same number always yields the same calls. */
export async function playDemonstration(
	{ runner, description, columns }: OpenedEnvironment,
	problem: Problem,
	{ gold, maxTurns }: DemonstrationSettings,
	seed: number,
	number: number,
): Promise<Episode> {
	const row = columns(problem);
	const script = Random.of(seed, 'demonstration', number).next() < gold ? solutionOf(row).turns : null;
	const session = runner.start(row, { instance: 0 });
	try {
		const episode = await runEpisode({
			session,
			row: number,
			columns: row,
			policy: script === null ? 'random' : 'gold',
			act: script === null ? randomPolicy(description.tools, seed, 'demonstration', number) : scriptPolicy(script),
			...(script === null ? {} : { script: script.slice(0, maxTurns) }),
			maxTurns,
			ownsReward: false,
			stopWhenDone: true,
		});
		// A truncated solution must not be imitated as if it ended here.
		const cut = script !== null && script.length > maxTurns && episode.stop === 'policy';
		return cut ? { ...episode, stop: 'turns' } : episode;
	} finally {
		await session.end();
	}
}

/** Returns an episode as a sequence to imitate. It ends with an empty turn if the policy ended it. */
export function demonstrationTokens(text: EpisodeText, problem: Problem, episode: Episode): ImitatedSequence {
	const conversation = new Conversation(text.pose(problem, episode.observation).promptTokens);
	for (const { calls, results, done } of episode.turns) {
		conversation.addTurn(text.turn(calls));
		conversation.addAnswer(text.answer(results));
		if (done === true) break;
	}
	const last = episode.turns.find(({ done }) => done === true);
	if (last === undefined && episode.stop === 'policy') conversation.addTurn(text.turn([]));
	const { tokens, promptLength, trained } = conversation.sample(false);
	return { tokens, promptLength, trained };
}

/**
 * Returns the demonstrations of one update. If too many episodes failed, the batch is played again when the user
 * continues. Returns `stop` if it will not be played again.
 */
export async function nextDemonstrations(
	host: StageHost,
	player: EpisodePlayer,
	stage: ResolvedSftStage,
): Promise<readonly ImitatedSequence[] | 'stop'> {
	const { feed } = host.parts;
	for (;;) {
		const { cursor } = feed;
		try {
			return await host.watch.measure('environment', () => demonstrations(host, player, stage));
		} catch (error) {
			feed.cursor = cursor;
			let verdict: Verdict;
			if (error instanceof ScoringFailed) {
				verdict = await host.holdBatch(error.failures);
				await player.reload();
			} else if (Failure.from(error).reason === 'cancelled' && host.interrupt.aborted) {
				verdict = await host.openGate();
			} else throw error;
			if (verdict === 'stop') return 'stop';
		}
	}
}

async function demonstrations(
	host: StageHost,
	player: EpisodePlayer,
	stage: ResolvedSftStage,
): Promise<ImitatedSequence[]> {
	const { feed, recipe, learner } = host.parts;
	const { environment, text } = player;
	const settings = stage.demonstrations ?? demonstrationDefaults;
	const rows: ImitatedSequence[] = [];
	const solutions: Solution[] = [];
	let failed = 0;
	let unusable = 0;
	while (rows.length < stage.batch_size) {
		if (host.interrupt.aborted) throw new Failure('cancelled', 'Canceled.');
		const { problem, number } = feed.next();
		solutions.push(solutionOf(environment.columns(problem)));
		const episode = await playDemonstration(environment, problem, settings, recipe.seed, number);
		if (episode.error !== undefined) {
			failed++;
			const about = { failed, rows: stage.batch_size, index: number, error: episode.error };
			const failures = environmentFailures('environment', environment.name, about);
			if (failed > recipe.scoring.pauseAbove * stage.batch_size) throw new ScoringFailed(failures);
			host.noteFailures(failures);
		} else {
			const row = demonstrationTokens(text, problem, episode);
			if (row.tokens.length <= learner.shape.context) {
				rows.push(row);
				unusable = 0;
				continue;
			}
		}
		if (++unusable === patience) {
			throw new Failure(
				'invalid',
				`The last ${patience} demonstrations could not be used: they failed or did not fit the context of ${learner.shape.context} tokens.`,
				'Increase "context" in the recipe, reduce "maxTurns" in "demonstrations", or fix the environment.',
			);
		}
	}
	if (host.progress.stageStep === 0 && settings.gold > 0) noteLacking(host, solutions);
	return rows;
}

/** Warns if no row has a solution, because the model would then silently learn from random calls. */
function noteLacking(host: StageHost, solutions: readonly Solution[]): void {
	if (solutions.some(({ turns }) => turns !== null)) return;
	const why = solutions.find(({ fault }) => fault !== undefined)?.fault;
	const message = why ?? `The rows of the first batch have no "${solutionColumn}" column with solutions`;
	host.alert('warning', `${message}. Demonstrations consist of random calls instead.`);
}
