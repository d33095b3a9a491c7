import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { Failure } from '../../../../base/failure.ts';
import { Random } from '../../../../base/random.ts';
import { type PairText, type PairTexts, parsePairs } from '../../../../core/preference/pairRows.ts';
import type { ResolvedRecipe } from '../../../../core/recipe/resolvedRecipe.ts';
import { eosToken, type Tokenizer } from '../../../../core/text/tokenizer.ts';
import { readDataFile } from '../../../../runs/openDataset.ts';
import type { Sequence } from '../../learner.ts';
import type { ModelAndTokenizer } from '../modelAndTokenizer.ts';

export interface PairFile {
	readonly path: string;
	readonly texts: PairTexts;
	/** Half of the training pairs are swapped (`control: shuffle`). */
	readonly shuffled: boolean;
}

/** Preference pair files, read before the vocabulary is known. */
export interface PairFiles {
	/** Files, keyed by the index of the stage that uses them. */
	readonly byStage: ReadonlyMap<number, PairFile>;
	/** SHA-256 over all files, or null if the recipe has no pair files. */
	readonly hash: string | null;
}

/**
 * Reads the preference pair files listed in a recipe. Throws `missing` or `invalid` (with file and line) before any
 * other work starts.
 */
export async function openPairFiles({ stages }: ResolvedRecipe): Promise<PairFiles> {
	const byStage = new Map<number, PairFile>();
	const hash = createHash('sha256');
	for (const [index, stage] of stages.entries()) {
		if (stage.type !== 'dpo' && stage.type !== 'reward-model') continue;
		const { path } = stage.pairs;
		const text = await readDataFile(path);
		hash.update(text).update('\0');
		const shuffled = stage.type === 'dpo' && stage.control === 'shuffle';
		byStage.set(index, { path, texts: parsePairs(text, path, stage.pairs, stage.type === 'dpo'), shuffled });
	}
	return { byStage, hash: byStage.size === 0 ? null : hash.digest('hex') };
}

/** A preferred and a rejected completion of the same prompt, each ending with end-of-sequence. */
export interface TokenPair {
	readonly chosen: Sequence;
	readonly rejected: Sequence;
}

/** Returns both sequences of each pair, preferred first, in the layout that updates expect. */
export function rowsOf(pairs: readonly TokenPair[]): Sequence[] {
	return pairs.flatMap(({ chosen, rejected }) => [chosen, rejected]);
}

/**
 * Tokenized preference pairs. Skips pairs that exceed the context or contain symbols missing from the vocabulary. Pairs
 * are reshuffled every epoch, and an update's pairs depend only on its index.
 */
export class PreferencePairs {
	readonly training: readonly TokenPair[];
	/** Held-out pairs. */
	readonly heldOut: readonly TokenPair[];
	readonly leftOut: number;
	readonly #seed: number;
	#epoch = -1;
	#order: number[] = [];

	/** @throws `invalid` if no usable pairs remain */
	constructor({ path: name, texts, shuffled }: PairFile, { tokenizer, shape }: ModelAndTokenizer, seed: number) {
		const made = (list: readonly PairText[]) =>
			list.map((text) => pairOf(text, tokenizer, shape.context)).filter((pair) => pair !== null);
		this.#seed = seed;
		const training = made(texts.training);
		this.training = shuffled ? halfSwapped(training, seed) : training;
		this.heldOut = made(texts.heldOut);
		const all = texts.training.length + texts.heldOut.length;
		this.leftOut = all - this.training.length - this.heldOut.length;
		if (this.training.length > 0) return;
		throw new Failure(
			'invalid',
			`${basename(name)} has no usable pairs: ${this.leftOut} of ${all} do not fit the model's context or vocabulary.`,
			'Use completions that contain only characters in the dataset, or a larger "context".',
		);
	}

	/** Returns the pairs for an update, given its index in the stage. */
	batch(update: number, size: number): TokenPair[] {
		return Array.from({ length: size }, (_, i) => this.#at(update * size + i));
	}

	#at(index: number): TokenPair {
		const epoch = Math.floor(index / this.training.length);
		if (epoch !== this.#epoch) {
			this.#epoch = epoch;
			this.#order = Random.of(this.#seed, 'pairs', epoch).shuffle(this.training.map((_, i) => i));
		}
		return this.training[this.#order[index % this.training.length] as number] as TokenPair;
	}
}

function pairOf(text: PairText, tokenizer: Tokenizer, context: number): TokenPair | null {
	if (tokenizer.unknownIn(text.prompt + text.chosen + text.rejected) !== null) return null;
	const prompt = tokenizer.encodePrompt(text.prompt);
	const sequence = (completion: string): Sequence => ({
		tokens: [...prompt, ...tokenizer.encode(completion), eosToken],
		promptLength: prompt.length,
	});
	const pair = { chosen: sequence(text.chosen), rejected: sequence(text.rejected) };
	return Math.max(pair.chosen.tokens.length, pair.rejected.tokens.length) > context ? null : pair;
}

/** Swaps the completions of half of the pairs, chosen at random. */
function halfSwapped(pairs: readonly TokenPair[], seed: number): TokenPair[] {
	const order = Random.of(seed, 'control').shuffle(pairs.map((_, i) => i));
	const chosen = new Set(order.slice(0, Math.floor(pairs.length / 2)));
	return pairs.map((pair, i) => (chosen.has(i) ? { chosen: pair.rejected, rejected: pair.chosen } : pair));
}

/** Returns the tokenized pairs for each stage. */
export function pairsByStage(
	files: PairFiles,
	model: ModelAndTokenizer,
	seed: number,
	onLeftOut: (count: number, why: string) => void,
): ReadonlyMap<number, PreferencePairs> {
	return new Map(
		[...files.byStage].map(([index, file]) => {
			const { path, texts } = file;
			const pairs = new PreferencePairs(file, model, seed);
			if (texts.same > 0) onLeftOut(texts.same, `pairs in ${path} have identical completions`);
			if (pairs.leftOut > 0) onLeftOut(pairs.leftOut, `pairs in ${path} do not fit the model's context or vocabulary`);
			return [index, pairs];
		}),
	);
}
