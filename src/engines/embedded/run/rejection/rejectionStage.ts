import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { parseBoundedJson } from '../../../../base/boundedJson.ts';
import { Failure } from '../../../../base/failure.ts';
import { Random } from '../../../../base/random.ts';
import type { CompletionRow } from '../../../../core/dataset/completionRows.ts';
import type { Metrics } from '../../../../core/grpo/stepMetrics.ts';
import type { ResolvedRejectionStage } from '../../../../core/recipe/resolvedRecipe.ts';
import {
	type DropCounts,
	dropReason,
	dropReasons,
	extraRows,
	type KeepSettings,
	keepTogether,
	noDrops,
} from '../../../../core/rejection/keepCompletions.ts';
import { correctness, judgingReward } from '../../../../core/reward/correctness.ts';
import { renderCompletion, type Template } from '../../../../core/text/template.ts';
import { decode } from '../../../../protocol/decode.ts';
import { judgeOutcomes } from '../../../shared/judgeOutcomes.ts';
import { addBatchMetrics, writeBatch } from '../batchReport.ts';
import { type GenerationBatch, nextGeneration } from '../generationBatch.ts';
import type { PosedProblem } from '../problemFeed.ts';
import type { Rollout, SamplingStage } from '../rollout.ts';
import type { StageHost, Verdict } from '../stageHost.ts';
import type { TrainingRow } from '../trainingRow.ts';

/** Output file of the stage. Other stages refer to it by this name. */
export const completionsName = 'completions.jsonl';
/** File of preference pairs, if the recipe asks for them. */
const pairsName = 'pairs.jsonl';

const lineSchema = v.object({
	prompt: v.string(),
	completion: v.string(),
	answer: v.nullable(v.string()),
	reward: v.nullable(v.number()),
	category: v.optional(v.string()),
	/** Prompt as the policy sees it, and the worked solution, which is preferred to the completion. */
	pair: v.optional(v.object({ prompt: v.string(), chosen: v.string() })),
});
export type CompletionLine = v.InferOutput<typeof lineSchema>;

/** Schema of a batch file: the kept completions and the number of dropped ones. */
const batchSchema = v.object({
	kept: v.array(lineSchema),
	dropped: v.record(v.picklist(dropReasons), v.number()),
	sampled: v.number(),
});
type BatchFile = v.InferOutput<typeof batchSchema>;

/**
 * Rejection sampling: the policy's correct completions (or those accepted by a reward) become training data (Yuan et
 * al. 2023; DeepSeek-R1, section 2.3.3). The policy is frozen. Each step is one generation batch. Until the last batch,
 * the completions kept from each batch are stored in a separate file, so an interrupted run resumes and produces the
 * same data.
 * @param extra rows from files to mix in
 */
export async function runRejectionStage(
	host: StageHost,
	stageInForce: () => ResolvedRejectionStage,
	extra: readonly (readonly CompletionRow[])[],
): Promise<Verdict> {
	const { progress, watch } = host;
	const folder = `candidates_${progress.stageIndex}`;
	for (;;) {
		const start = performance.now();
		const stage = stageInForce();
		const batchStart = progress.step;
		const sampling = (): SamplingStage => {
			const now = stageInForce();
			const left = now.problems - progress.stageStep * now.prompts_per_step;
			return { ...now, prompts_per_step: Math.min(now.prompts_per_step, left) };
		};
		const batch = await nextGeneration(host, sampling);
		if (batch === 'stop') return 'stop';
		const file = await judged(host, stage, batch);
		await host.data.write(`${folder}/step_${String(progress.stageStep).padStart(6, '0')}.json`, JSON.stringify(file));
		const rows = loggedRows(batch);
		writeBatch(host, stage, rows);
		const metrics: Metrics = {
			'rejection/kept': file.kept.length / file.sampled,
			...Object.fromEntries(
				Object.entries(file.dropped).map(([reason, count]) => [`rejection/${reason}`, count / file.sampled]),
			),
		};
		addBatchMetrics(host, metrics, {
			batch,
			rows,
			groups: null,
			generateSeconds: watch.seconds('generate'),
			graph: [],
		});
		const last = progress.stageStep + 1 >= stage.steps;
		if (last) metrics['rejection/rows'] = await finish(host, stage, folder, extra);
		metrics.num_tokens = progress.tokens;
		metrics.step_time = (performance.now() - start) / 1000;
		// The policy has not changed, so there is nothing new to evaluate.
		const verdict = await host.endUpdate({ metrics, batchStart, batchEnds: true, evaluate: async () => ({}) });
		if (last) await host.data.remove(folder);
		if (verdict !== 'next') return verdict;
	}
}

/** Converts rollouts to rows for rollout files. Completions are not compared with each other, so advantages are 0. */
function loggedRows({ rollouts }: GenerationBatch): TrainingRow[] {
	return rollouts.map((rollout) => ({
		rollout,
		advantage: 0,
		masked: false,
		length: rollout.sample.tokens.length - rollout.sample.promptLength,
		oldLogprobs: null,
		refLogprobs: null,
	}));
}

/**
 * Returns whether each completion is correct, according to the recipe's accuracy reward or, if it has none, the
 * built-in one.
 */
async function rightness(host: StageHost, rollouts: readonly Rollout[]): Promise<(boolean | null)[]> {
	const [first] = rollouts;
	if (first === undefined || judgingReward(first.rewards) !== null) {
		return rollouts.map(({ rewards }) => correctness(rewards));
	}
	const rows = rollouts.map(({ posed, completion, sample }) => ({
		prompt: posed.prompt,
		completion,
		answer: posed.problem.answer,
		row: posed.problem.row,
		truncated: sample.truncated,
	}));
	const outcomes = await judgeOutcomes(host.parts, rows, host.progress.step, 'Completion accuracy');
	return outcomes.map((outcome) => (outcome === null ? null : outcome > 0.5));
}

async function judged(
	host: StageHost,
	{ keep, solution_pairs }: ResolvedRejectionStage,
	batch: GenerationBatch,
): Promise<BatchFile> {
	const { template } = host.parts;
	const { think, answer } = template;
	const right = keep.correct ? await rightness(host, batch.rollouts) : [];
	const dropped = noDrops();
	const kept: CompletionLine[] = [];
	for (const [i, { posed, sample, completion, reward }] of batch.rollouts.entries()) {
		const { problem } = posed;
		const candidate = {
			completion,
			truncated: sample.truncated,
			correct: right[i] ?? null,
			reward,
			length: sample.tokens.length - sample.promptLength,
			answer: problem.answer,
			row: problem.row,
		};
		const reason = dropReason(candidate, keep, { think, answer });
		if (reason !== null) {
			dropped[reason]++;
			continue;
		}
		const { category } = problem.row;
		kept.push({
			prompt: problem.prompt,
			completion,
			answer: problem.answer,
			reward,
			...(typeof category === 'string' ? { category } : {}),
			...(solution_pairs === true ? pairOf(template, posed) : {}),
		});
	}
	return { kept, dropped, sampled: batch.rollouts.length };
}

/** Returns the text that is preferred to a completion: the worked solution, if the problem has one. */
function pairOf(template: Template, { prompt, problem }: PosedProblem): Pick<CompletionLine, 'pair'> {
	const { solution, answer } = problem;
	if (solution === null || answer === null) return {};
	return { pair: { prompt, chosen: renderCompletion(template, { solution, answer }) } };
}

/** Returns preference pairs, except those with identical sides, which carry no signal. Throws if there are none. */
function pairLines(kept: readonly CompletionLine[]): string[] {
	const lines = kept.flatMap(({ pair, completion }) =>
		pair === undefined || pair.chosen === completion ? [] : `${JSON.stringify({ ...pair, rejected: completion })}\n`,
	);
	if (lines.length > 0) return lines;
	throw new Failure(
		'missing',
		`None of the ${kept.length} kept completions differs from the worked solution of its problem, so there are no preference pairs.`,
		'Sample more completions, at a higher "temperature", or end the loop before this stage.',
	);
}

/** Merges the batches and writes the data. Returns the number of rows. Throws `missing` if no rows remain. */
async function finish(
	host: StageHost,
	stage: ResolvedRejectionStage,
	folder: string,
	extra: readonly (readonly CompletionRow[])[],
): Promise<number> {
	const files = await batchFiles(host, stage, folder);
	const { kept, dropped: together } = keepTogether(
		files.flatMap((file) => file.kept),
		stage.keep,
	);
	const dropped = noDrops();
	for (const file of files) for (const reason of dropReasons) dropped[reason] += file.dropped[reason] ?? 0;
	dropped.duplicate += together.duplicate;
	dropped.surplus += together.surplus;
	const sampled = files.reduce((sum, file) => sum + file.sampled, 0);
	if (kept.length === 0) {
		host.event({ type: 'rejection-sampling', sampled, kept: 0, dropped });
		throw nothingLeft(sampled, dropped, stage.keep);
	}
	const mixed = mixedIn(host, stage, kept.length, extra);
	const lines = [...kept, ...mixed].map(({ pair: _, ...line }) => `${JSON.stringify(line)}\n`);
	const hash = createHash('sha256');
	for (const line of lines) hash.update(line);
	await host.data.write(completionsName, lines);
	if (stage.solution_pairs === true) await host.data.write(pairsName, pairLines(kept));
	const sha256 = hash.digest('hex');
	const path = `data/${completionsName}`;
	host.event({ type: 'rejection-sampling', path, sha256, rows: lines.length, sampled, kept: kept.length, dropped });
	return lines.length;
}

async function batchFiles(host: StageHost, stage: ResolvedRejectionStage, folder: string): Promise<BatchFile[]> {
	const files: BatchFile[] = [];
	for (let step = 0; step < stage.steps; step++) {
		const name = `${folder}/step_${String(step).padStart(6, '0')}.json`;
		const content = await host.data.read(name);
		let value: unknown = null;
		try {
			value = parseBoundedJson(content ?? 'null');
		} catch {
			// Reported below.
		}
		const decoded = decode(batchSchema, value);
		if (!decoded.ok) {
			throw new Failure(
				content === null ? 'missing' : 'corrupt',
				`data/${name} in the run folder ${content === null ? 'is missing' : 'is damaged'}. It contains the completions kept from a batch.`,
				'Start a new run from the same recipe.',
			);
		}
		files.push(decoded.value);
	}
	return files;
}

function nothingLeft(sampled: number, dropped: DropCounts, keep: KeepSettings): Failure {
	const counts = dropReasons.filter((reason) => dropped[reason] > 0).map((reason) => `${reason} ${dropped[reason]}`);
	const ways = ['more samples ("num_generations", "problems")', 'a higher "temperature"'];
	if (keep.minReward !== null) ways.push('a lower "minReward"');
	if (keep.language !== null) ways.push('a lower "minShare"');
	return new Failure(
		'missing',
		`Rejection sampling kept none of ${sampled} completions (${counts.join(', ')}), so there is no training data.`,
		`Try ${ways.join(', ')}, or start from a better checkpoint.`,
	);
}

/** Returns rows from other files, in the proportions set in the recipe. */
function mixedIn(
	host: StageHost,
	stage: ResolvedRejectionStage,
	own: number,
	extra: readonly (readonly CompletionRow[])[],
): CompletionLine[] {
	return extra.flatMap((rows, i) => {
		const order = Random.of(host.parts.recipe.seed, 'extra', host.progress.stageIndex, i).shuffle([...rows]);
		return order
			.slice(0, extraRows(own, rows.length, stage.extra[i]?.share ?? null))
			.map(({ prompt, completion, answer, row }) => ({
				prompt,
				completion,
				answer,
				reward: null,
				...(typeof row.category === 'string' ? { category: row.category } : {}),
			}));
	});
}
