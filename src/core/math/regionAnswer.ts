import type { Answer, AnswerList, ParseAnswer, Scalar } from './answer.ts';
import { splitOutside } from './brackets.ts';
import { listOf } from './listAnswer.ts';
import { intersection, regionOfSequence, union, without } from './region.ts';

/** Converts an answer to a set of real numbers if it can represent one. */
export function asRegion(answer: Answer) {
	if (answer.kind === 'region') return answer;
	if (answer.kind === 'sequence') return regionOfSequence(answer);
	if (answer.kind === 'named') return asRegion(answer.value);
	if (answer.kind === 'scalar' && answer.exact !== null) return pointRegion([answer]);
	if (answer.kind === 'list' && answer.items.every((item): item is Scalar => item.kind === 'scalar')) {
		return pointRegion(answer.items as readonly Scalar[]);
	}
	return null;
}

function pointRegion(values: readonly Scalar[]) {
	return union(
		values.map((value) => ({
			kind: 'region' as const,
			parts: [{ low: { value, closed: true }, high: { value, closed: true } }],
			variable: null,
		})),
	);
}

export function parseUnion(t: string, parse: ParseAnswer): Answer | null {
	const split = splitOutside(
		t.replace(/(?<=[)\]}]) ?U ?(?=[([{\\])/g, '\\cup '),
		new Set(['\\cup', '\\setminus', '\\cap']),
	);
	if (split === null || split.between.length === 0) return null;
	const answers = split.pieces.map((piece) => parse(piece));
	if (answers.some((answer) => answer === null)) return null;
	// Combine sets whose elements are not numbers: {1,3} ∪ {2,4} becomes a single set.
	if (split.between.every((token) => token === '\\cup') && answers.every((answer) => answer?.kind === 'list')) {
		return listOf(
			answers.flatMap((answer) => (answer as AnswerList).items),
			'braces',
		);
	}
	let result = asRegion(answers[0] as Answer);
	for (const [i, token] of split.between.entries()) {
		const next = asRegion(answers[i + 1] as Answer);
		if (result === null || next === null) return null;
		result =
			token === '\\cup'
				? union([result, next])
				: token === '\\cap'
					? intersection([result, next])
					: without(result, next);
	}
	return result;
}
