import { basename } from 'node:path';
import { Failure } from '../../../../base/failure.ts';
import type { CompletionRow } from '../../../../core/dataset/completionRows.ts';
import { EpochOrder } from '../../../../core/dataset/epochOrder.ts';
import { renderPrompt, type Template } from '../../../../core/text/template.ts';
import { eosToken, type Tokenizer } from '../../../../core/text/tokenizer.ts';
import type { Sequence } from '../../learner.ts';

/**
 * Tokenized completions from a file, including end-of-sequence. Skips those that exceed the context or contain symbols
 * missing from the vocabulary.
 */
export class CompletionTexts {
	readonly #name: string;
	readonly #sequences: readonly Sequence[];
	readonly #seed: number;
	readonly #purpose: string;
	/** File rows, parallel to `sequences`. */
	readonly rows: readonly CompletionRow[];
	readonly leftOut: number;
	#chosen: readonly Sequence[];
	#order: EpochOrder;

	constructor(
		rows: readonly CompletionRow[],
		options: {
			readonly path: string;
			readonly template: Template;
			readonly tokenizer: Tokenizer;
			/** Context length in tokens. */
			readonly context: number;
			readonly seed: number;
			/** Stage index. Different stages get the same rows in a different order. */
			readonly index: number;
		},
	) {
		const { path, template, tokenizer, context, seed, index } = options;
		const kept: CompletionRow[] = [];
		const sequences: Sequence[] = [];
		for (const row of rows) {
			const prompt = renderPrompt(template, row.prompt);
			if (tokenizer.unknownIn(prompt) !== null || tokenizer.unknownIn(row.completion) !== null) continue;
			const promptTokens = tokenizer.encodePrompt(prompt);
			const tokens = [...promptTokens, ...tokenizer.encode(row.completion), eosToken];
			if (tokens.length > context) continue;
			kept.push(row);
			sequences.push({ tokens, promptLength: promptTokens.length });
		}
		this.#name = basename(path);
		this.#seed = seed;
		this.#purpose = `completions ${index}`;
		this.rows = kept;
		this.leftOut = rows.length - kept.length;
		this.#sequences = sequences;
		if (kept.length === 0) {
			throw new Failure(
				'invalid',
				`${this.#name} has no usable completions: all ${rows.length} exceed the context of ${context} tokens or contain symbols missing from the vocabulary.`,
				'Increase the model’s "context" in the recipe, or use completions that only contain characters from the model’s vocabulary.',
			);
		}
		this.#chosen = sequences;
		this.#order = new EpochOrder(sequences.length, seed, this.#purpose);
	}

	/** Keeps only the selected rows. */
	choose(places: readonly number[]): void {
		this.#chosen = places.map((place) => this.#sequences[place] as Sequence);
		this.#order = new EpochOrder(places.length, this.#seed, this.#purpose);
	}

	/** Returns the rows for an update, given its number within the stage. Rows are shuffled for each epoch. */
	batch(update: number, size: number): Sequence[] {
		return Array.from({ length: size }, (_, i) => this.#chosen[this.#order.at(update * size + i)] as Sequence);
	}
}
