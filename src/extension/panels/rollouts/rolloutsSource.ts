import { type AbortSignalLike, checkAborted } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import { findText } from '../../../core/trace/findText.ts';
import { messageText, turnsOf } from '../../../core/trace/messageText.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type {
	FoundColumns,
	GroupContent,
	RolloutDetail,
	StepContent,
	TokenColumns,
} from '../../../protocol/rolloutsMessages.ts';
import { ownFormat } from '../../../runs/annotationFolder.ts';
import { openRun } from '../../../runs/openRun.ts';
import { OwnRun } from '../../../runs/ownRun.ts';
import type { RolloutSplit, RunContent, StepRollouts } from '../../../runs/runContent.ts';
import { rolloutDetail } from './rolloutDetail.ts';
import { type StepIndex, StepIndexBuilder } from './rolloutsIndex.ts';
import { finite, valueText } from './rolloutText.ts';

/** Steps whose index is kept. */
const keptSteps = 6;
/** Characters of completions that are sent with a group; what is beyond is sent when it is asked for. */
const groupBudget = 2_000_000;
/** A prompt of more messages is shown as one text. */
const maxPromptTurns = 1000;

/**
 * Reads the rollouts of one run, whoever wrote it, for the panel. A step is read once, for its index: numbers, and where
 * each rollout lies. Texts are read when they are asked for, so that the memory needed does not grow with the size of the files.
 */
export class RolloutsSource {
	readonly #run: string;
	#content: Promise<RunContent> | null = null;
	/** By split and step, the least recently used first. */
	readonly #kept = new Map<string, { readonly identity: string; readonly index: StepIndex }>();

	constructor(run: string) {
		this.#run = run;
	}

	/** The run itself. One that is not recognized is read as one of our own: its record may be missing or torn. */
	content(): Promise<RunContent> {
		this.#content ??= openRun(this.#run, { live: true }).catch(() => new OwnRun(this.#run));
		return this.#content;
	}

	/** The groups of a step without their texts. */
	async step(step: number, signal?: AbortSignalLike, split: RolloutSplit = 'train'): Promise<StepContent> {
		return this.#with(step, split, signal, async (_, index) => index.content);
	}

	/** A group with its texts, in the order of its rollouts' lines; completions beyond the budget are left out. */
	async group(
		step: number,
		group: number,
		signal?: AbortSignalLike,
		split: RolloutSplit = 'train',
	): Promise<GroupContent> {
		return this.#with(step, split, signal, async (rolloutsOfStep, index) => {
			const places = index.places.get(group);
			if (!places) throw missing(`Step ${step} has no group ${group}.`);
			const rollouts: RolloutDetail[] = [];
			let first: RolloutLine | undefined;
			let budget = groupBudget;
			for (const place of places.values()) {
				const line = await rolloutsOfStep.rollout(place);
				first ??= line;
				const completion = messageText(line.completion);
				// The first is always sent: a group that shows nothing helps nobody.
				const sent = rollouts.length === 0 || completion.length <= budget;
				if (sent) budget -= completion.length;
				rollouts.push(rolloutDetail(line, completion, sent));
				checkAborted(signal);
			}
			if (!first) throw missing(`Step ${step} has no group ${group}.`);
			const { prompt } = first;
			const several = typeof prompt !== 'string' && prompt.length > 1 && prompt.length <= maxPromptTurns;
			const shared = {
				prompt: messageText(prompt),
				promptTurns: several ? turnsOf(prompt).map((turn) => ({ ...turn, calls: [...turn.calls] })) : null,
				answer: valueText(first.answer),
				row: valueText(first.row),
			};
			return { step, group, ...shared, rollouts };
		});
	}

	/** One rollout with its texts. Fails with `missing`. */
	async rollout(step: number, group: number, index: number, split: RolloutSplit = 'train'): Promise<RolloutLine> {
		return this.#with(step, split, undefined, (rolloutsOfStep, stepIndex) => {
			const place = stepIndex.places.get(group)?.get(index);
			if (!place) throw missing(`Step ${step} has no rollout ${index} in group ${group}.`);
			return rolloutsOfStep.rollout(place);
		});
	}

	async tokens(step: number, group: number, index: number, split: RolloutSplit = 'train'): Promise<TokenColumns> {
		const { tokens } = await this.rollout(step, group, index, split);
		if (!tokens) throw missing('This rollout was logged without its tokens.');
		const column = (values: readonly (number | null)[] | undefined) =>
			values === undefined ? null : tokens.text.map((_, i) => finite(values[i]));
		return {
			text: tokens.text,
			logprob: column(tokens.logprob) ?? [],
			oldLogprob: column(tokens.oldLogprob),
			refLogprob: column(tokens.refLogprob),
			entropy: column(tokens.entropy),
			advantage: column(tokens.advantage),
		};
	}

	/** How often a text occurs in each completion of a step. */
	async search(
		step: number,
		text: string,
		signal?: AbortSignalLike,
		split: RolloutSplit = 'train',
	): Promise<FoundColumns> {
		return this.#with(step, split, signal, async (rolloutsOfStep) => {
			const found = { group: [] as number[], index: [] as number[], count: [] as number[] };
			for await (const { rollout: line } of rolloutsOfStep.rollouts(signal)) {
				if (line === null) continue;
				const count = findText(messageText(line.completion), text).length;
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
		this.#content = null;
	}

	async #with<T>(
		step: number,
		split: RolloutSplit,
		signal: AbortSignalLike | undefined,
		use: (rolloutsOfStep: StepRollouts, index: StepIndex) => Promise<T>,
	): Promise<T> {
		const content = await this.content();
		const rolloutsOfStep = await content.open(step, split);
		try {
			return await use(rolloutsOfStep, await this.#index(content, step, split, rolloutsOfStep, signal));
		} finally {
			await rolloutsOfStep.close();
		}
	}

	async #index(
		content: RunContent,
		step: number,
		split: RolloutSplit,
		rolloutsOfStep: StepRollouts,
		signal: AbortSignalLike | undefined,
	): Promise<StepIndex> {
		const key = `${split} ${step}`;
		const { identity } = rolloutsOfStep;
		const kept = this.#kept.get(key);
		this.#kept.delete(key);
		const entry =
			kept?.identity === identity
				? kept
				: { identity, index: await build(step, rolloutsOfStep, content.format !== ownFormat, signal) };
		this.#kept.set(key, entry);
		for (const oldest of this.#kept.keys()) {
			if (this.#kept.size <= keptSteps) break;
			this.#kept.delete(oldest);
		}
		return entry.index;
	}
}

async function build(
	step: number,
	rolloutsOfStep: StepRollouts,
	foreign: boolean,
	signal: AbortSignalLike | undefined,
): Promise<StepIndex> {
	const builder = new StepIndexBuilder(step);
	for await (const { rollout, place, fault } of rolloutsOfStep.rollouts(signal)) {
		if (fault === null) builder.add(rollout, place);
		else builder.reject(fault, foreign);
	}
	return builder.finish();
}

function missing(message: string): Failure {
	return new Failure('missing', message, 'Choose the step again.');
}
