import { Failure } from '../../../../base/failure.ts';
import type { ProblemSource } from '../../../../core/dataset/problemSource.ts';
import { renderToolCall } from '../../../../core/episode/toolCallText.ts';
import type { ResolvedRecipe } from '../../../../core/recipe/resolvedRecipe.ts';
import type { ToolSchema } from '../../../../protocol/environmentHost.ts';
import type { Episode } from '../../../../protocol/episode.ts';
import { demonstrationDefaults, playDemonstration } from './demonstrations.ts';
import type { OpenedEnvironment } from './openedEnvironment.ts';

/** Text that a new model must be able to read and write, in addition to the dataset. */
export interface Rehearsal {
	/** Text whose characters belong in the vocabulary. */
	readonly texts: readonly string[];
	/** Length of the longest text from `reset`, in characters. */
	readonly observation: number;
	/** Length of the longest demonstration, in tokens; 0 if no stage trains on them. */
	readonly demonstration: number;
}

/** Number of problems of each kind to play. */
const problems = 32;

/** Printable ASCII and the line break: the characters of error messages and calls. */
const ascii = `\n${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}`;

/**
 * Plays episodes before a model exists, to learn which characters the environment uses and how long its text is. Half
 * of the episodes follow the solutions in their rows, if there are any. Failed episodes contribute their text so far.
 * Fails with `invalid` if all of them fail, and with `cancelled` when the signal aborts.
 */
export async function rehearse(
	environment: OpenedEnvironment,
	{ seed, stages }: Pick<ResolvedRecipe, 'seed' | 'stages'>,
	source: ProblemSource,
	signal?: AbortSignal,
): Promise<Rehearsal> {
	const shown = stages.flatMap((stage) =>
		stage.type === 'sft' ? [stage.demonstrations ?? demonstrationDefaults] : [],
	);
	const maxTurns = Math.max(demonstrationDefaults.maxTurns, ...shown.map((settings) => settings.maxTurns));
	const count = Math.min(problems, source.trainingRows ?? problems);
	const training = Array.from({ length: count }, (_, i) => source.training(seed, i));
	const played: Episode[] = [];
	for (const [i, problem] of [...training, ...source.heldOut(problems)].entries()) {
		if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
		played.push(await playDemonstration(environment, problem, { gold: 0.5, maxTurns }, seed, i));
	}
	const error = played[0]?.error;
	if (error !== undefined && played.every((episode) => episode.error !== undefined)) {
		const where = error.line === undefined ? '' : ` (line ${error.line})`;
		throw new Failure(
			'invalid',
			`The environment ${environment.name}${where} failed on all ${played.length} rows tested: ${error.message}.`,
			'Verify it with "reasoning-lab verify-environment".',
		);
	}
	const { tools } = environment;
	const texts = played.flatMap(({ observation, turns }) => [
		observation ?? '',
		...turns.flatMap(({ calls, results }) => [
			...calls.map((call) => renderToolCall(call, tools)),
			...results.map(({ content }) => content),
		]),
	]);
	const longest = (lengths: readonly number[]) => lengths.reduce((max, length) => Math.max(max, length), 0);
	return {
		// Text may contain characters that cannot be in a vocabulary; they are replaced when it is read.
		texts: [ascii, ...texts.map((text) => text.toWellFormed())],
		observation: longest(played.map(({ observation }) => characters(observation ?? ''))),
		demonstration: shown.length === 0 ? 0 : longest(played.map((episode) => demonstrationLength(episode, tools))),
	};
}

/** Returns the number of tokens in an episode after its prompt. */
function demonstrationLength({ turns }: Episode, tools: readonly ToolSchema[]): number {
	const text = turns.flatMap(({ calls, results }) => [
		...calls.map((call) => renderToolCall(call, tools)),
		...results.map(({ content }) => content),
	]);
	// Each call or result has two tags, and each turn has an end token, including the turn that ends the episode.
	return text.reduce((sum, one) => sum + characters(one) + 2, turns.length + 1);
}

function characters(text: string): number {
	let count = 0;
	for (const _ of text) count++;
	return count;
}
