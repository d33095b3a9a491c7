import { basename } from 'node:path';
import { checkAborted } from '../../base/async.ts';
import { type EvaluatedSample, evaluationReport } from '../../core/evaluation/evaluationReport.ts';
import { countProblems, type ProblemSample } from '../../core/evaluation/pairProblems.ts';
import { loadLatexParser } from '../../core/math/latexParser.ts';
import { type MeasuredQuestion, QuestionMeasures } from '../../core/report/completionMeasures.ts';
import { CompletionSums } from '../../core/report/completionSummary.ts';
import { contaminationText } from '../../core/report/contaminationText.ts';
import type { ReportedEvaluation } from '../../core/report/reportedRun.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import { readJson } from '../../files/safeFile.ts';
import { decode } from '../../protocol/decode.ts';
import {
	contaminationFileSchema,
	type EvaluationFile,
	type EvaluationSpec,
	evaluationFiles,
} from '../../protocol/evaluationFolder.ts';
import type { LanguageName } from '../../protocol/recipeKeys/builtInRewards.ts';
import { evaluatedQuestions, listEvaluations } from '../evaluationFiles.ts';
import type { ReadContext } from './readContext.ts';

/** Maximum number of evaluations to report per run. */
const maxEvaluations = 30;

/**
 * Returns the results of checkpoint evaluations in a run, sorted by step; those without a finished question are
 * skipped.
 */
export async function readReportedEvaluations(context: ReadContext): Promise<ReportedEvaluation[]> {
	const evaluations: ReportedEvaluation[] = [];
	for (const { path, file } of await listEvaluations(context.content.folder)) {
		checkAborted(context.signal);
		if (evaluations.length >= maxEvaluations) break;
		const evaluation = await readReportedEvaluation(path, file, context);
		if (evaluation !== null) evaluations.push(evaluation);
	}
	return evaluations;
}

/** Reads one evaluation, counting its completions without keeping them; null if no question is finished. */
export async function readReportedEvaluation(
	path: string,
	file: EvaluationFile,
	{ tags, language }: { readonly tags: TraceTags | null; readonly language: LanguageName | null },
): Promise<ReportedEvaluation | null> {
	const samples: EvaluatedSample[] = [];
	const keyed: ProblemSample[] = [];
	const sums = new CompletionSums(file.spec.tags ?? tags, language);
	const done = new Set<number>();
	const questions = new Map<string, MeasuredQuestion>();
	for await (const { problem, key, category, samples: own } of evaluatedQuestions(path, file.problems.count)) {
		if (done.has(problem)) continue;
		done.add(problem);
		const measures = new QuestionMeasures(category);
		for (const { completion, answer, correct, tokens, truncated, logprob, score } of own) {
			const values = { logprob: logprob ?? null, score: score ?? null };
			samples.push({ problem, category, correct, answer, tokens, truncated, ...values });
			keyed.push({ problem: key, correct });
			measures.add({ accuracy: Number(correct), tokens, ...sums.add({ completion, tokens, truncated }) });
		}
		questions.set(key, measures.question());
	}
	if (samples.length === 0) return null;
	// Voting groups answers by meaning, which requires the LaTeX parser.
	await loadLatexParser();
	const { policy, problems, created, spec } = file;
	return {
		name: basename(path),
		policy: policy.name === policy.model ? policy.name : `${policy.name} (${policy.model})`,
		problems: { name: problems.name, hash: problems.hash },
		...{ done: done.size, total: problems.count, created },
		protocol: protocolText(spec),
		perturbation: spec.perturb ?? null,
		benchmark: spec.problems.from === 'file' ? (spec.problems.benchmark ?? null) : null,
		contamination: await contaminationOf(path),
		report: evaluationReport(samples),
		completions: sums.summary(),
		counts: countProblems(keyed),
		questions,
	};
}

async function contaminationOf(path: string): Promise<string | null> {
	const value = await readJson(path, evaluationFiles.contamination).catch(() => null);
	const decoded = decode(contaminationFileSchema, value);
	return decoded.ok ? contaminationText(decoded.value) : null;
}

function protocolText({ sampling, seed, perturb }: EvaluationSpec): string {
	const { temperature, topP, maxTokens } = sampling;
	return [
		`temperature ${temperature ?? 1}`,
		`top-p ${topP ?? 1}`,
		...(maxTokens === undefined ? [] : [`max ${maxTokens} tokens`]),
		`seed ${seed}`,
		...(perturb === undefined ? [] : [`answered again after ${perturb}`]),
	].join(', ');
}
