import type { LanguageName } from '../../protocol/builtInRewards.ts';
import { languageConsistencyReward } from '../reward/languageConsistencyReward.ts';
import { countBehaviors, findBehaviors } from '../trace/behaviors.ts';
import { findLanguageMix } from '../trace/languageMix.ts';
import { parseTrace } from '../trace/parseTrace.ts';
import { r1Tags, type TraceTags } from '../trace/trace.ts';
import type { CompletionMeasures } from './completionMeasures.ts';

/** How completions are written, regardless of the answer. */
export interface CompletionSummary {
	readonly completions: number;
	/** Share in the correct format; null if the template has no tags or is unknown. */
	readonly format: number | null;
	/**
	 * Mean share of the thinking in one language: with a target, of its words (DeepSeek-R1, section 2.3.2), otherwise of
	 * the letters outside stretches in a minority script or language; null if there are no words.
	 */
	readonly consistency: number | null;
	/** Mean length. */
	readonly characters: number;
	/** Mean over completions with known token counts; null if there are none. */
	readonly tokens: number | null;
	/** Marks of reflection per completion ("wait", "let me check again"). */
	readonly reflection: number;
	/** Share truncated, where recorded; null if never recorded. */
	readonly truncated: number | null;
}

export interface SummarizedCompletion {
	readonly completion: string;
	/** null if unknown. */
	readonly tokens: number | null;
	/** null: not recorded. */
	readonly truncated: boolean | null;
}

/** What is analyzed in one completion, regardless of the answer. */
export type CompletionForm = Pick<CompletionMeasures, 'format' | 'one-language' | 'reflection'>;

/** Max characters analyzed per completion. */
const longest = 100_000;

/** Accumulates statistics on how completions are written, without keeping their texts. */
export class CompletionSums {
	readonly #tags: TraceTags;
	/** Whether there is a known format to follow. */
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
		marks: 0,
		cut: 0,
		ends: 0,
	};

	/**
	 * @param tags tags of the template; null if unknown: no format is judged and the usual tags separate thinking from
	 * answer
	 * @param language target language of the thinking; null if there is none
	 */
	constructor(tags: TraceTags | null, language: LanguageName | null) {
		this.#tags = tags ?? r1Tags;
		this.#tagged = tags !== null && (tags.think !== null || tags.answer !== null);
		this.#language = language;
	}

	/**
	 * Adds one completion.
	 * @returns its contribution
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
		const { reflection } = countBehaviors(findBehaviors(completion, trace));
		sums.marks += reflection;
		if (truncated !== null) {
			sums.ends++;
			if (truncated) sums.cut++;
		}
		return { format: this.#tagged ? Number(formed) : null, 'one-language': consistency, reflection };
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

	/** null if there were none. */
	summary(): CompletionSummary | null {
		const { completions, formed, consistent, spoken, characters, tokens, counted, marks, cut, ends } = this.#sums;
		if (completions === 0) return null;
		return {
			completions,
			format: this.#tagged ? formed / completions : null,
			consistency: spoken === 0 ? null : consistent / spoken,
			characters: characters / completions,
			tokens: counted === 0 ? null : tokens / counted,
			reflection: marks / completions,
			truncated: ends === 0 ? null : cut / ends,
		};
	}
}
