import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { Problem } from '../../core/dataset/problem.ts';
import type { ProblemSource } from '../../core/dataset/problemSource.ts';
import type { ResolvedDataset } from '../../core/recipe/resolvedRecipe.ts';
import type { LinkProblem } from '../../protocol/trainerLink.ts';
import { largestDataset } from '../../runs/openDataset.ts';
import type { LinkParams, LinkResult } from './trainerServer.ts';

/**
 * Returns whether the driver reads the dataset. It does so for generated problems and for line-based files that fit in
 * memory. The trainer reads all others.
 */
export async function driverReads(dataset: ResolvedDataset): Promise<boolean> {
	if ('task' in dataset) return true;
	const { path, heldOut, preset } = dataset;
	if (preset !== undefined) return false;
	for (const file of heldOut === null ? [path] : [path, heldOut]) {
		if (!isAbsolute(file) || !file.toLowerCase().endsWith('.jsonl')) return false;
		const info = await stat(file).catch(() => null);
		if (info !== null && info.size > largestDataset) return false;
	}
	return true;
}

/** Maximum number of problems per reply. A trainer requests only its next batches. */
const maxProblems = 100_000;

/**
 * Maximum size of a reply with training problems, in characters. The problem that exceeds the limit is the last one
 * sent.
 */
const largestAnswer = 16 << 20;

/** Returns problems of one split, in the format sent to trainers. */
export function linkProblems(
	source: ProblemSource,
	seed: number,
	{ split, from, count }: LinkParams<'data/problems'>,
): LinkResult<'data/problems'> {
	const taken = Math.min(count, maxProblems);
	if (split === 'training') {
		const problems: LinkProblem[] = [];
		for (let size = 0; problems.length < taken && size < largestAnswer; ) {
			const place = from + problems.length;
			const problem = linkProblem(source.training(seed, place), place);
			size += JSON.stringify(problem).length;
			problems.push(problem);
		}
		return { problems, total: source.trainingRows ?? null };
	}
	return {
		problems: source
			.heldOut(from + taken)
			.slice(from)
			.map((problem, i) => linkProblem(problem, from + i)),
		total: source.trainingRows === undefined ? null : source.heldOut(Number.MAX_SAFE_INTEGER).length,
	};
}

function linkProblem({ prompt, answer, solution, row }: Problem, index: number): LinkProblem {
	return { index, prompt, answer, solution, row: { ...row } };
}
