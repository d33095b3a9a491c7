import { Failure } from '../../../base/failure.ts';
import { isSuccess } from '../../../core/episode/episodeSuccess.ts';
import { type LatentForm, latentFormIn } from '../../../core/latent/latentCurriculum.ts';
import { isReinforced } from '../../../core/recipe/resolvedRecipe.ts';
import { conversation } from '../../../core/reward/verification/rowsToVerify.ts';
import { latentPlaces } from '../../../core/text/latentTags.ts';
import type { Tokenizer } from '../../../core/text/tokenizer.ts';
import type { ThoughtLine } from '../../../protocol/evaluation.ts';
import { environmentFailures } from '../../shared/environmentFailures.ts';
import {
	type EvaluatedSample,
	type Evaluation,
	EvaluationJudge,
	type EvaluationSettings,
} from '../../shared/evaluation.ts';
import { describeFailures } from '../../shared/scoreBatch.ts';
import type { ThoughtReading } from '../learner.ts';
import { likelyTokens } from './completionOf.ts';
import { type EpisodePlayer, TooManyFailed } from './episodes/episodePlayer.ts';
import type { PosedProblem } from './problemFeed.ts';
import type { StageHost, TrainingParts } from './stageHost.ts';

/** Number of completions sampled per batch. */
const chunkRows = 1024;

/**
 * Returns the maximum completion length for evaluations: the limit set in the RL stages, or the whole context. Rows always
 * end at the context limit.
 */
function completionLimit({ recipe, learner }: TrainingParts): number {
	const wanted = recipe.stages.map((stage) => (isReinforced(stage) ? stage.max_completion_length : 0));
	return Math.max(...wanted) || learner.shape.context;
}

/**
 * Measures the accuracy of the current weights by sampling completions for the fixed held-out problems. Uses separate
 * random streams, so training is not affected. Skips problems without a gold answer. Throws `unavailable` if accuracy
 * cannot be measured and, while episodes are played, `cancelled` if the run must stop.
 */
export async function evaluate(host: EvaluationHost, step: number, settings: EvaluationSettings): Promise<Evaluation> {
	const { parts } = host;
	const latent = latentFormIn(parts.recipe.stages, host.progress);
	const posed = parts.feed.heldOut(settings.problems, latent);
	const limit = completionLimit(parts);
	const rows = posed.flatMap((problem, i) =>
		Array.from({ length: settings.samples }, (_, sample) => ({ posed: problem, problem: i, sample })),
	);
	const judge = new EvaluationJudge(parts.rewards, step);
	for (let start = 0; start < rows.length; start += chunkRows) {
		const chunk = rows.slice(start, start + chunkRows);
		const seeds = chunk.map((row) => `${parts.recipe.seed}/${settings.name}/${step}/${row.problem}/${row.sample}`);
		const answers =
			parts.episodes === null
				? await completions(parts, chunk, { seeds, temperature: settings.temperature, limit, latent })
				: await episodes(host, parts.episodes, chunk, { seeds, temperature: settings.temperature, limit, step });
		await judge.add(
			chunk.map(({ posed: { problem }, ...place }, i) => {
				const { answer, row } = problem;
				return { ...place, answer, row, ...(answers[i] as Answer) };
			}),
		);
	}
	return judge.result(settings);
}

type EvaluationHost = Pick<StageHost, 'parts' | 'progress' | 'interrupt' | 'noteFailures'>;
type Answer = Pick<
	EvaluatedSample,
	'prompt' | 'completion' | 'messages' | 'truncated' | 'correct' | 'episode' | 'thoughts'
>;
interface Sampling {
	readonly seeds: readonly string[];
	readonly temperature: number;
	readonly limit: number;
}

async function completions(
	{ learner, tokenizer }: TrainingParts,
	rows: readonly { readonly posed: PosedProblem }[],
	{ seeds, temperature, limit, latent }: Sampling & { readonly latent: LatentForm | null },
): Promise<Answer[]> {
	const thoughts = latent === null ? {} : { thoughts: latentPlaces(tokenizer, latent.thoughts) };
	const prompts = rows.map(({ posed }) => posed.promptTokens);
	const samples = await learner.sample({ prompts, seeds, maxNewTokens: limit, temperature, ...thoughts });
	return samples.map(({ tokens, promptLength, truncated, thoughts: reading }, i) => ({
		prompt: rows[i]?.posed.prompt as string,
		completion: tokenizer.decode(tokens.slice(promptLength)),
		truncated,
		...(reading === undefined ? {} : { thoughts: thoughtLines(reading, tokenizer) }),
	}));
}

/** Returns the most likely tokens of each latent thought, as written to evaluation files. */
function thoughtLines(reading: ThoughtReading, tokenizer: Tokenizer): ThoughtLine[] {
	const rounded = (logprob: number) => Math.round(logprob * 1e4) / 1e4;
	return likelyTokens(reading, tokenizer).map((top) => ({
		top: top.map(([text, logprob]) => ({ text, logprob: rounded(logprob) })),
	}));
}

/**
 * Plays an episode for each row. If the environment provides rewards, an episode is correct if it earns the maximum
 * reward. Failed episodes are not counted; if so many fail that training would pause, they are played once more.
 */
async function episodes(
	host: EvaluationHost,
	player: EpisodePlayer,
	rows: readonly { readonly posed: PosedProblem }[],
	{ seeds, temperature, limit, step }: Sampling & { readonly step: number },
): Promise<Answer[]> {
	const { recipe, learner } = host.parts;
	const { ownsReward, rewardRange } = player.environment.description;
	const failuresOf = (failed: number, first: TooManyFailed['first']) =>
		environmentFailures('environment', player.environment.name, { failed, rows: rows.length, ...first });
	const play = () =>
		player.play({
			problems: rows.map(({ posed }) => posed.problem),
			seeds,
			temperature,
			maxCompletionLength: limit,
			sample: (request) => learner.sample(request),
			signal: host.interrupt,
			tolerated: recipe.scoring.pauseAbove,
		});
	const played = await play()
		.catch(async (error: unknown) => {
			if (!(error instanceof TooManyFailed)) throw error;
			await player.reload();
			return await play();
		})
		.catch((error: unknown) => {
			if (!(error instanceof TooManyFailed)) throw error;
			const why = describeFailures(failuresOf(error.failed, error.first));
			throw new Failure(
				'unavailable',
				`Accuracy could not be measured at step ${step}. ${why}`,
				'Fix the cause, then resume the run.',
			);
		});
	const failed = played.flatMap(({ episode: { error } }, index) => (error === undefined ? [] : [{ index, error }]));
	if (failed[0] !== undefined) host.noteFailures(failuresOf(failed.length, failed[0]));
	return played.map(({ posed: { prompt }, completion, messages, sample: { truncated }, reward, episode }) => ({
		prompt,
		completion,
		messages: conversation(prompt, messages),
		truncated,
		episode,
		...(episode.error !== undefined
			? { correct: null }
			: ownsReward
				? { correct: isSuccess(reward, rewardRange) }
				: {}),
	}));
}
