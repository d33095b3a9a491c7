import type { LanguageName } from '../../protocol/recipeKeys/builtInRewards.ts';
import { languageConsistencyReward } from '../reward/languageConsistencyReward.ts';
import { countBehaviors, findBehaviors } from '../trace/behaviors.ts';
import { findLanguageMix } from '../trace/languageMix.ts';
import { parseTrace } from '../trace/parseTrace.ts';
import { r1Tags, type TraceTags } from '../trace/trace.ts';
import type { CompletionMeasures } from './completionMeasures.ts';

/** Properties of completions other than the correctness of their answers. */
export interface CompletionSummary {
	readonly completions: number;
	/** Fraction of completions in the correct format, or null if the template has no tags or is unknown. */
	readonly format: number | null;
	/**
	 * Mean fraction of the thinking section in one language. With a target language, this is the fraction of words in
	 * that language (DeepSeek-R1, section 2.3.2); otherwise, it is the fraction of letters outside passages in a minority
	 * script or language. null if there are no words.
	 */
	readonly consistency: number | null;
	/** Mean length in characters. */
	readonly characters: number;
	/** Mean token count over the completions where it is known, or null if there are none. */
	readonly tokens: number | null;
	/** Number of reflection markers per completion ("wait", "let me check again"). */
	readonly reflection: number;
	/** Number of verification markers per completion ("check that"), and of backtracking markers ("try again"). */
	readonly verification: number;
	readonly backtracking: number;
	/** Fraction of truncated completions among those whose truncation status was recorded, or null if there are none. */
	readonly truncated: number | null;
}

export interface SummarizedCompletion {
	readonly completion: string;
	/** null if unknown. */
	readonly tokens: number | null;
	/** null if not recorded. */
	readonly truncated: boolean | null;
}

/** Properties of a completion that are analyzed regardless of its answer. */
export type CompletionForm = Pick<
	CompletionMeasures,
	'format' | 'one-language' | 'reflection' | 'verification' | 'backtracking'
>;

/** Maximum number of characters analyzed per completion. */
const longest = 100_000;

/** Accumulates statistics about completions without storing their text. */
export class CompletionSums {
	readonly #tags: TraceTags;
	/** Whether the expected format is known. */
	readonly #tagged: boolean;
	readonly #language: LanguageName | null;
	readonly #sums = {
		completions: 0,
		formed: 0,
		consistent: 0,
		spoken: 0,
		characters: 0,
		tokens: 0,
		counted: 0,
		reflection: 0,
		verification: 0,
		backtracking: 0,
		cut: 0,
		ends: 0,
	};

	/**
	 * @param tags template tags, or null if unknown, in which case the format is not checked and the usual tags separate
	 * the thinking from the answer
	 * @param language target language for the thinking section, or null if there is none
	 */
	constructor(tags: TraceTags | null, language: LanguageName | null) {
		this.#tags = tags ?? r1Tags;
		this.#tagged = tags !== null && (tags.think !== null || tags.answer !== null);
		this.#language = language;
	}

	/**
	 * Adds a completion.
	 * @returns the metrics of the completion
	 */
	add({ completion: whole, tokens, truncated }: SummarizedCompletion): CompletionForm {
		const completion = whole.slice(0, longest);
		const trace = parseTrace(completion, this.#tags);
		const sums = this.#sums;
		sums.completions++;
		const formed = trace.faults.length === 0;
		if (formed) sums.formed++;
		const consistency = this.#consistency(completion, trace);
		if (consistency !== null) {
			sums.consistent += consistency;
			sums.spoken++;
		}
		sums.characters += whole.length;
		if (tokens !== null) {
			sums.tokens += tokens;
			sums.counted++;
		}
		const { reflection, verification, backtracking } = countBehaviors(findBehaviors(completion, trace));
		sums.reflection += reflection;
		sums.verification += verification;
		sums.backtracking += backtracking;
		if (truncated !== null) {
			sums.ends++;
			if (truncated) sums.cut++;
		}
		const marks = { reflection, verification, backtracking };
		return { format: this.#tagged ? Number(formed) : null, 'one-language': consistency, ...marks };
	}

	#consistency(completion: string, trace: ReturnType<typeof parseTrace>): number | null {
		if (this.#language !== null) {
			const sample = { prompt: '', completion, answer: null, row: {}, truncated: false, trace };
			return languageConsistencyReward(sample, { language: this.#language }, this.#tags);
		}
		const span = trace.thinkSpan ?? { start: 0, end: completion.length };
		const { script, foreign } = findLanguageMix(completion, span);
		return script === null ? null : 1 - foreign;
	}

	/** Returns null if no completions were added. */
	summary(): CompletionSummary | null {
		const { completions, formed, consistent, spoken, characters, tokens, counted, cut, ends } = this.#sums;
		const { reflection, verification, backtracking } = this.#sums;
		if (completions === 0) return null;
		return {
			completions,
			format: this.#tagged ? formed / completions : null,
			consistency: spoken === 0 ? null : consistent / spoken,
			characters: characters / completions,
			tokens: counted === 0 ? null : tokens / counted,
			reflection: reflection / completions,
			verification: verification / completions,
			backtracking: backtracking / completions,
			truncated: ends === 0 ? null : cut / ends,
		};
	}
}
