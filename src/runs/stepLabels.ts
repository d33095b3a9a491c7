import { Sequencer } from '../base/async.ts';
import { type RolloutLabels, rolloutLabelsSchema } from '../protocol/stepLabel.ts';
import { annotationFolder } from './annotationFolder.ts';
import { AnnotationLines } from './annotationLines.ts';
import type { RolloutSplit } from './runContent.ts';

export const labelsFile = 'labels.jsonl';

/** Identifies the rollout that labels belong to. */
export interface LabeledRollout {
	readonly split: RolloutSplit;
	readonly step: number;
	readonly group: number;
	readonly index: number;
}

const keyOf = ({ split, step, group, index }: LabeledRollout) => `${split} ${step} ${group} ${index}`;

/** Maximum number of earlier label states in this window that `undo` can restore. */
const maxUndo = 200;

/** Human step ratings of a run's completions: annotations/labels.jsonl. */
export class StepLabels {
	readonly #lines: AnnotationLines<RolloutLabels>;
	readonly #turns = new Sequencer();
	readonly #earlier = new Map<string, (RolloutLabels | null)[]>();

	/** @param folder see {@link annotationFolder}; does not have to exist */
	constructor(folder: string) {
		this.#lines = new AnnotationLines(folder, labelsFile, rolloutLabelsSchema, keyOf);
	}

	static async of(run: { readonly folder: string; readonly format: string }): Promise<StepLabels> {
		return new StepLabels(await annotationFolder(run));
	}

	/** Number of invalid lines read so far. */
	get unreadable(): number {
		return this.#lines.unreadable;
	}

	/** Returns the current labels of all rollouts, ordered by their first line, including additions from other windows. */
	all(): Promise<RolloutLabels[]> {
		return this.#turns.queue(async () => {
			return [...(await this.#lines.read()).values()];
		});
	}

	/** Returns null if the rollout has no labels. */
	get(rollout: LabeledRollout): Promise<RolloutLabels | null> {
		return this.#turns.queue(async () => {
			return (await this.#lines.read()).get(keyOf(rollout)) ?? null;
		});
	}

	/**
	 * Appends a line that replaces the rollout's labels. Fails with `denied`, `full` or `invalid` (the file is a link).
	 */
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
	 * Undoes this window's last change to a rollout by appending a line with the previous state. Returns null if there is
	 * nothing to undo. If there were no labels before, every step becomes unrated.
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
