import { correctness } from '../core/reward/correctness.ts';
import { messageText } from '../core/trace/messageText.ts';
import { parseTrace } from '../core/trace/parseTrace.ts';
import { promptHash } from '../core/trace/promptHash.ts';
import { type TraceCounter, thinkingSpan } from '../core/trace/traceCounter.ts';
import { stalenessOf, weightsOf } from '../core/trace/weightVersions.ts';
import { hasText, type RolloutLine } from '../protocol/rolloutLine.ts';
import type { RolloutPlace } from '../runs/runContent.ts';
import { type IndexedTurn, indexedTurns } from './turnRow.ts';

/** Numeric columns of the table `rollout`; a missing value is NaN in transit and NULL in the table. */
export const numberColumns = [
	'group_id',
	'index',
	'reward',
	'advantage',
	'correct',
	'truncated',
	'tokens',
	'characters',
	'turns',
	'verification',
	'backtracking',
	'subgoal_setting',
	'backward_chaining',
	'reflection',
	'repetition',
	'weights',
	'staleness',
	'has_tokens',
	'has_step',
	'byte_offset',
	'byte_length',
	'item',
] as const;

/** A batch is sent once it reaches any of these sizes. */
const rowsPerBatch = 4000;
const callsPerBatch = 20_000;

/** Maximum number of reward components to index. */
const maxComponents = 200;

/** Rollout scalars by column, as sent by threads. */
export interface RowBatch {
	readonly rows: number;
	/** Arrays in the order of `numberColumns`, with one entry per row. */
	readonly numbers: readonly Float64Array[];
	/** Distinct strings in the batch. Most rows share them, so the columns below hold indexes into them. */
	readonly texts: readonly string[];
	readonly stages: Int32Array;
	readonly prompts: Int32Array;
	readonly files: Int32Array;
	/** Names of reward components; `componentNames` and `componentValues` concatenate the components of all rows. */
	readonly names: readonly string[];
	readonly componentCounts: Uint8Array;
	readonly componentNames: Int32Array;
	readonly componentValues: Float64Array;
	/** Turns by row, for rows that have any. */
	readonly turns: ReadonlyMap<number, readonly IndexedTurn[]>;
}

/** Collects rollout scalars. */
export class RowBatchBuilder {
	readonly #counter: TraceCounter;
	readonly #numbers: number[][] = numberColumns.map(() => []);
	readonly #texts = new Map<string, number>();
	readonly #stages: number[] = [];
	readonly #prompts: number[] = [];
	readonly #files: number[] = [];
	readonly #names = new Map<string, number>();
	readonly #componentCounts: number[] = [];
	readonly #componentNames: number[] = [];
	readonly #componentValues: number[] = [];
	readonly #turns = new Map<number, readonly IndexedTurn[]>();
	#calls = 0;
	/** The last prompt with its hash, because rollouts in a group usually share their prompt. */
	#prompt: RolloutLine['prompt'] | null = null;
	#hash = '';

	constructor(counter: TraceCounter) {
		this.#counter = counter;
	}

	get rows(): number {
		return this.#stages.length;
	}

	/** Whether the batch should be sent before more rows are added. */
	get full(): boolean {
		return this.rows >= rowsPerBatch || this.#calls >= callsPerBatch;
	}

	add(rollout: RolloutLine, place: RolloutPlace): void {
		const text = messageText(rollout.completion);
		const known = hasText(rollout);
		const { behaviors, repetition } = this.#counter.count(text, thinkingSpan(parseTrace(text), text.length));
		const correct = correctness(rollout.rewards);
		const weights = weightsOf(rollout);
		const values = [
			place.group,
			place.index,
			number(rollout.reward),
			number(rollout.advantage),
			correct === null ? Number.NaN : Number(correct),
			rollout.truncated === null ? Number.NaN : Number(rollout.truncated),
			tokensOf(rollout),
			known ? text.length : Number.NaN,
			known ? turnsOf(rollout) : Number.NaN,
			...(known ? behaviors : behaviors.map(() => Number.NaN)),
			number(repetition),
			number(weights?.oldest),
			number(weights && stalenessOf(weights)),
			Number(rollout.tokens !== undefined),
			Number(rollout.step !== null),
			place.offset,
			place.length,
			place.item,
		];
		for (let i = 0; i < values.length; i++) (this.#numbers[i] as number[]).push(values[i] as number);
		const turns = indexedTurns(rollout);
		if (turns !== null) {
			this.#turns.set(this.rows, turns);
			this.#calls += turns.reduce((sum, { calls }) => sum + 1 + calls.length, 0);
		}
		this.#stages.push(this.#textOf(rollout.stage.slice(0, 200)));
		this.#prompts.push(this.#textOf(this.#hashOf(rollout.prompt)));
		this.#files.push(this.#textOf(place.file));
		let components = 0;
		for (const name in rollout.rewards) {
			if (components >= maxComponents) break;
			components++;
			let at = this.#names.get(name);
			if (at === undefined) {
				at = this.#names.size;
				this.#names.set(name, at);
			}
			this.#componentNames.push(at);
			this.#componentValues.push(number(rollout.rewards[name]));
		}
		this.#componentCounts.push(components);
	}

	finish(): RowBatch {
		return {
			rows: this.rows,
			numbers: this.#numbers.map((column) => Float64Array.from(column)),
			texts: [...this.#texts.keys()],
			stages: Int32Array.from(this.#stages),
			prompts: Int32Array.from(this.#prompts),
			files: Int32Array.from(this.#files),
			names: [...this.#names.keys()],
			componentCounts: Uint8Array.from(this.#componentCounts),
			componentNames: Int32Array.from(this.#componentNames),
			componentValues: Float64Array.from(this.#componentValues),
			turns: this.#turns,
		};
	}

	#textOf(text: string): number {
		const known = this.#texts.get(text);
		if (known !== undefined) return known;
		const at = this.#texts.size;
		this.#texts.set(text, at);
		return at;
	}

	#hashOf(prompt: RolloutLine['prompt']): string {
		if (prompt !== this.#prompt) {
			this.#prompt = prompt;
			this.#hash = promptHash(prompt);
		}
		return this.#hash;
	}
}

/** Returns the buffers that structured cloning can transfer instead of copying. */
export function transferables(batch: RowBatch): ArrayBuffer[] {
	const { numbers, stages, prompts, files, componentCounts, componentNames, componentValues } = batch;
	const arrays = [...numbers, stages, prompts, files, componentCounts, componentNames, componentValues];
	return arrays.map(({ buffer }) => buffer as ArrayBuffer);
}

function number(value: number | null | undefined): number {
	return value !== null && value !== undefined && Number.isFinite(value) ? value : Number.NaN;
}

/** Returns the number of completion tokens, if recorded. */
function tokensOf({ tokens, extra }: RolloutLine): number {
	if (tokens !== undefined) return tokens.text.length;
	const recordedLength = extra?.length;
	return typeof recordedLength === 'number' && Number.isInteger(recordedLength) && recordedLength >= 0
		? recordedLength
		: Number.NaN;
}

function turnsOf({ completion }: RolloutLine): number {
	if (typeof completion === 'string') return 1;
	return completion.filter(({ role }) => role === 'assistant').length;
}
