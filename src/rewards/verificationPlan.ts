import { basename, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { type CaseFault, caseReward, type LabeledCase } from '../core/reward/verification/labeledCase.ts';
import {
	caseRows,
	problemRows,
	type RowNumbers,
	type SampledProblem,
	selectionRow,
} from '../core/reward/verification/rowsToVerify.ts';
import type { RowToVerify } from '../core/reward/verification/rowToVerify.ts';
import { rolloutPath, runFiles } from '../runs/runFiles.ts';
import { type CasesFile, casesPath, readCases } from './casesFile.ts';
import type { DatasetLineLimits } from './datasetLines.ts';
import { describeRollouts, latestRun, type RecordedRollouts, readRecordedRollouts } from './recordedRollouts.ts';
import { findRewardData, pathInside, type RewardData, type RewardDataRequest } from './rewardData.ts';
import { sampleProblems } from './sampleProblems.ts';

/** Rows to verify a reward file with. */
export type WhatToVerify =
	/** Sampled problems with correct and incorrect answers, and the labeled cases. Each can be disabled. */
	| { readonly kind: 'data'; readonly dataset?: boolean; readonly cases?: boolean | string }
	/** The last generation batches of a run; null selects the newest run that used the file, or else the newest run. */
	| { readonly kind: 'rollouts'; readonly run: string | null }
	/** Text to score as a completion of problem `row` (0-based) in the sample drawn for the same number of rows. */
	| { readonly kind: 'selection'; readonly text: string; readonly row?: number };

export interface PlanRequest extends RewardDataRequest {
	readonly what: WhatToVerify;
	/** Total number of rows to score. Default 200. */
	readonly rows?: number;
	/** Number of incorrect answers per problem. Default 4. */
	readonly wrong?: number;
	readonly seed?: number;
	readonly signal?: AbortSignal;
	readonly limits?: DatasetLineLimits;
}

/** Rows to score, with descriptions and remarks. */
export interface VerificationPlan {
	readonly what: WhatToVerify;
	readonly data: RewardData;
	/** Rows for all rewards in the file. */
	readonly rows: readonly RowToVerify[];
	readonly problems: readonly SampledProblem[];
	readonly cases: readonly { readonly row: RowToVerify; readonly labeled: LabeledCase }[];
	/** Lines in the case file that are not valid cases. */
	readonly caseFaults: readonly (CaseFault & { readonly file: string })[];
	readonly rollouts: RecordedRollouts | null;
	/** Same as in `Verification`. */
	readonly described: readonly string[];
	readonly remarks: readonly string[];
	/** Files that require a new plan if they change, whether or not they exist now. */
	readonly files: readonly string[];
}

export const planDefaults = { rows: 200, wrong: 4, seed: 1 } as const;

/**
 * Reads the rows to verify a reward file with. Missing data is reported as a remark. Fails only for data that was
 * requested explicitly: a run without rollouts, a missing case file, or a nonexistent dataset specified by the user.
 */
export async function planVerification(request: PlanRequest): Promise<VerificationPlan> {
	const { file, what, signal } = request;
	const { rows = planDefaults.rows, wrong = planDefaults.wrong, seed = planDefaults.seed } = request;
	const data = await findRewardData(request);
	const numbers: RowNumbers = { batch: 0, group: 0 };
	const plan = {
		what,
		data,
		rows: [] as RowToVerify[],
		problems: [] as readonly SampledProblem[],
		cases: [] as VerificationPlan['cases'],
		caseFaults: [] as VerificationPlan['caseFaults'],
		rollouts: null as RecordedRollouts | null,
		described: [] as string[],
		remarks: [] as string[],
		files: [...data.files],
	};
	const sample = async (count: number) => {
		const { problems, remarks } = await sampleProblems(data, {
			count,
			seed,
			...(signal === undefined ? {} : { signal }),
			...(request.limits === undefined ? {} : { limits: request.limits }),
		});
		plan.problems = problems;
		plan.remarks.push(...data.remarks, ...remarks);
		return problems;
	};
	const sampled = Math.max(1, Math.floor(rows / (wrong + 1)));
	if (what.kind === 'rollouts') {
		const run = what.run ?? (await latestRun(file, request.folders));
		if (run === null) {
			throw new Failure(
				'missing',
				`No run with rollouts found for ${basename(file)}.`,
				'Start a run, or select its folder.',
			);
		}
		const read = await readRecordedRollouts(run, { rows, numbers, ...(signal === undefined ? {} : { signal }) });
		plan.rollouts = read;
		plan.rows.push(...read.rows);
		plan.described.push(describeRollouts(read));
		plan.files.push(join(run, runFiles.rollouts), ...read.steps.map((step) => rolloutPath(run, step)));
		plan.remarks.push(...read.remarks);
	} else if (what.kind === 'selection') {
		const at = what.row ?? 0;
		// Use the same sample as for the data, so that problem numbers refer to the same problems.
		const problems = await sample(Math.max(at + 1, sampled));
		plan.rows.push(selectionRow(what.text, problems[at] ?? problems[0] ?? null, data.template, numbers));
		plan.described.push('the selection');
	} else {
		if (what.dataset !== false) {
			const problems = await sample(sampled);
			const { template, verify } = data;
			plan.rows.push(...problemRows(problems, { template, verify, wrong, seed, numbers }));
			if (problems.length > 0) {
				plan.described.push(`${formatCounted(problems.length, 'problem')} of ${data.described}`);
			}
		}
		if (what.cases !== false) {
			const path = typeof what.cases === 'string' ? what.cases : casesPath(file);
			const read = await readCases(path).catch((error: unknown) => {
				if (typeof what.cases !== 'string' && error instanceof Failure && error.reason === 'missing') return null;
				throw error;
			});
			plan.files.push(path);
			if (read !== null) addCases(plan, read, request, numbers);
		}
	}
	return plan;
}

function addCases(
	plan: {
		cases: VerificationPlan['cases'];
		caseFaults: VerificationPlan['caseFaults'];
		described: string[];
		remarks: string[];
	},
	read: CasesFile,
	{ folders }: PlanRequest,
	numbers: RowNumbers,
): void {
	const rows = caseRows(read.cases, read.file, numbers);
	plan.cases = rows.map((row, i) => ({ row, labeled: read.cases[i] as LabeledCase }));
	plan.caseFaults = read.faults.map((fault) => ({ ...fault, file: read.file }));
	const name = pathInside(folders, read.file);
	if (rows.length > 0) plan.described.push(`${formatCounted(rows.length, 'case')} of ${name}`);
	for (const { line, message, action } of read.faults)
		plan.remarks.push(`${name}, line ${line}, ${message}. ${action}`);
}

/**
 * Returns the rows in a plan that apply to a reward: all except cases for other rewards in the file.
 * @param rewards names of the rewards in the file, in file order
 */
export function rowsOfReward(plan: VerificationPlan, reward: string, rewards: readonly string[]): RowToVerify[] {
	const main = caseReward(basename(plan.data.file), rewards);
	const meant = plan.cases.filter(({ labeled }) => (labeled.reward ?? main) === reward);
	return [...plan.rows, ...meant.map(({ row }) => row)];
}

/** Describes cases for rewards that the file does not have. */
export function strayCases(plan: VerificationPlan, rewards: readonly string[]): string[] {
	return plan.cases
		.filter(({ labeled }) => labeled.reward !== undefined && !rewards.includes(labeled.reward))
		.map(
			({ labeled: { line, reward } }) =>
				`Line ${line} of the case file is for reward "${reward}", which is not in the reward file.`,
		);
}
