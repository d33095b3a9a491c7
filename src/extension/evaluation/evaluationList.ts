import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as v from 'valibot';
import { readJson } from '../../files/safeFile.ts';
import { decode } from '../../protocol/decode.ts';
import { type EvaluationFile, evaluationFiles } from '../../protocol/evaluationFolder.ts';
import { listEvaluations, readEvaluation } from '../../runs/evaluationFiles.ts';

/** An evaluation as shown in the tree. */
export interface EvaluationView {
	readonly folder: string;
	/** Display name (the folder name). */
	readonly name: string;
	/** Step of the checkpoint; null if it has none. */
	readonly step: number | null;
	/** Name of the question set, followed by its total and completed counts. */
	readonly problems: string;
	readonly count: number;
	readonly done: number | null;
	/** Completions per question. */
	readonly samples: number;
	/** Creation time in seconds since the epoch. */
	readonly created: number;
	/** pass@1 with its 95% interval; null if the evaluation was interrupted. */
	readonly accuracy: Accuracy | null;
}

const accuracySchema = v.looseObject({ accuracy: v.number(), low: v.number(), high: v.number() });
type Accuracy = v.InferOutput<typeof accuracySchema>;
const reportSchema = v.looseObject({ problems: v.number(), accuracy: accuracySchema });

/** Returns the evaluations of a run's checkpoints, sorted by step, then by time. Unreadable evaluations are skipped. */
export async function evaluationsOf(run: string): Promise<EvaluationView[]> {
	const listed = await listEvaluations(run).catch(() => []);
	return Promise.all(listed.map(({ path, file, step }) => viewOf(path, file, step)));
}

/** Returns the evaluation in a folder, or null if there is none or it is unreadable. */
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

/** Returns a stamp that changes when an evaluation is added, removed, or finished, or null if there are none. */
export async function evaluationsStamp(folder: string, names: readonly string[]): Promise<string | null> {
	const stat = await lstat(folder).catch(() => null);
	if (stat === null || !stat.isDirectory()) return null;
	const each = await Promise.all(names.map((name) => lstat(join(folder, name)).catch(() => null)));
	return [stat, ...each].map((one) => one?.mtimeMs ?? 0).join(' ');
}
