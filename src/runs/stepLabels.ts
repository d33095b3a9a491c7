import { Sequencer } from '../base/async.ts';
import { type RolloutLabels, rolloutLabelsSchema } from '../protocol/stepLabel.ts';
import { annotationFolder } from './annotationFolder.ts';
import { AnnotationLines } from './annotationLines.ts';
import type { RolloutSplit } from './runContent.ts';

export const labelsFile = 'labels.jsonl';

/** Which rollout labels belong to. */
export interface LabeledRollout {
	readonly split: RolloutSplit;
	readonly step: number;
	readonly group: number;
	readonly index: number;
}

const keyOf = ({ split, step, group, index }: LabeledRollout) => `${split} ${step} ${group} ${index}`;

/** Earlier states of a rollout's labels that `undo` knows, of this window. */
const maxUndo = 200;

/** How people rate the steps of a run's completions: annotations/labels.jsonl. */
export class StepLabels {
	readonly #lines: AnnotationLines<RolloutLabels>;
	readonly #turns = new Sequencer();
	readonly #earlier = new Map<string, (RolloutLabels | null)[]>();

	/** @param folder see {@link annotationFolder}; it need not be there */
	constructor(folder: string) {
		this.#lines = new AnnotationLines(folder, labelsFile, rolloutLabelsSchema, keyOf);
	}

	static async of(run: { readonly folder: string; readonly format: string }): Promise<StepLabels> {
		return new StepLabels(await annotationFolder(run));
	}

	/** Lines that are no labels, of what was read. */
	get unreadable(): number {
		return this.#lines.unreadable;
	}

	/** The labels of all rollouts as the file has them now, also what other windows added; in order of their first line. */
	all(): Promise<RolloutLabels[]> {
		return this.#turns.queue(async () => {
			return [...(await this.#lines.read()).values()];
		});
	}

	/** null: nobody has labeled it. */
	get(rollout: LabeledRollout): Promise<RolloutLabels | null> {
		return this.#turns.queue(async () => {
			return (await this.#lines.read()).get(keyOf(rollout)) ?? null;
		});
	}

	/** Adds a line that replaces the rollout's labels. Fails with `denied`, `full` or `invalid` (the file is a link). */
	save(labels: RolloutLabels): Promise<void> {
		return this.#turns.queue(async () => {
			const key = keyOf(labels);
			const before = (await this.#lines.read()).get(key) ?? null;
			await this.#lines.append(labels);
			const states = this.#earlier.get(key) ?? [];
			states.push(before);
			if (states.length > maxUndo) states.shift();
			this.#earlier.set(key, states);
		});
	}

	/**
	 * Takes back the last change of this window to a rollout, by a line with the state before it. null: there is none. Where
	 * nothing was there before, every step becomes unrated.
	 * @param time seconds since the epoch
	 */
	undo(rollout: LabeledRollout, time: number): Promise<RolloutLabels | null> {
		return this.#turns.queue(async () => {
			const now = (await this.#lines.read()).get(keyOf(rollout));
			const states = this.#earlier.get(keyOf(rollout));
			if (!states || states.length === 0 || now === undefined) return null;
			const before = states.at(-1) ?? { ...now, steps: now.steps.map(({ text }) => ({ text, rating: null })) };
			const labels = { ...before, time };
			await this.#lines.append(labels);
			states.pop();
			return labels;
		});
	}
}
