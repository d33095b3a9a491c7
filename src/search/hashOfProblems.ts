import { createHash } from 'node:crypto';
import type { Problem } from '../core/dataset/problem.ts';

/** Returns the hash of rows that episodes are played on. Their keys include all columns. */
export const hashOfRows = (rows: readonly Pick<Problem, 'key'>[]): string =>
	hashOfProblems(rows.map(({ key }) => ({ prompt: key, answer: null })));

/** Returns the SHA-256 hash of the questions' prompts and correct answers, in order. */
export function hashOfProblems(problems: readonly Pick<Problem, 'prompt' | 'answer'>[]): string {
	const hash = createHash('sha256');
	for (const { prompt, answer } of problems) hash.update(JSON.stringify([prompt, answer]));
	return hash.digest('hex');
}
