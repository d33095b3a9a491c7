import { hasText, type RolloutLine } from '../../protocol/rolloutLine.ts';
import { messageText } from '../trace/messageText.ts';
import { parseTrace, soleAnswer } from '../trace/parseTrace.ts';
import { findRepetition } from '../trace/repetition.ts';
import type { TraceTags } from '../trace/trace.ts';
import { judgesAnswer } from './rewardNames.ts';
import type { GroupFacts, StepFacts } from './stepFacts.ts';
import { limit } from './thresholds.ts';

/** Of longer completions the beginning is looked at. */
const longestText = 200_000;
/** Loops do not end: the end of a completion shows them, in a time that other work can wait for. */
const loopText = 20_000;

type Growing<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

function correctOf(rewards: RolloutLine['rewards']): boolean | null {
	const name = Object.hasOwn(rewards, 'accuracy') ? 'accuracy' : Object.keys(rewards).find(judgesAnswer);
	const value = name === undefined ? null : (rewards[name] ?? null);
	return value === null ? null : value > 0.5;
}

/** Whether the answer is marked as the template or, without one, the prompt asks for. */
function answeredOf(completion: string, prompt: string, tags: TraceTags | null): boolean | null {
	if (tags !== null) return tags.answer === null ? null : soleAnswer(parseTrace(completion, tags), tags) !== null;
	if (/\\boxed/.test(prompt)) return /\\boxed\s*\{/.test(completion);
	if (/<answer>/i.test(prompt)) return /<answer>[\s\S]*?\S[\s\S]*?<\/answer>/i.test(completion.slice(-20_000));
	return null;
}

/** Reduces the rollouts of one step, one after the other, so that texts need not be kept. */
export class FactsOfRollouts {
	readonly #tags: TraceTags | null;
	readonly #groups = new Map<number, { readonly facts: Growing<GroupFacts>; readonly texts: Set<string> }>();

	/** @param tags of the run's template; null: another trainer's run */
	constructor(tags: TraceTags | null) {
		this.#tags = tags;
	}

	add(rollout: RolloutLine): void {
		const completion = messageText(rollout.completion).slice(0, longestText);
		const prompt = this.#tags === null ? messageText(rollout.prompt).slice(-longestText) : '';
		let group = this.#groups.get(rollout.group);
		if (group === undefined) {
			group = {
				facts: {
					group: rollout.group,
					index: [],
					reward: [],
					correct: [],
					truncated: [],
					answered: [],
					repetition: [],
					distinct: 0,
				},
				texts: new Set(),
			};
			this.#groups.set(rollout.group, group);
		}
		const { facts, texts } = group;
		const known = hasText(rollout);
		texts.add(completion);
		facts.distinct = known && facts.distinct !== null ? texts.size : null;
		facts.index.push(rollout.index);
		facts.reward.push(rollout.reward !== null && Number.isFinite(rollout.reward) ? rollout.reward : null);
		facts.correct.push(correctOf(rollout.rewards));
		facts.truncated.push(rollout.truncated);
		facts.answered.push(known ? answeredOf(completion, prompt, this.#tags) : null);
		const { share, ngrams } = findRepetition(completion.slice(-loopText));
		facts.repetition.push(known ? (ngrams >= limit('loopWords') ? share : 0) : null);
	}

	of(step: number): StepFacts {
		return { step, groups: [...this.#groups.values()].map(({ facts }) => facts) };
	}
}
