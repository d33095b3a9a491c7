import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { PerToken } from '../learner.ts';
import { observedRanges } from './episodes/conversation.ts';
import type { Rollout, SamplingStage } from './rollout.ts';
import type { StageHost } from './stageHost.ts';
import { overAll } from './trainedTokens.ts';
import type { TrainingRow } from './trainingRow.ts';

/** Rounds to 1e-6 nats. f32 log-probabilities are no more precise than that, and rounding halves the file size. */
function rounded(values: PerToken): number[] {
	return Array.from(values, (value) => Math.round(value * 1e6) / 1e6);
}

function extraOf({ errors, episode, sample }: Rollout, withTokens: boolean): Pick<RolloutLine, 'extra'> {
	const extra = {
		...(withTokens ? {} : { length: sample.tokens.length - sample.promptLength }),
		...(errors === null ? {} : { errors }),
		...(episode === undefined ? {} : { episode }),
		...(sample.trained === undefined ? {} : { observed: observedRanges(sample.trained) }),
	};
	return Object.keys(extra).length === 0 ? {} : { extra };
}

/** Returns the version of the weights that generated each token; null for tokens from an environment. */
const versions = ({ tokens, promptLength, trained }: Rollout['sample'], version: number): (number | null)[] =>
	Array.from({ length: tokens.length - promptLength }, (_, t) => (trained?.[t] === 0 ? null : version));

/** Yields the rollouts from a generation batch in the format of rollouts/step_N.jsonl. */
export function* rolloutLines(
	host: StageHost,
	stage: SamplingStage,
	rows: readonly TrainingRow[],
	version: number | null = null,
): Generator<RolloutLine> {
	const { tokenizer, recipe } = host.parts;
	const step = host.progress.step + 1;
	for (const [i, { rollout, advantage, tokenAdvantages, oldLogprobs, refLogprobs }] of rows.entries()) {
		const { posed, sample } = rollout;
		yield {
			step,
			stage: stage.type,
			group: Math.floor(i / stage.num_generations),
			index: i % stage.num_generations,
			prompt: posed.prompt,
			completion: rollout.messages === undefined ? rollout.completion : [...rollout.messages],
			answer: posed.problem.answer,
			row: posed.problem.row,
			rewards: { ...rollout.rewards },
			reward: rollout.reward,
			advantage,
			truncated: sample.truncated,
			...extraOf(rollout, recipe.log.tokens),
			...(recipe.log.tokens
				? {
						tokens: {
							text: sample.tokens.slice(sample.promptLength).map((token) => tokenizer.symbols[token] ?? ''),
							logprob: rounded(sample.logprobs),
							...(oldLogprobs ? { oldLogprob: rounded(oldLogprobs) } : {}),
							...(refLogprobs ? { refLogprob: rounded(refLogprobs) } : {}),
							entropy: rounded(sample.entropies),
							...(tokenAdvantages ? { advantage: rounded(overAll(tokenAdvantages, sample.trained)) } : {}),
							...(version === null ? {} : { version: versions(sample, version) }),
						},
					}
				: {}),
		};
	}
}
