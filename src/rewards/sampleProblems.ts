import * as v from 'valibot';
import { checkAborted } from '../base/async.ts';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import { createTask } from '../core/dataset/createTask.ts';
import { parseDatasetLine } from '../core/dataset/datasetRows.ts';
import { taskSource } from '../core/dataset/taskSource.ts';
import type { ResolvedDataset } from '../core/recipe/resolvedRecipe.ts';
import { plainText, type SampledProblem } from '../core/reward/verification/rowsToVerify.ts';
import { decode } from '../protocol/decode.ts';
import type { TaskDataset } from '../protocol/recipeKeys/recipe.ts';
import { messageSchema } from '../protocol/rolloutLine.ts';
import type { ChatMessage } from '../protocol/scorer.ts';
import { type DatasetLine, type DatasetLineLimits, drawLines } from './datasetLines.ts';
import type { RewardData } from './rewardData.ts';

export interface SampleOptions {
	/** Maximum number of problems. */
	readonly count: number;
	readonly seed: number;
	readonly signal?: AbortSignal;
	readonly limits?: DatasetLineLimits;
}

export interface ProblemSample {
	/** Problems with gold answers, in file order. */
	readonly problems: readonly SampledProblem[];
	readonly remarks: readonly string[];
}

/**
 * Returns a seeded sample of a reward's data: problems from its task, or rows with an answer from its file. If the file
 * cannot be read, adds a remark, or fails with `missing`, `denied` or `invalid` if the user selected the file.
 */
export async function sampleProblems(data: RewardData, options: SampleOptions): Promise<ProblemSample> {
	const { dataset, described } = data;
	if (dataset === null || options.count < 1) return { problems: [], remarks: [] };
	try {
		if ('task' in dataset) return { problems: ofTask(dataset as TaskDataset, options), remarks: [] };
		return await ofFile(dataset, described, options);
	} catch (error) {
		if (options.signal?.aborted || data.source === 'given') throw error;
		return { problems: [], remarks: [Failure.from(error).toString()] };
	}
}

/** Returns the first distinct problems that a run with this seed trains on. */
function ofTask(dataset: TaskDataset, { count, seed }: SampleOptions): SampledProblem[] {
	const source = taskSource(createTask(dataset));
	const problems = new Map<string, SampledProblem>();
	// A small task produces duplicates.
	for (let i = 0; problems.size < count && i < 4 * count; i++) {
		const problem = source.training(seed, i);
		if (!problems.has(problem.key)) problems.set(problem.key, { problem, name: `problem ${i + 1}` });
	}
	return [...problems.values()];
}

type FileData = Extract<ResolvedDataset, { path: string }>;
const messages = v.pipe(v.array(messageSchema), v.minLength(1));

/**
 * Returns a row whose prompt is a list of messages, both as is and with the prompt as a single string. Returns null for
 * other rows.
 */
function conversational(text: string, column: string): { text: string; prompt: ChatMessage[]; row: object } | null {
	let row: unknown;
	try {
		row = parseBoundedJson(text);
	} catch {
		return null;
	}
	if (typeof row !== 'object' || row === null || Array.isArray(row) || !Object.hasOwn(row, column)) return null;
	const decoded = decode(messages, (row as Record<string, unknown>)[column]);
	if (!decoded.ok) return null;
	const prompt = decoded.value.map(({ role, content }) => ({ role, content }));
	return { text: JSON.stringify({ ...row, [column]: plainText(decoded.value) }), prompt, row };
}

interface Read {
	readonly sampled?: SampledProblem;
	readonly fault?: { readonly line: number | null; readonly message: string; readonly action: string };
	readonly blank?: true;
}

function readRow({ text, line, offset }: DatasetLine, data: FileData): Read {
	const chat = text.includes('"role"') ? conversational(text, data.prompt) : null;
	const parsed = parseDatasetLine(chat?.text ?? text, line ?? 0, data);
	if (parsed.kind === 'blank') return { blank: true };
	if (parsed.kind === 'fault') return { fault: { ...parsed.fault, line } };
	const problem = chat === null ? parsed.problem : { ...parsed.problem, row: chat.row as Record<string, unknown> };
	return {
		sampled: {
			problem,
			name: line === null ? `row at byte ${formatCount(offset)}` : `row ${line}`,
			...(chat === null ? {} : { messages: chat.prompt }),
			...(line === null ? {} : { place: { file: data.path, line } }),
		},
	};
}

/** Maximum number of lines to inspect per problem with an answer. */
const patience = 5;

async function ofFile(data: FileData, described: string, options: SampleOptions): Promise<ProblemSample> {
	const { count, seed, signal, limits } = options;
	const lines = await drawLines(data.path, seed, {
		...(signal === undefined ? {} : { signal }),
		...(limits === undefined ? {} : { limits }),
	});
	const found: { offset: number; sampled: SampledProblem }[] = [];
	const faults: NonNullable<Read['fault']>[] = [];
	let unanswered = 0;
	let looked = 0;
	try {
		while (found.length < count && looked < patience * count + 100) {
			checkAborted(signal);
			const line = await lines.read();
			if (line === null) break;
			const { sampled, fault, blank } = readRow(line, data);
			if (blank) continue;
			looked++;
			if (fault) faults.push(fault);
			else if (sampled?.problem.answer === null) unanswered++;
			else if (sampled) found.push({ offset: line.offset, sampled });
		}
	} finally {
		await lines.close();
	}
	const problems = found.sort((a, b) => a.offset - b.offset).map(({ sampled }) => sampled);
	return { problems, remarks: remarksOf({ data, described, looked, faults, unanswered }) };
}

function remarksOf(seen: {
	data: FileData;
	described: string;
	looked: number;
	faults: NonNullable<Read['fault']>[];
	unanswered: number;
}): string[] {
	const { data, described, looked, faults, unanswered } = seen;
	const remarks: string[] = [];
	if (looked === 0) remarks.push(`${described} has no rows.`);
	const [first] = faults.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
	if (first) {
		const where = first.line === null ? 'a line' : `line ${first.line}`;
		const others = faults.length > 1 ? ` (and ${faults.length - 1} more of ${formatCounted(looked, 'row')})` : '';
		remarks.push(`${described}, ${where}, ${first.message}${others}. ${first.action}`);
	}
	if (unanswered > 0) {
		remarks.push(
			unanswered === looked
				? `${described} has no answers in "${data.answer}", so correct and incorrect completions cannot be generated.`
				: `${unanswered} of ${looked} rows in ${described} have no answer and are skipped.`,
		);
	}
	return remarks;
}
