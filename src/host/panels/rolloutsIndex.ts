import { mean, sampleStd } from '../../core/grpo/advantages.ts';
import { decode } from '../../protocol/decode.ts';
import { type RolloutLine, rolloutLineSchema } from '../../protocol/rolloutLine.ts';
import type { GroupSummary, StepContent } from '../../protocol/rolloutsMessages.ts';
import { correctness, finite, textOf, tokenCount, valueText } from './rolloutText.ts';

/** Where a rollout's line lies in its file, in bytes. */
export interface LinePlace {
	readonly start: number;
	readonly end: number;
}

/** What is kept of a step after its file was read once: no completions, only where they are. */
export interface StepIndex {
	readonly content: StepContent;
	/** group -> index of the rollout -> place. */
	readonly places: ReadonlyMap<number, ReadonlyMap<number, LinePlace>>;
}

const promptPreview = 240;
const answerPreview = 120;
const examplesShown = 5;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A line of a rollouts file as a value; the reason, in words, where it is none. */
export function parseRollout(line: Uint8Array): RolloutLine | string {
	let value: unknown;
	try {
		value = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8'));
	} catch {
		return 'not JSON';
	}
	const decoded = decode(rolloutLineSchema, value);
	if (decoded.ok) return decoded.value;
	const fault = decoded.faults[0];
	return `${fault?.path || 'the line'} is not valid`;
}

/** Builds the index of one step from its lines, in the order of the file. */
export class StepIndexBuilder {
	readonly #step: number;
	readonly #groups = new Map<number, Writable<GroupSummary>>();
	readonly #places = new Map<number, Map<number, LinePlace>>();
	readonly #characters = new Map<number, number[]>();
	readonly #examples: string[] = [];
	#unreadable = 0;
	#allTokens = true;

	constructor(step: number) {
		this.#step = step;
	}

	/** Lines are numbered from 1. */
	add(line: Uint8Array, number: number, start: number): void {
		if (line.length === 0) return;
		const rollout = parseRollout(line);
		if (typeof rollout === 'string') {
			this.reject(number, rollout);
			return;
		}
		const places = this.#places.get(rollout.group) ?? new Map<number, LinePlace>();
		if (places.has(rollout.index)) {
			this.reject(number, `repeats rollout ${rollout.index} of group ${rollout.group}`);
			return;
		}
		places.set(rollout.index, { start, end: start + line.length });
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
		this.#characters.get(rollout.group)?.push(textOf(rollout.completion).length);
	}

	/** Counts a line that could not be read. */
	reject(number: number, reason: string): void {
		this.#unreadable++;
		if (this.#examples.length < examplesShown) this.#examples.push(`line ${number}: ${reason}`);
	}

	finish(): StepIndex {
		const groups = [...this.#groups.values()];
		for (const group of groups) {
			if (!this.#allTokens) group.length = this.#characters.get(group.group) ?? [];
			const rewards = group.reward.filter((reward) => reward !== null);
			group.mean = finite(mean(rewards));
			group.dead = rewards.length < 2 || rewards.every((reward) => reward === rewards[0]);
			// Equal rewards leave some 1e-17 in floating point.
			group.std = group.dead && rewards.length > 1 ? 0 : finite(sampleStd(rewards));
		}
		const faults = { unreadable: this.#unreadable, examples: this.#examples };
		const lengthUnit = this.#allTokens ? 'tokens' : 'characters';
		return { content: { step: this.#step, groups, lengthUnit, faults }, places: this.#places };
	}

	#begin(rollout: RolloutLine): Writable<GroupSummary> {
		const group: Writable<GroupSummary> = {
			group: rollout.group,
			prompt: textOf(rollout.prompt).slice(0, promptPreview),
			answer: valueText(rollout.answer, answerPreview),
			index: [],
			reward: [],
			advantage: [],
			truncated: [],
			length: [],
			correct: [],
			mean: null,
			std: null,
			dead: true,
		};
		this.#groups.set(rollout.group, group);
		this.#characters.set(rollout.group, []);
		return group;
	}
}
