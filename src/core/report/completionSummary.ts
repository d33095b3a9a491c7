import type { LanguageName } from '../../protocol/builtInRewards.ts';
import { languageConsistencyReward } from '../reward/languageConsistencyReward.ts';
import { countBehaviours, findBehaviours } from '../trace/behaviours.ts';
import { findLanguageMix } from '../trace/languageMix.ts';
import { parseTrace } from '../trace/parseTrace.ts';
import { r1Tags, type TraceTags } from '../trace/trace.ts';
import type { CompletionMeasures } from './completionMeasures.ts';

/** How completions are written, whatever they answer. */
export interface CompletionSummary {
	readonly completions: number;
	/** Share whose tags are as the template asks; null: it has no tags, or nothing says which template was used. */
	readonly format: number | null;
	/**
	 * Mean share of the thinking in one language: with a target its words (DeepSeek-R1, section 2.3.2), else the letters that
	 * are not in stretches of another script or language than most; null: nothing has words.
	 */
	readonly consistency: number | null;
	/** Mean length. */
	readonly characters: number;
	/** Mean over those whose tokens are known; null: none is. */
	readonly tokens: number | null;
	/** Marks of reflection a completion ("wait", "let me check again"). */
	readonly reflection: number;
	/** Share truncated, of those where that is recorded; null: it is recorded of none. */
	readonly truncated: number | null;
}

export interface SummarisedCompletion {
	readonly completion: string;
	/** null: not known. */
	readonly tokens: number | null;
	/** null: not recorded. */
	readonly truncated: boolean | null;
}

/** What is looked at in one completion, whatever it answers. */
export type CompletionForm = Pick<CompletionMeasures, 'format' | 'one-language' | 'reflection'>;

/** Of longer completions the beginning is looked at. */
const longest = 100_000;

/** Adds up how completions are written; their texts are not kept. */
export class CompletionSums {
	readonly #tags: TraceTags;
	/** Whether there is a format to keep to, and it is known. */
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
	 * @param tags of the template; null: nothing says which one was used, so no format is judged and the usual tags only
	 *   separate thinking from answer
	 * @param language that the thinking should be in; null: none is asked for
	 */
	constructor(tags: TraceTags | null, language: LanguageName | null) {
		this.#tags = tags ?? r1Tags;
		this.#tagged = tags !== null && (tags.think !== null || tags.answer !== null);
		this.#language = language;
	}

	/** Counts one in. @returns what it adds */
	add({ completion: whole, tokens, truncated }: SummarisedCompletion): CompletionForm {
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
		const { reflection } = countBehaviours(findBehaviours(completion, trace));
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

	/** null: there were none. */
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
