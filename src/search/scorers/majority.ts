import { AnswerClasses } from '../../core/search/answerClasses.ts';
import type { Scorer } from '../../core/search/scorer.ts';
import type { OpenScorer } from './scorerContext.ts';

/**
 * Scores a final completion by the fraction of the problem's scored final completions with the same answer (Wang et al.
 * 2023, "Self-Consistency"). Completions without an answer count toward the total but have no value.
 */
export async function openMajority(): Promise<OpenScorer> {
	const { loadLatexParser } = await import('../../core/math/latexParser.ts');
	await loadLatexParser();
	return {
		name: 'majority',
		bind: (): Scorer => {
			const problems = new Map<string, { classes: AnswerClasses; counts: number[]; all: number }>();
			return {
				name: 'majority',
				scope: 'final',
				oracle: false,
				async score(items) {
					const placed = items.map((item) => {
						if (!item.final) return null;
						const { prompt } = item.problem;
						const seen = problems.get(prompt) ?? { classes: new AnswerClasses(), counts: [], all: 0 };
						problems.set(prompt, seen);
						seen.all++;
						if (item.answer === null) return null;
						const of = seen.classes.of(item.answer);
						seen.counts[of] = (seen.counts[of] ?? 0) + 1;
						return { seen, of };
					});
					return placed.map((place) => (place === null ? null : (place.seen.counts[place.of] ?? 0) / place.seen.all));
				},
			};
		},
		dispose() {},
	};
}
