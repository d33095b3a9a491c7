import { type AbortSignalLike, checkAborted } from '../../../base/async.ts';
import { behaviors } from '../../../core/trace/behaviorNames.ts';
import { messageText } from '../../../core/trace/messageText.ts';
import { parseTrace } from '../../../core/trace/parseTrace.ts';
import { promptHash } from '../../../core/trace/promptHash.ts';
import type { TraceTags } from '../../../core/trace/trace.ts';
import { thinkingSpan } from '../../../core/trace/traceCounter.ts';
import type { BehaviorRow, PromptRow } from '../../../protocol/explorerMessages.ts';
import type { Cell, IndexMethod, IndexParams, IndexResult, ResultTable } from '../../../protocol/rolloutIndex.ts';
import { noStep, type RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { RolloutPlace, RolloutSplit, RunContent } from '../../../runs/runContent.ts';
import { firstExample } from './behaviorScan.ts';
import { addToRow, emptyRow, maxListed } from './promptScan.ts';
import type { ScanCount } from './runScan.ts';

/** The subset of the index worker's interface used here. */
export interface IndexAnswers {
	/** Whether the worker is running. Scans neither start it nor index anything. */
	readonly started: boolean;
	request<M extends IndexMethod>(method: M, params: IndexParams<M>, signal?: AbortSignal): Promise<IndexResult<M>>;
}

/** Maximum number of rollouts looked up per prompt. */
const maxRollouts = 20_000;
/** Maximum number of steps to read examples from. */
const maxExamples = 40;
const columnNames = behaviors.map((behavior) => behavior.replaceAll('-', '_'));

/** Returns whether the index is up to date for a run. */
export async function isIndexed(
	rolloutIndex: IndexAnswers | null,
	folder: string,
	signal: AbortSignal,
): Promise<boolean> {
	if (!rolloutIndex?.started) return false;
	const { runs } = await rolloutIndex.request('status', {}, signal);
	return runs.some(({ run, state }) => run === folder && state === 'ready');
}

/** Iterates over table rows as column getters; missing columns are null. */
function* records(table: ResultTable): Generator<(name: string) => Cell> {
	const at = new Map(table.columns.map(({ name }, i) => [name, i]));
	for (const row of table.rows) yield (name) => row[at.get(name) ?? -1] ?? null;
}

interface Found {
	readonly step: number;
	readonly place: RolloutPlace;
}

function foundIn(table: ResultTable): Found[] {
	return [...records(table)].map((cell) => ({
		step: Number(cell('step') ?? noStep),
		place: {
			file: String(cell('file')),
			offset: Number(cell('byte_offset')),
			length: Number(cell('byte_length')),
			item: Number(cell('item')),
			group: Number(cell('group_id')),
			index: Number(cell('index')),
		},
	}));
}

/**
 * Reads rollouts by location, one step at a time. Rollouts that changed since they were indexed are skipped and
 * counted.
 */
async function readPlaces(
	content: RunContent,
	split: RolloutSplit,
	found: readonly Found[],
	read: (step: number, rollout: RolloutLine) => void,
	endStep: (step: number) => void,
	count: ScanCount,
	signal: AbortSignalLike,
): Promise<void> {
	const bySteps = Map.groupBy(found, ({ step }) => step);
	count.total = bySteps.size;
	for (const [step, places] of bySteps) {
		try {
			const opened = await content.open(step, split);
			try {
				for (const { place } of places) {
					checkAborted(signal);
					const rollout = await opened.rollout(place).catch(() => null);
					if (rollout === null) count.skipped++;
					else {
						count.rollouts++;
						read(step, rollout);
					}
				}
			} finally {
				await opened.close();
			}
		} catch {
			checkAborted(signal);
			count.skipped += places.length;
		}
		endStep(step);
		count.done++;
	}
}

/** Same as `scanPrompt`, but uses the rollout index, so that only rollouts for the prompt are read. */
export async function indexedPrompt(
	rolloutIndex: IndexAnswers,
	folder: string,
	content: RunContent,
	of: { readonly split: RolloutSplit; readonly prompt: RolloutLine['prompt'] },
	tags: TraceTags,
	count: ScanCount,
	onRow: (row: PromptRow) => void,
	signal: AbortSignal,
): Promise<void> {
	const table = await rolloutIndex.request(
		'rollouts',
		{
			filter: { runs: [folder], split: of.split, promptHash: promptHash(of.prompt) },
			sort: { column: 'step', descending: false },
			limit: maxRollouts,
		},
		signal,
	);
	count.bounded = table.truncated;
	let groups = new Map<number, ReturnType<typeof emptyRow>>();
	await readPlaces(
		content,
		of.split,
		foundIn(table),
		(step, rollout) => {
			const row = groups.get(rollout.group) ?? emptyRow(step, rollout.group);
			groups.set(rollout.group, row);
			if (row.index.length < maxListed) addToRow(row, rollout, tags);
		},
		() => {
			for (const row of groups.values()) onRow(row);
			groups = new Map();
		},
		count,
		signal,
	);
}

/**
 * Same as `scanBehaviors`, but uses the rollout index: counts cover all rollouts, and examples come from some steps.
 */
export async function indexedBehaviors(
	rolloutIndex: IndexAnswers,
	folder: string,
	content: RunContent,
	split: RolloutSplit,
	tags: TraceTags,
	count: ScanCount,
	onRow: (row: BehaviorRow) => void,
	signal: AbortSignal,
): Promise<void> {
	const where = 'split = $split and run in (select run from runs where folder = $folder or folder = $real)';
	const place = `coalesce(step, ${noStep})`;
	const parameters = { split, folder, real: content.folder };
	const sums = columnNames.map(
		(name) => `count(*) filter (${name} > 0) as showing_${name}, coalesce(sum(${name}), 0)::BIGINT as total_${name}`,
	);
	const ask = (sql: string, limit: number) => rolloutIndex.request('sql', { sql, limit, parameters }, signal);
	const table = await ask(
		`select ${place} as place, count(*) as n, ${sums.join(', ')} from rollouts where ${where} group by place order by place`,
		1_000_000,
	);
	const rows = new Map<number, BehaviorRow>();
	for (const cell of records(table)) {
		const step = Number(cell('place'));
		const rollouts = Number(cell('n'));
		count.rollouts += rollouts;
		rows.set(step, {
			...{ step, rollouts, examples: [] },
			showing: columnNames.map((name) => Number(cell(`showing_${name}`))),
			total: columnNames.map((name) => Number(cell(`total_${name}`))),
		});
	}
	// Read one rollout per step and behavior, from steps spread over the run and always including the first.
	for (const [behavior, name] of columnNames.entries()) {
		const having = [...rows.values()].filter((row) => (row.showing[behavior] ?? 0) > 0).map(({ step }) => step);
		if (having.length === 0) continue;
		const every = Math.max(1, Math.ceil(having.length / maxExamples));
		const steps = having.filter((_, i) => i % every === 0);
		const examples = await ask(
			`select step, group_id, "index", file, byte_offset, byte_length, item from rollouts
			where ${where} and ${name} > 0 and ${place} in (${steps.map((step) => Math.trunc(step)).join(', ')})
			qualify row_number() over (partition by step order by group_id, "index") = 1 order by step`,
			maxExamples + 1,
		);
		const own: ScanCount = { done: 0, total: 0, rollouts: 0, skipped: 0, bounded: false };
		await readPlaces(
			content,
			split,
			foundIn(examples),
			(step, rollout) => {
				const text = messageText(rollout.completion);
				const found = firstExample(text, thinkingSpan(parseTrace(text, tags), text.length), behavior);
				if (found) rows.get(step)?.examples.push({ behavior, group: rollout.group, index: rollout.index, ...found });
			},
			() => undefined,
			own,
			signal,
		);
	}
	count.total = rows.size;
	count.done = rows.size;
	for (const row of rows.values()) onRow(row);
}
