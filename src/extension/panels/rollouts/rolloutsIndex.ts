import { mean, sampleStd } from '../../../core/grpo/advantages/groupAdvantages.ts';
import { messageText } from '../../../core/trace/messageText.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { GroupSummary, StepContent } from '../../../protocol/rolloutsMessages.ts';
import type { RolloutPlace, RunFault } from '../../../runs/runContent.ts';
import { displayText } from '../../runView.ts';
import { correctness, finite, tokenCount, valueText } from './rolloutText.ts';

/** Cached data for a step whose file has been read: locations of completions, but not their text. */
export interface StepIndex {
	readonly content: StepContent;
	/** Maps groups to the locations of their rollouts, by rollout index. */
	readonly places: ReadonlyMap<number, ReadonlyMap<number, RolloutPlace>>;
}

/** Length of prompt previews, in characters; long enough to distinguish prompts that start the same way. */
const promptPreview = 600;
const answerPreview = 120;
const examplesShown = 5;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Builds the index of one step from its rollouts, in file order. */
export class StepIndexBuilder {
	readonly #step: number;
	readonly #groups = new Map<number, Writable<GroupSummary>>();
	readonly #places = new Map<number, Map<number, RolloutPlace>>();
	readonly #characters = new Map<number, number[]>();
	readonly #examples: string[] = [];
	#unreadable = 0;
	#allTokens = true;

	constructor(step: number) {
		this.#step = step;
	}

	add(rollout: RolloutLine, place: RolloutPlace): void {
		const places = this.#places.get(rollout.group) ?? new Map<number, RolloutPlace>();
		places.set(rollout.index, place);
		this.#places.set(rollout.group, places);
		const group = this.#groups.get(rollout.group) ?? this.#begin(rollout);
		group.index.push(rollout.index);
		group.reward.push(finite(rollout.reward));
		group.advantage.push(finite(rollout.advantage));
		group.truncated.push(rollout.truncated);
		group.correct.push(correctness(rollout.rewards));
		const tokens = tokenCount(rollout);
		this.#allTokens &&= tokens !== null;
		group.length.push(tokens ?? 0);
		this.#characters.get(rollout.group)?.push(messageText(rollout.completion).length);
	}

	/**
	 * Counts an unreadable record. @param named whether to include the file name, because runs from other trainers have
	 * several files per step
	 */
	reject({ file, line, message, records }: RunFault, named: boolean): void {
		this.#unreadable += records;
		if (this.#examples.length >= examplesShown) return;
		const where = [...(named || line === null ? [file] : []), ...(line === null ? [] : [`line ${line}`])].join(', ');
		this.#examples.push(displayText(`${where}: ${message}`, 400));
	}

	finish(): StepIndex {
		const groups = [...this.#groups.values()];
		for (const group of groups) {
			if (!this.#allTokens) group.length = this.#characters.get(group.group) ?? [];
			const rewards = group.reward.filter((reward) => reward !== null);
			group.mean = finite(mean(rewards));
			group.dead = rewards.length < 2 ? null : rewards.every((reward) => reward === rewards[0]);
			// The SD of equal rewards can be around 1e-17 due to rounding.
			group.std = group.dead ? 0 : finite(sampleStd(rewards));
		}
		const faults = { unreadable: this.#unreadable, examples: this.#examples };
		const lengthUnit = this.#allTokens ? 'tokens' : 'characters';
		return { content: { step: this.#step, groups, lengthUnit, faults }, places: this.#places };
	}

	#begin(rollout: RolloutLine): Writable<GroupSummary> {
		const group: Writable<GroupSummary> = {
			group: rollout.group,
			prompt: previewOf(rollout.prompt),
			answer: valueText(rollout.answer, answerPreview),
			index: [],
			reward: [],
			advantage: [],
			truncated: [],
			length: [],
			correct: [],
			mean: null,
			std: null,
			dead: null,
		};
		this.#groups.set(rollout.group, group);
		this.#characters.set(rollout.group, []);
		return group;
	}
}

/** Returns the question: the prompt itself or its last user message. */
function previewOf(prompt: RolloutLine['prompt']): string {
	const asked =
		typeof prompt === 'string' ? undefined : prompt.findLast(({ role, content }) => role === 'user' && content);
	return (asked?.content ?? messageText(prompt)).slice(0, promptPreview);
}
