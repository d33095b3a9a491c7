import { basename, join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import type { EvaluationReport } from '../../core/evaluation/evaluationReport.ts';
import { AppendFile } from '../../files/appendFile.ts';
import { ensureFolder, writeFileAtomic } from '../../files/atomicFile.ts';
import { FileLock } from '../../files/fileLock.ts';
import { formatLine } from '../../files/jsonLines.ts';
import {
	type ContaminationFile,
	type EvaluatedQuestion,
	type EvaluationFile,
	type EvaluationSpec,
	evaluationFiles,
	evaluationFormat,
} from '../../protocol/evaluationFolder.ts';
import { readEvaluation, readQuestions } from '../../runs/evaluationFiles.ts';

/** Metadata set when an evaluation starts. */
export type NewEvaluation = Pick<EvaluationFile, 'spec' | 'created' | 'problems' | 'policy'>;

/** Removes settings that only affect speed and naming, keeping those that affect samples. */
function decisive({ name: _, concurrency: __, ...spec }: EvaluationSpec): string {
	return JSON.stringify(spec);
}

/** Evaluation folder that a single process writes to. */
export class EvaluationFolder {
	readonly path: string;
	/** Questions, keyed by number. */
	readonly questions: Map<number, EvaluatedQuestion>;
	readonly #lock: FileLock;
	readonly #samples: AppendFile;

	private constructor(path: string, lock: FileLock, questions: Map<number, EvaluatedQuestion>) {
		this.path = path;
		this.questions = questions;
		this.#lock = lock;
		this.#samples = new AppendFile(join(path, evaluationFiles.samples));
	}

	/**
	 * Creates the folder, or continues an existing one. Fails with `busy` while another process is writing to it, and
	 * with `mismatch` if it contains a different evaluation or the questions have changed.
	 */
	static async open(path: string, file: NewEvaluation): Promise<EvaluationFolder> {
		await ensureFolder(path);
		const lock = await FileLock.acquire(join(path, evaluationFiles.lock), `The evaluation ${basename(path)}`);
		try {
			const known = await readEvaluation(path);
			if (known === null) {
				const whole: EvaluationFile = { format: evaluationFormat, ...file };
				await writeFileAtomic(join(path, evaluationFiles.evaluation), `${JSON.stringify(whole, null, '\t')}\n`);
				return new EvaluationFolder(path, lock, new Map());
			}
			const same = decisive(known.spec) === decisive(file.spec) && known.policy.model === file.policy.model;
			if (!same || known.problems.hash !== file.problems.hash) {
				const what = same ? 'with different questions' : 'with a different specification or policy';
				throw new Failure('mismatch', `${path} contains an evaluation ${what}.`, 'Choose another folder with --out.');
			}
			return new EvaluationFolder(path, lock, await readQuestions(path, file.problems.count));
		} catch (error) {
			await lock.release();
			throw error;
		}
	}

	/** Resolves when the question is on disk. */
	async add(question: EvaluatedQuestion): Promise<void> {
		await this.#samples.append(formatLine(question));
		this.questions.set(question.problem, question);
	}

	async writeReport(report: EvaluationReport): Promise<void> {
		await writeFileAtomic(join(this.path, evaluationFiles.report), `${JSON.stringify(report, null, '\t')}\n`);
	}

	async writeContamination(contamination: ContaminationFile): Promise<void> {
		const path = join(this.path, evaluationFiles.contamination);
		await writeFileAtomic(path, `${JSON.stringify(contamination, null, '\t')}\n`);
	}

	async close(): Promise<void> {
		await this.#samples.close().catch(() => undefined);
		await this.#lock.release();
	}
}
