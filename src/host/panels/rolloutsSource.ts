import { type AbortSignalLike, checkAborted } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { findText } from '../../core/trace/findText.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import type {
	FoundColumns,
	GroupContent,
	RolloutDetail,
	StepContent,
	TokenColumns,
} from '../../protocol/rolloutsMessages.ts';
import { RolloutsFile } from './rolloutsFile.ts';
import { type LinePlace, parseRollout, type StepIndex, StepIndexBuilder } from './rolloutsIndex.ts';
import { correctness, finite, textOf, tokenCount, valueText } from './rolloutText.ts';

/** Steps whose index is kept. */
const keptSteps = 6;
/** Characters of completions that are sent with a group; what is beyond is sent when it is asked for. */
const groupBudget = 2_000_000;

/**
 * Reads the rollouts of one run for the panel. A step's file is read once, for its index: numbers, and where each line
 * lies. Texts are read when they are asked for, so that the memory needed does not grow with the size of the files.
 */
export class RolloutsSource {
	readonly #run: string;
	/** By step, the least recently used first. */
	readonly #kept = new Map<number, { readonly identity: string; readonly index: StepIndex }>();

	constructor(run: string) {
		this.#run = run;
	}

	/** The groups of a step without their texts. */
	async step(step: number, signal?: AbortSignalLike): Promise<StepContent> {
		return this.#with(step, signal, async (_, index) => index.content);
	}

	/** A group with its texts, in the order of its rollouts' lines; completions beyond the budget are left out. */
	async group(step: number, group: number, signal?: AbortSignalLike): Promise<GroupContent> {
		return this.#with(step, signal, async (file, index) => {
			const places = index.places.get(group);
			if (!places) throw missing(`Step ${step} has no group ${group}.`);
			const rollouts: RolloutDetail[] = [];
			let first: RolloutLine | undefined;
			let budget = groupBudget;
			for (const place of places.values()) {
				const line = await read(file, place);
				first ??= line;
				const completion = textOf(line.completion);
				// The first is always sent: a group that shows nothing helps nobody.
				const sent = rollouts.length === 0 || completion.length <= budget;
				if (sent) budget -= completion.length;
				rollouts.push(detail(line, completion, sent));
				checkAborted(signal);
			}
			if (!first) throw missing(`Step ${step} has no group ${group}.`);
			const shared = { prompt: textOf(first.prompt), answer: valueText(first.answer), row: valueText(first.row) };
			return { step, group, ...shared, rollouts };
		});
	}

	/** One rollout's line as it is in the file. Fails with `missing`. */
	async rollout(step: number, group: number, index: number): Promise<RolloutLine> {
		return this.#with(step, undefined, (file, stepIndex) => {
			const place = stepIndex.places.get(group)?.get(index);
			if (!place) throw missing(`Step ${step} has no rollout ${index} in group ${group}.`);
			return read(file, place);
		});
	}

	async tokens(step: number, group: number, index: number): Promise<TokenColumns> {
		const { tokens } = await this.rollout(step, group, index);
		if (!tokens) throw missing('This rollout was logged without its tokens.');
		const column = (values: readonly (number | null)[] | undefined) =>
			values === undefined ? null : tokens.text.map((_, i) => finite(values[i]));
		return {
			text: tokens.text,
			logprob: column(tokens.logprob) ?? [],
			oldLogprob: column(tokens.oldLogprob),
			refLogprob: column(tokens.refLogprob),
			entropy: column(tokens.entropy),
		};
	}

	/** How often a text occurs in each completion of a step. */
	async search(step: number, text: string, signal?: AbortSignalLike): Promise<FoundColumns> {
		return this.#with(step, signal, async (file, index) => {
			const found = { group: [] as number[], index: [] as number[], count: [] as number[] };
			for await (const { bytes } of file.lines(signal)) {
				const line = bytes === null ? '' : parseRollout(bytes);
				if (typeof line === 'string' || !index.places.get(line.group)?.has(line.index)) continue;
				const count = findText(textOf(line.completion), text).length;
				if (count === 0) continue;
				found.group.push(line.group);
				found.index.push(line.index);
				found.count.push(count);
			}
			return found;
		});
	}

	/** Forgets everything, as when the run was resumed and its files are others. */
	clear(): void {
		this.#kept.clear();
	}

	async #with<T>(
		step: number,
		signal: AbortSignalLike | undefined,
		use: (file: RolloutsFile, index: StepIndex) => Promise<T>,
	): Promise<T> {
		const file = await RolloutsFile.open(this.#run, step);
		try {
			return await use(file, await this.#index(step, file, signal));
		} finally {
			await file.close();
		}
	}

	async #index(step: number, file: RolloutsFile, signal: AbortSignalLike | undefined): Promise<StepIndex> {
		const kept = this.#kept.get(step);
		this.#kept.delete(step);
		const entry =
			kept?.identity === file.identity ? kept : { identity: file.identity, index: await build(step, file, signal) };
		this.#kept.set(step, entry);
		for (const oldest of this.#kept.keys()) {
			if (this.#kept.size <= keptSteps) break;
			this.#kept.delete(oldest);
		}
		return entry.index;
	}
}

async function build(step: number, file: RolloutsFile, signal: AbortSignalLike | undefined): Promise<StepIndex> {
	const builder = new StepIndexBuilder(step);
	for await (const { bytes, number, start } of file.lines(signal)) {
		if (bytes === null) builder.reject(number, 'longer than 64 MiB');
		else builder.add(bytes, number, start);
	}
	return builder.finish();
}

async function read(file: RolloutsFile, place: LinePlace): Promise<RolloutLine> {
	const line = parseRollout(await file.line(place));
	if (typeof line !== 'string') return line;
	throw new Failure('corrupt', 'The file of this step changed while it was read.', 'Choose the step again.');
}

function detail(line: RolloutLine, completion: string, sent: boolean): RolloutDetail {
	const tokens = tokenCount(line);
	return {
		index: line.index,
		completion: sent ? completion : null,
		size: completion.length,
		rewards: Object.entries(line.rewards).map(([name, value]) => [name.slice(0, 200), finite(value)]),
		reward: finite(line.reward),
		advantage: finite(line.advantage),
		correct: correctness(line.rewards),
		truncated: line.truncated,
		tokens,
		hasTokens: line.tokens !== undefined,
		extra: line.extra && Object.keys(line.extra).length > 0 ? valueText(line.extra, 4000) : null,
	};
}

function missing(message: string): Failure {
	return new Failure('missing', message, 'Choose the step again.');
}
