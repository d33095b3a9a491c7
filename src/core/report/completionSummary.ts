import type { LanguageName } from '../../protocol/builtInRewards.ts';
import { languageConsistencyReward } from '../reward/languageConsistencyReward.ts';
import { countBehaviours, findBehaviours } from '../trace/behaviours.ts';
import { findLanguageMix } from '../trace/languageMix.ts';
import { parseTrace } from '../trace/parseTrace.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { CompletionMeasures } from './completionMeasures.ts';

/** How completions are written, whatever they answer. */
export interface CompletionSummary {
	readonly completions: number;
	/** Share whose tags are as the template asks; null: it has no tags. */
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
	/** Share that were cut before their end. */
	readonly truncated: number;
}

export interface SummarisedCompletion {
	readonly completion: string;
	/** null: not known. */
	readonly tokens: number | null;
	readonly truncated: boolean;
}

/** What is looked at in one completion, whatever it answers. */
export type CompletionForm = Pick<CompletionMeasures, 'format' | 'one-language' | 'reflection'>;

/** Of longer completions the beginning is looked at. */
const longest = 100_000;

/** Adds up how completions are written; their texts are not kept. */
export class CompletionSums {
	readonly #tags: TraceTags;
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
	};

	/** @param language that the thinking should be in; null: none is asked for */
	constructor(tags: TraceTags, language: LanguageName | null) {
		this.#tags = tags;
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
		if (truncated) sums.cut++;
		return { format: this.#tagged ? Number(formed) : null, 'one-language': consistency, reflection };
	}

	/** Without tags there is no format to keep to. */
	get #tagged(): boolean {
		return this.#tags.think !== null || this.#tags.answer !== null;
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
		const { completions, formed, consistent, spoken, characters, tokens, counted, marks, cut } = this.#sums;
		if (completions === 0) return null;
		return {
			completions,
			format: this.#tagged ? formed / completions : null,
			consistency: spoken === 0 ? null : consistent / spoken,
			characters: characters / completions,
			tokens: counted === 0 ? null : tokens / counted,
			reflection: marks / completions,
			truncated: cut / completions,
		};
	}
}
