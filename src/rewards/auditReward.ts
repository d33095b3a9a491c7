import { checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { hashText, Random } from '../base/random.ts';
import { goldText } from '../core/dataset/answer.ts';
import type { Verifier } from '../core/reward/accuracyReward.ts';
import { baselineOf } from '../core/reward/audit/baseline.ts';
import type { AuditProbe, Probe, ProbeAttempt, ProbeContext, ProbeRow } from '../core/reward/audit/probe.ts';
import {
	type ProbeResult,
	probeResult,
	skippedProbe,
	sortFindings,
	type TriedAttempt,
	type TriedRow,
	targetSkip,
} from '../core/reward/audit/probeResult.ts';
import { probes as allProbes } from '../core/reward/audit/probes.ts';
import { isJudged, type RewardBaseline, readBaseline } from '../core/reward/audit/rewardBaseline.ts';
import { honestCompletion } from '../core/reward/verification/honestCompletion.ts';
import { type SampledProblem, scoreRow } from '../core/reward/verification/rowsToVerify.ts';
import { rowError } from '../core/reward/verification/rowToVerify.ts';
import { wrongAnswers } from '../core/reward/verification/wrongAnswers.ts';
import type { Template } from '../core/text/template.ts';
import type { AuditReport } from '../protocol/audit.ts';
import type { ScoreError, ScoreRow } from '../protocol/scorer.ts';
import { asksModel } from './asksModel.ts';
import type { RewardRunner } from './rewardRunner.ts';

export interface AuditRequest {
	/** The reward file, or a display name if there is no file. */
	readonly file: string;
	/** Name of the reward in the runner's source. */
	readonly reward: string;
	/** Problems from the reward's data. Problems without a gold answer are skipped. */
	readonly problems: readonly SampledProblem[];
	readonly template: Template;
	/** Determines whether a generated answer is incorrect. */
	readonly verify: Verifier;
	/** Description of where the problems came from and which of them could not be used. */
	readonly data?: readonly string[];
	readonly remarks?: readonly string[];
	/** Ids of the probes to run. Default: all. */
	readonly probes?: readonly string[];
	/** Random seed. Default: 1. */
	readonly seed?: number;
	/** Timeout per batch. Default: the runner's limit. */
	readonly timeoutMs?: number;
	readonly signal?: AbortSignal;
	/** Called after each probe. */
	readonly onProgress?: (done: number, total: number) => void;
}

/** All probes that `AuditRequest.probes` can select. */
export const auditProbes: readonly Pick<Probe, 'id' | 'title' | 'severity' | 'why' | 'fix'>[] = allProbes;

/** Default number of problems in an audit. */
export const defaultAuditRows = 12;

/** Maximum number of incorrect answers generated per row. */
const wrongAnswersKept = 4;
/** Maximum number of completion characters per batch. */
const batchCharacters = 4_000_000;

interface AuditedRow {
	readonly sampled: SampledProblem;
	readonly probeRow: ProbeRow;
	readonly context: ProbeContext;
}

interface Scored {
	readonly value: number | null;
	readonly error?: ScoreError;
}

function auditedRows({ problems, template, verify, seed = 1 }: AuditRequest): AuditedRow[] {
	const usable = problems.flatMap((sampled) => {
		const { problem } = sampled;
		const honest = honestCompletion(template, problem);
		return honest === null || problem.answer === null ? [] : [{ sampled, problem, answer: problem.answer, honest }];
	});
	const golds = usable.map(({ answer }) => answer);
	const rows = usable.map(({ sampled, problem, answer, honest }): ProbeRow => {
		const made = wrongAnswers(problem, {
			verify,
			prompt: problem.prompt,
			others: golds,
			random: Random.of(seed, 'audit', hashText(problem.key)),
			count: wrongAnswersKept + 2,
		});
		return {
			prompt: scoreRow(sampled, template, '').prompt,
			answer,
			solution: problem.solution,
			row: problem.row,
			honest,
			wrong: made
				.map((wrong) => wrong.answer)
				.filter((wrong) => wrong.trim() !== '')
				.slice(0, wrongAnswersKept),
		};
	});
	const tags = { think: template.think, answer: template.answer };
	return usable.map(({ sampled }, i) => ({
		sampled,
		probeRow: rows[i] as ProbeRow,
		context: { tags, others: [...rows.slice(i + 1), ...rows.slice(0, i)] },
	}));
}

/** Returns the row with its gold answer replaced in every column that contains it. */
function withGold(row: ScoreRow, answer: unknown): ScoreRow {
	const gold = goldText(row.answer);
	const columns = Object.entries(row.row).map(([name, value]) => [
		name,
		gold !== null && goldText(value) === gold ? answer : value,
	]);
	return { ...row, answer, row: Object.fromEntries(columns) };
}

/** Returns the row to score for an attempt. */
function attemptRow({ sampled }: AuditedRow, template: Template, attempt: ProbeAttempt): ScoreRow {
	let row = scoreRow(sampled, template, attempt.completion);
	if (attempt.truncated) row = { ...row, truncated: true };
	if (attempt.prompt !== undefined) {
		const { prompt } = attempt;
		row = { ...row, prompt };
		if (row.messages) {
			const { completion, prompt: messages } = row.messages;
			const last = messages.findLastIndex(({ role }) => role === 'user');
			const changed = messages.map((message, i) => (i === last ? { ...message, content: prompt } : message));
			row = { ...row, messages: { prompt: changed, completion } };
		}
	}
	return 'answer' in attempt ? withGold(row, attempt.answer) : row;
}

/** Splits rows into batches by completion length. */
function batchesOf(rows: readonly ScoreRow[], alone: boolean): ScoreRow[][] {
	if (alone) return rows.map((row) => [row]);
	const batches: ScoreRow[][] = [];
	let size = Number.POSITIVE_INFINITY;
	for (const row of rows) {
		if (size + row.completion.length > batchCharacters) {
			batches.push([]);
			size = 0;
		}
		batches.at(-1)?.push(row);
		size += row.completion.length;
	}
	return batches;
}

class Scoring {
	readonly #runner: RewardRunner;
	readonly #request: AuditRequest;
	durationMs = 0;

	constructor(runner: RewardRunner, request: AuditRequest) {
		this.#runner = runner;
		this.#request = request;
	}

	async score(rows: readonly ScoreRow[], alone = false): Promise<Scored[]> {
		const { reward, signal, timeoutMs } = this.#request;
		const scored: Scored[] = [];
		for (const batch of batchesOf(rows, alone)) {
			checkAborted(signal);
			const result = await this.#runner.score(reward, batch, {
				...(timeoutMs === undefined ? {} : { timeoutMs }),
				...(signal === undefined ? {} : { signal }),
			});
			this.durationMs += result.durationMs;
			const whole = result.errors.find(({ index }) => index < 0);
			for (const i of batch.keys()) {
				const error = result.errors.find(({ index }) => index === i) ?? whole;
				scored.push(error ? { value: null, error } : { value: result.values[i] ?? null });
			}
		}
		return scored;
	}
}

async function rewardBaselineOf(
	rows: readonly AuditedRow[],
	scoring: Scoring,
	template: Template,
): Promise<{ baseline: RewardBaseline; error: ScoreError | undefined }> {
	const baselines = rows.map((row) => baselineOf(row.probeRow, row.context));
	const scored = await scoring.score(
		rows.flatMap((row, i) => (baselines[i] ?? []).map((one) => attemptRow(row, template, one))),
	);
	let at = 0;
	const values = baselines.map((baseline) =>
		baseline.map(({ role, completion }) => ({
			role,
			value: scored[at++]?.value ?? null,
			length: completion.length,
		})),
	);
	return { baseline: readBaseline(values), error: scored.find(({ error }) => error !== undefined)?.error };
}

const pythonTruncation =
	'Python rewards cannot see whether a completion was truncated. Mask truncated completions in the recipe instead (mask_truncated_completions).';

const noModel = 'The reward does not call a model: its code does not mention a judge or open a connection.';

/**
 * Returns the values that a labeled case needs in addition to its text, or null if a case cannot represent the reward's
 * input.
 */
function givenTo({ answer, row, messages }: ScoreRow): TriedAttempt['given'] {
	if (messages !== undefined) return null;
	const whole = answer === null || typeof answer === 'string' || typeof answer === 'boolean' || Number.isFinite(answer);
	return whole ? { answer, row } : null;
}

async function tryProbe(
	probe: AuditProbe,
	rows: readonly AuditedRow[],
	baseline: RewardBaseline,
	scoring: Scoring,
	template: Template,
	{ isPython, mayAskModel }: { readonly isPython: boolean; readonly mayAskModel: boolean },
): Promise<ProbeResult> {
	const target =
		targetSkip(probe, baseline) ??
		(probe.seesTruncation && isPython ? pythonTruncation : probe.asksModel && !mayAskModel ? noModel : null);
	if (target !== null) return skippedProbe(probe, target);
	const tried: { row: AuditedRow; honest: number; attempts: readonly ProbeAttempt[] }[] = [];
	let reason = 'No row can be used to test this.';
	for (const [i, row] of rows.entries()) {
		if (tried.length >= (probe.maxRows ?? Number.POSITIVE_INFINITY)) break;
		const stand = baseline.rows[i];
		if (stand === undefined || stand.honest === null || !isJudged(probe, baseline, stand)) continue;
		const built = probe.build(row.probeRow, row.context);
		if ('skip' in built) reason = built.skip;
		else if (built.length > 0) tried.push({ row, honest: stand.honest, attempts: built });
	}
	if (tried.length === 0) return skippedProbe(probe, reason);
	const scoredRows = tried.flatMap(({ row, attempts }) =>
		attempts.map((attempt) => attemptRow(row, template, attempt)),
	);
	const scored = await scoring.score(scoredRows, probe.alone);
	let at = 0;
	const results = tried.map(
		({ honest, attempts }): TriedRow => ({
			honest,
			attempts: attempts.map(() => {
				const asked = scoredRows[at] as ScoreRow;
				const { prompt, completion, truncated } = asked;
				const { value, error } = scored[at++] as Scored;
				const texts = { prompt, completion, answer: goldText(asked.answer) };
				return {
					...texts,
					truncated: truncated === true,
					given: givenTo(asked),
					value,
					...(error ? { error: rowError(error) } : {}),
				};
			}),
		}),
	);
	return probeResult(probe, results);
}

function chosen(ids: readonly string[] | undefined): readonly AuditProbe[] {
	if (ids === undefined) return allProbes;
	return ids.map((id) => {
		const probe = allProbes.find((one) => one.id === id);
		if (probe !== undefined) return probe;
		throw new Failure(
			'invalid',
			`Unknown audit probe "${id}".`,
			'Run reasoning-lab help audit to see how to list the probes.',
		);
	});
}

/**
 * Tries to earn a reward without a correct answer or the required format, using probes built from the problems. Errors
 * in the reward are part of the report. Rejects only with `cancelled`, with `invalid` for an unknown probe, or if the
 * file cannot be loaded or run (see `RewardRunner.score`).
 */
export async function auditReward(runner: RewardRunner, request: AuditRequest): Promise<AuditReport> {
	const { file, reward, template, data = [], remarks = [], signal, onProgress } = request;
	const probes = chosen(request.probes);
	const scoring = new Scoring(runner, request);
	const rows = auditedRows(request);
	const { baseline, error } = await rewardBaselineOf(rows, scoring, template);
	const results: ProbeResult[] = [];
	const isPython = 'file' in runner.source && runner.source.file.endsWith('.py');
	// If only probes that ask a model were selected, run them anyway.
	const mayAskModel = probes.every((probe) => probe.asksModel) || (await asksModel(runner));
	for (const probe of probes) {
		checkAborted(signal);
		results.push(await tryProbe(probe, rows, baseline, scoring, template, { isPython, mayAskModel }));
		onProgress?.(results.length, probes.length);
	}
	const honest = baseline.rows.map((row) => row.honest).filter((value) => value !== null);
	return {
		format: 1,
		file,
		reward,
		data: [...data],
		rows: honest.length,
		honest: honest.length === 0 ? null : honest.reduce((sum, value) => sum + value, 0) / honest.length,
		probes: results.map(({ outcome }) => outcome),
		findings: sortFindings(results.map(({ finding }) => finding).filter((finding) => finding !== null)),
		remarks: [
			...remarks,
			...baseline.remarks,
			...(error ? [`The reward fails on ordinary completions: ${error.message}`] : []),
		],
		durationMs: scoring.durationMs,
	};
}
