import { type AbortSignalLike, checkAborted } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import { observedRanges } from '../../../core/trace/conversation.ts';
import { findText } from '../../../core/trace/findText.ts';
import { messageText, turnsOf } from '../../../core/trace/messageText.ts';
import { weightsOf } from '../../../core/trace/weightVersions.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import { rolloutPicture } from '../../../protocol/rolloutPicture.ts';
import type {
	FoundColumns,
	GroupContent,
	PictureContent,
	RolloutDetail,
	StepContent,
	TokenColumns,
} from '../../../protocol/rolloutsMessages.ts';
import { ownFormat } from '../../../runs/annotationFolder.ts';
import { openRun } from '../../../runs/openRun.ts';
import { OwnRun } from '../../../runs/ownRun.ts';
import { readPicture } from '../../../runs/pictureFile.ts';
import type { RolloutSplit, RunContent, StepRollouts } from '../../../runs/runContent.ts';
import { boxesOf } from './rolloutBoxes.ts';
import { rolloutDetail } from './rolloutDetail.ts';
import type { RecipeFacts } from './rolloutsHeader.ts';
import { type StepIndex, StepIndexBuilder } from './rolloutsIndex.ts';
import { finite, valueText } from './rolloutText.ts';

/** Maximum number of step indexes to cache. */
const keptSteps = 6;
/** Maximum number of completion characters sent with a group; the rest is sent on request. */
const groupBudget = 2_000_000;
const noFacts = { think: null, answer: null, boxes: null };
/** Prompts with more messages are shown as a single block of text. */
const maxPromptTurns = 1000;

/**
 * Reads a run's rollouts for the panel, from any trainer. Each step is read once to build its index (numbers and
 * rollout locations). Text is read on request, so memory use does not grow with file size.
 */
export class RolloutsSource {
	readonly #run: string;
	#content: Promise<RunContent> | null = null;
	/** Cached indexes by split and step, least recently used first. */
	readonly #kept = new Map<string, { readonly identity: string; readonly index: StepIndex }>();

	readonly #facts: () => Pick<RecipeFacts, 'think' | 'answer' | 'boxes'>;

	constructor(run: string, facts: () => Pick<RecipeFacts, 'think' | 'answer' | 'boxes'> = () => noFacts) {
		this.#run = run;
		this.#facts = facts;
	}

	/** The run. An unrecognized folder is read as one of our own runs whose record may be missing or truncated. */
	content(): Promise<RunContent> {
		this.#content ??= openRun(this.#run, { live: true }).catch(() => new OwnRun(this.#run));
		return this.#content;
	}

	/** Returns a step's groups, without text. */
	async step(step: number, signal?: AbortSignalLike, split: RolloutSplit = 'train'): Promise<StepContent> {
		return this.#with(step, split, signal, async (_, index) => index.content);
	}

	/** Returns a group with its text, in file order. Completions that exceed the budget are omitted. */
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
				// Always send the first completion; an empty group would be useless.
				const sent = rollouts.length === 0 || completion.length <= budget;
				if (sent) budget -= completion.length;
				rollouts.push(rolloutDetail(line, completion, sent, boxesOf(line, this.#facts())));
				checkAborted(signal);
			}
			if (!first) throw missing(`Step ${step} has no group ${group}.`);
			const { prompt } = first;
			const several = typeof prompt !== 'string' && prompt.length > 1 && prompt.length <= maxPromptTurns;
			const picture = rolloutPicture(first.extra);
			const shared = {
				...(picture === null ? {} : { picture }),
				prompt: messageText(prompt),
				promptTurns: several ? turnsOf(prompt).map((turn) => ({ ...turn, calls: [...turn.calls] })) : null,
				answer: valueText(first.answer),
				row: valueText(first.row),
			};
			return { step, group, ...shared, rollouts };
		});
	}

	/** Returns a rollout with its text. Fails with `missing`. */
	async rollout(step: number, group: number, index: number, split: RolloutSplit = 'train'): Promise<RolloutLine> {
		return this.#with(step, split, undefined, (rolloutsOfStep, stepIndex) => {
			const place = stepIndex.places.get(group)?.get(index);
			if (!place) throw missing(`Step ${step} has no rollout ${index} in group ${group}.`);
			return rolloutsOfStep.rollout(place);
		});
	}

	async tokens(step: number, group: number, index: number, split: RolloutSplit = 'train'): Promise<TokenColumns> {
		const line = await this.rollout(step, group, index, split);
		const { tokens, extra } = line;
		if (!tokens) throw missing('The tokens of this rollout were not logged.');
		const column = (values: readonly (number | null)[] | undefined) =>
			values === undefined ? null : tokens.text.map((_, i) => finite(values[i]));
		return {
			text: tokens.text,
			logprob: column(tokens.logprob) ?? [],
			oldLogprob: column(tokens.oldLogprob),
			refLogprob: column(tokens.refLogprob),
			entropy: column(tokens.entropy),
			advantage: column(tokens.advantage),
			version: column(tokens.version),
			weights: weightsOf(line),
			observed: observedRanges(extra, tokens.text.length),
		};
	}

	/** Returns a picture that rollouts refer to. Fails with `missing`, `invalid` and `corrupt`. */
	async picture(file: string): Promise<PictureContent> {
		const { type, content } = await readPicture(this.#run, file);
		return { type, content: content.toString('base64') };
	}

	/** Counts the occurrences of a string in each completion of a step. */
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

	/** Clears all caches, for example after a resumed run has replaced its files. */
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
	const rollouts = rolloutsOfStep.overview?.(signal) ?? rolloutsOfStep.rollouts(signal);
	for await (const { rollout, place, fault } of rollouts) {
		if (fault === null) builder.add(rollout, place);
		else builder.reject(fault, foreign);
	}
	return builder.finish();
}

function missing(message: string): Failure {
	return new Failure('missing', message, 'Select the step again.');
}
