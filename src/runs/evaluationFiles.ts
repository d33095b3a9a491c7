import { basename, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { fileLines } from '../files/fileLines.ts';
import { listFolder, readJson } from '../files/safeFile.ts';
import { decode, decodeOrThrow } from '../protocol/decode.ts';
import {
	type EvaluatedQuestion,
	type EvaluationFile,
	evaluatedQuestionSchema,
	evaluationFileSchema,
	evaluationFiles,
	evaluationFormat,
} from '../protocol/evaluationFolder.ts';
import { runFiles, stepOf } from './runFiles.ts';

/** Maximum number of evaluations to list per run. */
const maxListed = 200;

/**
 * Reads the description of an evaluation from its folder, or returns null if the folder is not an evaluation. Fails
 * with `version`, `invalid`.
 */
export async function readEvaluation(path: string): Promise<EvaluationFile | null> {
	const value = await readJson(path, evaluationFiles.evaluation).catch((error: unknown) => {
		if (error instanceof Failure && error.reason === 'missing') return null;
		throw error;
	});
	if (value === null) return null;
	const file = decodeOrThrow(evaluationFileSchema, value, join(path, evaluationFiles.evaluation));
	if (file.format <= evaluationFormat) return file;
	throw new Failure('version', `${path} was written by a newer version.`, 'Update Reasoning Lab.');
}

/** Yields the finished questions of an evaluation; incomplete or invalid lines are skipped. */
export async function* evaluatedQuestions(path: string, count: number): AsyncGenerator<EvaluatedQuestion> {
	for await (const value of fileLines(path, evaluationFiles.samples)) {
		const decoded = decode(evaluatedQuestionSchema, value);
		if (decoded.ok && decoded.value.problem < count) yield decoded.value;
	}
}

/** Returns all finished questions, keyed by number. */
export async function readQuestions(path: string, count: number): Promise<Map<number, EvaluatedQuestion>> {
	const questions = new Map<number, EvaluatedQuestion>();
	for await (const question of evaluatedQuestions(path, count)) questions.set(question.problem, question);
	return questions;
}

/** Returns the folder for evaluations of a run's checkpoints. */
export const evaluationsFolder = (run: string) => join(run, runFiles.annotations, 'evaluations');

/** An evaluation stored with its run. */
export interface ListedEvaluation {
	readonly path: string;
	readonly file: EvaluationFile;
	/** Step of the evaluated checkpoint; null if it does not belong to a step. */
	readonly step: number | null;
}

/**
 * Lists the evaluations of a run's checkpoints, by step, then by time; other folders are skipped, and links are not
 * followed.
 */
export async function listEvaluations(run: string): Promise<ListedEvaluation[]> {
	const listed: ListedEvaluation[] = [];
	for (const entry of await listFolder(run, runFiles.annotations, 'evaluations')) {
		if (!entry.isDirectory() || listed.length >= maxListed) continue;
		const path = join(evaluationsFolder(run), entry.name);
		const file = await readEvaluation(path).catch(() => null);
		if (file !== null) listed.push({ path, file, step: stepOfEvaluation(file) });
	}
	const order = ({ step }: ListedEvaluation) => step ?? Number.POSITIVE_INFINITY;
	// Infinity minus Infinity is NaN, which is not a valid sort result.
	return listed.sort((a, b) => (order(a) === order(b) ? 0 : order(a) - order(b)) || a.file.created - b.file.created);
}

function stepOfEvaluation({ spec }: EvaluationFile): number | null {
	return spec.policy.kind === 'checkpoint' ? stepOf(basename(spec.policy.folder)) : null;
}
