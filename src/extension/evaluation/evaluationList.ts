import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as v from 'valibot';
import { readJson } from '../../files/safeFile.ts';
import { decode } from '../../protocol/decode.ts';
import { type EvaluationFile, evaluationFiles } from '../../protocol/evaluationFolder.ts';
import { listEvaluations, readEvaluation } from '../../runs/evaluationFiles.ts';

/** An evaluation as a row shows it. */
export interface EvaluationView {
	readonly folder: string;
	/** What people call it; its folder's name. */
	readonly name: string;
	/** Of the checkpoint; null: none of a step. */
	readonly step: number | null;
	/** What the questions are called, how many there are, and how many of them are done. */
	readonly problems: string;
	readonly count: number;
	readonly done: number | null;
	/** Completions of each question. */
	readonly samples: number;
	/** Seconds since the epoch. */
	readonly created: number;
	/** pass@1 with its 95% interval; null: it was interrupted before its end. */
	readonly accuracy: Accuracy | null;
}

const accuracySchema = v.looseObject({ accuracy: v.number(), low: v.number(), high: v.number() });
type Accuracy = v.InferOutput<typeof accuracySchema>;
const reportSchema = v.looseObject({ problems: v.number(), accuracy: accuracySchema });

/** The evaluations of a run's checkpoints, by step, then by time. What cannot be read is left out. */
export async function evaluationsOf(run: string): Promise<EvaluationView[]> {
	const listed = await listEvaluations(run).catch(() => []);
	return Promise.all(listed.map(({ path, file, step }) => viewOf(path, file, step)));
}

/** The evaluation that a folder is; null: it is none, or cannot be read. */
export async function evaluationAt(folder: string): Promise<EvaluationView | null> {
	const file = await readEvaluation(folder).catch(() => null);
	return file === null ? null : viewOf(folder, file, null);
}

async function viewOf(folder: string, file: EvaluationFile, step: number | null): Promise<EvaluationView> {
	const report = decode(reportSchema, await readJson(folder, evaluationFiles.report).catch(() => undefined));
	const { problems, created, spec } = file;
	return {
		...{ folder, name: basename(folder), step, problems: problems.name, count: problems.count, created },
		samples: spec.samples,
		done: report.ok ? report.value.problems : null,
		accuracy: report.ok ? report.value.accuracy : null,
	};
}

/** Changes when an evaluation of the run came, went or ended; null: it has none. */
export async function evaluationsStamp(folder: string, names: readonly string[]): Promise<string | null> {
	const stat = await lstat(folder).catch(() => null);
	if (stat === null || !stat.isDirectory()) return null;
	const each = await Promise.all(names.map((name) => lstat(join(folder, name)).catch(() => null)));
	return [stat, ...each].map((one) => one?.mtimeMs ?? 0).join(' ');
}
