import { writeMathShepherd } from '../../core/export/prm/mathShepherd.ts';
import { writeTrlStepwise } from '../../core/export/prm/trlStepwise.ts';
import { bestSolutions, solutionExample } from '../../core/search/export/bestSolutions.ts';
import { datasetLine } from '../../core/search/export/datasetLine.ts';
import { journey, journeyText } from '../../core/search/export/journey.ts';
import { siblingPairs } from '../../core/search/export/siblingPairs.ts';
import { labeledSolutions, softStepLine } from '../../core/search/export/stepLabels.ts';
import { completionLabel, endsOf, type Right } from '../../core/search/export/treeFacts.ts';
import type { SearchTree } from '../../core/search/searchTree.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import type { DataExport, DataSpec, KeptSolutions, SolutionLine } from '../../protocol/dataSpec.ts';

export interface LineFacts {
	readonly key: string;
	readonly answer: string | null;
	readonly strategy: string;
	readonly tokens: number;
	readonly tags: TraceTags;
	/** Returns whether the completion that ends at a node is correct; null if unknown. */
	readonly right: Right;
	/** The node selected by the search. */
	readonly chosen: number | null;
}

/**
 * Returns the lines produced by a search, keyed by export. Values must already have been assigned to the search's
 * nodes.
 */
export function searchLines(spec: DataSpec, tree: SearchTree, facts: LineFacts): Map<DataExport, unknown[]> {
	const wanted = new Set(spec.exports);
	const lines = new Map<DataExport, unknown[]>();
	const ends = keptEnds(spec, tree, facts);
	if (wanted.has('solutions'))
		lines.set(
			'solutions',
			ends.map((end) => solutionLine(tree, end, facts)),
		);
	if (wanted.has('sft'))
		lines.set(
			'sft',
			ends.map((end) => solutionExample(tree, tree.textOf(end), spec.form)),
		);
	if (wanted.has('journey')) {
		const { trials, most: max } = spec.journey;
		const texts = ends.map((end) => journeyText(journey(tree, end, { tags: facts.tags, trials, most: max })));
		lines.set(
			'journey',
			[...new Set(texts)].map((text) => solutionExample(tree, text, spec.form)),
		);
	}
	if (wanted.has('dpo')) {
		const { span, most: max, margin } = spec.pairs;
		const conversational = spec.form === 'conversational';
		const pairs = siblingPairs(tree, { span, perGroup: max, margin, conversational });
		lines.set('dpo', distinct(pairs.map(({ pair }) => pair)));
	}
	return lines;
}

/** Returns the lines produced by a search that completed steps, keyed by export. */
export function labelLines(spec: DataSpec, tree: SearchTree, right: Right): Map<DataExport, unknown[]> {
	const wanted = new Set(spec.exports);
	const { threshold } = spec.labels;
	const labeled = labeledSolutions(tree, right, threshold === undefined ? {} : { threshold });
	const lines = new Map<DataExport, unknown[]>();
	const set = (kind: DataExport, values: readonly unknown[]) => {
		// A string instead of an object explains why a solution cannot be written in that format.
		if (wanted.has(kind))
			lines.set(kind, distinct(values.filter((value) => typeof value === 'object' && value !== null)));
	};
	set(
		'step-labels',
		labeled.map(({ sample }) => writeTrlStepwise(sample)),
	);
	set(
		'math-shepherd',
		labeled.map(({ sample }) => writeMathShepherd(sample)),
	);
	set('soft-labels', labeled.map(softStepLine));
	return lines;
}

/** Returns the end nodes of the solutions to keep, excluding solutions with duplicate text. */
function keptEnds(spec: DataSpec, tree: SearchTree, { right, chosen }: LineFacts): number[] {
	const { most: max, least: min } = spec;
	const ends = endsOf(tree);
	const judged = ends.some((end) => right(end) !== null);
	const keep: KeptSolutions = spec.keep ?? (judged ? 'correct' : 'best');
	if (keep === 'best') {
		const best = chosen === null ? undefined : tree.node(chosen);
		if (best === undefined || tree.textOf(best.id).trim() === '') return [];
		const value = tree.q(best.id) ?? best.score;
		return min !== undefined && (value === null || value < min) ? [] : [best.id];
	}
	const all = bestSolutions(tree, { most: ends.length, ...(min === undefined ? {} : { least: min }) });
	const own = all.filter((id) => tree.node(id)?.label !== completionLabel);
	const kept =
		keep === 'all' ? own : own.filter((id) => right(tree.node(id) as NonNullable<ReturnType<typeof tree.node>>));
	return kept.slice(0, max);
}

function solutionLine(tree: SearchTree, end: number, facts: LineFacts): SolutionLine {
	const { prompt, steps, solution, reward } = datasetLine(tree, end);
	const node = tree.node(end) as NonNullable<ReturnType<typeof tree.node>>;
	const { key, answer, strategy, tokens, right } = facts;
	return {
		key,
		prompt,
		answer,
		steps: [...steps],
		solution,
		stated: node.answer,
		reward,
		correct: right(node),
		strategy,
		tokens,
	};
}

function distinct<T>(values: readonly T[]): T[] {
	const seen = new Map(values.map((value) => [JSON.stringify(value), value]));
	return [...seen.values()];
}
