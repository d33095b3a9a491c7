import { Failure } from '../../../../base/failure.ts';
import type { Corpus } from '../../../../core/dataset/corpus.ts';
import { EpochOrder } from '../../../../core/dataset/epochOrder.ts';
import type { ProblemSource } from '../../../../core/dataset/problemSource.ts';
import { eosToken, type Tokenizer } from '../../../../core/text/tokenizer.ts';
import type { Sequence } from '../../learner.ts';

/** Texts in tokens, bos to eos; every token but the first is learned. */
export interface PretrainTexts {
	/** The text at a place of the stream. */
	at(place: number): Sequence;
	/** At most so many that are never trained on; none: there are none. */
	heldOut(most: number): readonly Sequence[];
	/** Texts that cannot be learned. */
	readonly leftOut: number;
}

/** A text as what the context holds of it at once: pieces that overlap by a token, so that each token is predicted once. */
function pieces(tokens: readonly number[], context: number): Sequence[] {
	const cut: Sequence[] = [];
	for (let at = 0; at === 0 || at + 1 < tokens.length; at += context - 1) {
		cut.push({ tokens: tokens.slice(at, at + context), promptLength: 1 });
	}
	return cut;
}

function encoded(text: string, tokenizer: Tokenizer): number[] {
	return [...tokenizer.encodePrompt(text), eosToken];
}

/** The texts of a file, in epochs. Texts with symbols that the vocabulary lacks are left out. Throws `invalid` when all are. */
export function corpusTexts(
	corpus: Corpus,
	what: string,
	tokenizer: Tokenizer,
	context: number,
	seed: number,
): PretrainTexts {
	const fitting = (texts: readonly string[]) => texts.filter((text) => tokenizer.unknownIn(text) === null);
	const inTokens = (texts: readonly string[]) => texts.flatMap((text) => pieces(encoded(text, tokenizer), context));
	const known = { training: fitting(corpus.training), heldOut: fitting(corpus.heldOut) };
	if (known.training.length === 0) {
		throw new Failure(
			'invalid',
			`${what} has no usable text: all contain symbols missing from the vocabulary of the model.`,
			'Use texts in the characters of the model, or start a new model.',
		);
	}
	const training = inTokens(known.training);
	const heldOut = inTokens(known.heldOut);
	const order = new EpochOrder(training.length, seed, 'corpus');
	const all = corpus.training.length + corpus.heldOut.length;
	return {
		at: (place) => training[order.at(place)] as Sequence,
		heldOut: (most) => heldOut.slice(0, most),
		leftOut: all - known.training.length - known.heldOut.length,
	};
}

/** A stream of its own for the texts that measure: no run trains under this seed. */
const heldOutSeed = -1;

/** The texts that the dataset makes by itself; what of one is longer than the context is cut off. */
export function sourceTexts(
	text: NonNullable<ProblemSource['text']>,
	tokenizer: Tokenizer,
	context: number,
	seed: number,
): PretrainTexts {
	const first = (of: number, place: number) => pieces(encoded(text(of, place), tokenizer), context)[0] as Sequence;
	let measured: Sequence[] = [];
	return {
		at: (place) => first(seed, place),
		heldOut(most) {
			if (measured.length < most) measured = Array.from({ length: most }, (_, i) => first(heldOutSeed, i));
			return measured.slice(0, most);
		},
		leftOut: 0,
	};
}
