import { basename, dirname } from 'node:path';
import { type AbortSignalLike, checkAborted } from '../../base/async.ts';
import { ContaminationIndex } from '../../core/dataset/hygiene/contamination.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import { fileLines } from '../../files/fileLines.ts';
import type { ContaminationFile } from '../../protocol/evaluationFolder.ts';

/** Maximum nesting depth at which a row is searched for text; the text of chat messages is at depth two. */
const deepest = 4;
const longestText = 1 << 20;

/**
 * Finds rows in training files that share ten consecutive words with a question, or contain an entire question of three
 * to nine words ({@link ContaminationIndex}). All text in a row counts. Fails with the same errors as `openRegular`,
 * and with `cancelled`.
 */
export async function findContamination(
	questions: readonly Pick<Problem, 'prompt'>[],
	files: readonly string[],
	signal?: AbortSignalLike,
): Promise<ContaminationFile> {
	const index = new ContaminationIndex();
	for (const [i, { prompt }] of questions.entries()) index.add(prompt, i);
	const found: ContaminationFile['files'] = [];
	for (const path of files) {
		let rows = 0;
		let overlapping = 0;
		let first: ContaminationFile['files'][number]['first'] = null;
		for await (const row of fileLines(dirname(path), basename(path))) {
			if (++rows % 1000 === 0) checkAborted(signal);
			const overlap = index.find(textsOf(row, 0).join('\n').slice(0, longestText));
			if (overlap === null) continue;
			overlapping++;
			first ??= { line: rows, words: overlap.words };
		}
		found.push({ name: basename(path), rows, overlapping, first });
	}
	return { format: 1, questions: questions.length - index.tooShort, tooShort: index.tooShort, files: found };
}

function textsOf(value: unknown, depth: number): string[] {
	if (typeof value === 'string') return [value];
	if (typeof value !== 'object' || value === null || depth >= deepest) return [];
	return Object.values(value).flatMap((inner) => textsOf(inner, depth + 1));
}
