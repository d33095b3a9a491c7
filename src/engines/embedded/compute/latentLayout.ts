import { Failure } from '../../../base/failure.ts';
import { findThoughts, type LatentPlaces } from '../../../core/text/latentTags.ts';
import type { Sequence } from '../learner.ts';
import { masked } from '../model/attention.ts';
import { causalMask } from './causalMask.ts';
import type { LatentSequences, LatentTargets } from './jobs.ts';
import type { PlainInput } from './packedLayout.ts';

/**
 * Packs tokens with slots for latent thoughts. Text before the start token is padded on the left, and text from the end
 * token onward is padded on the right.
 */
export function packThinking(rows: readonly ArrayLike<number>[], places: LatentPlaces): LatentSequences {
	const { count } = places;
	const lengths = Int32Array.from(rows, (tokens) => findThoughts(tokens, places));
	if (lengths.some((length) => length < 1)) {
		throw new Failure('internal', `A prompt has no text before its slots for ${count} latent thoughts.`);
	}
	const laterLengths = Int32Array.from(rows, (tokens, r) => tokens.length - (lengths[r] as number) - count - 1);
	const longest = (all: Int32Array) => all.reduce((max, length) => Math.max(max, length), 1);
	const [before, after] = [longest(lengths), longest(laterLengths)];
	const earlier = new Int32Array(rows.length * before);
	const starts = new Int32Array(rows.length);
	const later = new Int32Array(rows.length * after);
	for (const [r, row] of rows.entries()) {
		const tokens = Int32Array.from(row);
		const length = lengths[r] as number;
		earlier.set(tokens.subarray(0, length), (r + 1) * before - length);
		starts[r] = tokens[length] as number;
		later.set(tokens.subarray(length + 1 + count), r * after);
	}
	return { rows: rows.length, thoughts: count, before, after, earlier, lengths, starts, later, laterLengths };
}

/** Packs rows whose prompts end with slots for thoughts, to predict their completions. */
export function packLatent(rows: readonly Sequence[], places: LatentPlaces): LatentTargets {
	const batch = packThinking(
		rows.map(({ tokens }) => tokens.slice(0, -1)),
		places,
	);
	const targets = new Int32Array(batch.rows * batch.after);
	for (const [r, { tokens, promptLength }] of rows.entries()) {
		if ((batch.lengths[r] as number) + places.count + 2 !== promptLength) {
			throw new Failure('internal', 'A prompt does not end with its latent thoughts.');
		}
		targets.set(tokens.slice(promptLength), r * batch.after);
	}
	return { ...batch, targets };
}

/** Returns the inputs of `LatentTrunk`. */
export function latentInputs(batch: LatentSequences): Record<string, PlainInput> {
	const { rows, thoughts, before, after, earlier, lengths, starts, later, laterLengths } = batch;
	const padding = new Float32Array(rows * before);
	const beforePositions = new Int32Array(rows * before);
	const thoughtPositions = new Int32Array(rows * (1 + thoughts));
	// Padding gets position 0, because other positions could exceed the context.
	const afterPositions = new Int32Array(rows * after);
	for (let r = 0; r < rows; r++) {
		const length = lengths[r] as number;
		const unused = before - length;
		padding.fill(masked, r * before, r * before + unused);
		for (let t = 0; t < length; t++) beforePositions[r * before + unused + t] = t;
		for (let t = 0; t <= thoughts; t++) thoughtPositions[r * (1 + thoughts) + t] = length + t;
		const first = length + 1 + thoughts;
		for (let t = 0; t < (laterLengths[r] as number); t++) afterPositions[r * after + t] = first + t;
	}
	return {
		before: { shape: [rows, before], values: earlier },
		'before positions': { shape: [rows, before], values: beforePositions },
		'before mask': { shape: [before, before], values: causalMask(before) },
		'padding mask': { shape: [rows, 1, 1, before], values: padding },
		start: { shape: [rows, 1], values: starts },
		'thought positions': { shape: [rows, 1 + thoughts], values: thoughtPositions },
		after: { shape: [rows, after], values: later },
		'after positions': { shape: [rows, after], values: afterPositions },
		'after mask': { shape: [after, after], values: causalMask(after) },
	};
}

/** Returns the number of positions per row, including padding. */
export function tokensOf({ before, thoughts, after }: Pick<LatentSequences, 'before' | 'thoughts' | 'after'>): number {
	return before + 1 + thoughts + after;
}

/** Moves each row's entries ([rows, heads, tokens, headWidth]) to the left, over its padding. In place. */
export function alignLeft(part: Float32Array, batch: LatentSequences, heads: number, headWidth: number): Float32Array {
	const size = tokensOf(batch) * headWidth;
	for (let r = 0; r < batch.rows; r++) {
		const padding = (batch.before - (batch.lengths[r] as number)) * headWidth;
		for (let h = 0; h < heads; h++) {
			const start = (r * heads + h) * size;
			part.copyWithin(start, start + padding, start + size);
		}
	}
	return part;
}
