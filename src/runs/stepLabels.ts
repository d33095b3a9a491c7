import { lstat } from 'node:fs/promises';
import { Sequencer } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { decode } from '../protocol/decode.ts';
import { type RolloutLabels, rolloutLabelsSchema } from '../protocol/stepLabel.ts';
import { annotationFolder } from './annotationFolder.ts';
import { appendAnnotation } from './appendAnnotation.ts';
import { parseLine } from './jsonLines.ts';
import { LineTail } from './lineTail.ts';
import type { RolloutSplit } from './runContent.ts';

export const labelsFile = 'labels.jsonl';

/** Which rollout labels belong to. */
export interface LabelledRollout {
	readonly split: RolloutSplit;
	readonly step: number;
	readonly group: number;
	readonly index: number;
}

const keyOf = ({ split, step, group, index }: LabelledRollout) => `${split} ${step} ${group} ${index}`;

/** Earlier states of a rollout's labels that `undo` knows, of this window. */
const mostUndo = 200;

/**
 * What persons said of the steps of a run's completions: annotations/labels.jsonl, one line a change, the last line of a
 * rollout counts. A change is one write at the end of the file, so that several windows and processes may label at once and
 * nobody's labels are lost; a line that a crash has torn, or that is no label, is passed over and counted.
 */
export class StepLabels {
	readonly #folder: string;
	readonly #turns = new Sequencer();
	readonly #labels = new Map<string, RolloutLabels>();
	readonly #earlier = new Map<string, (RolloutLabels | null)[]>();
	#tail: LineTail;
	#unreadable = 0;

	/** @param folder see {@link annotationFolder}; it need not be there */
	constructor(folder: string) {
		this.#folder = folder;
		this.#tail = new LineTail(folder, labelsFile);
	}

	static async of(run: { readonly folder: string; readonly format: string }): Promise<StepLabels> {
		return new StepLabels(await annotationFolder(run));
	}

	/** Lines that are no labels, of what was read. */
	get unreadable(): number {
		return this.#unreadable;
	}

	/** The labels of all rollouts as the file has them now, also what other windows added; in order of their first line. */
	all(): Promise<RolloutLabels[]> {
		return this.#turns.queue(async () => {
			await this.#read();
			return [...this.#labels.values()];
		});
	}

	/** null: nobody has labelled it. */
	get(rollout: LabelledRollout): Promise<RolloutLabels | null> {
		return this.#turns.queue(async () => {
			await this.#read();
			return this.#labels.get(keyOf(rollout)) ?? null;
		});
	}

	/** Adds a line that replaces the rollout's labels. Fails with `denied`, `full` or `invalid` (the file is a link). */
	save(labels: RolloutLabels): Promise<void> {
		return this.#turns.queue(async () => {
			await this.#read();
			const key = keyOf(labels);
			const before = this.#labels.get(key) ?? null;
			await this.#append(labels);
			const states = this.#earlier.get(key) ?? [];
			states.push(before);
			if (states.length > mostUndo) states.shift();
			this.#earlier.set(key, states);
		});
	}

	/**
	 * Takes back the last change of this window to a rollout, by a line with the state before it. null: there is none. Where
	 * nothing was there before, every step becomes unrated.
	 * @param time seconds since the epoch
	 */
	undo(rollout: LabelledRollout, time: number): Promise<RolloutLabels | null> {
		return this.#turns.queue(async () => {
			await this.#read();
			const states = this.#earlier.get(keyOf(rollout));
			const now = this.#labels.get(keyOf(rollout));
			if (!states || states.length === 0 || now === undefined) return null;
			const before = states.at(-1) ?? { ...now, steps: now.steps.map(({ text }) => ({ text, rating: null })) };
			const labels = { ...before, time };
			await this.#append(labels);
			states.pop();
			return labels;
		});
	}

	async #read(): Promise<void> {
		const info = await lstat(this.#folder).catch(() => null);
		if (info !== null && !info.isDirectory()) {
			throw new Failure('invalid', `${this.#folder} is not a folder, so no labels are read there.`, 'Remove it.');
		}
		for (;;) {
			const lines = await this.#tail.read();
			if (lines === null) return;
			if (lines === 'replaced') {
				this.#tail = new LineTail(this.#folder, labelsFile);
				this.#labels.clear();
				this.#unreadable = 0;
				continue;
			}
			for (const line of lines) {
				if (line.length === 0) continue;
				const decoded = decode(rolloutLabelsSchema, parseLine(line));
				if (decoded.ok) this.#labels.set(keyOf(decoded.value), decoded.value);
				else this.#unreadable++;
			}
		}
	}

	async #append(labels: RolloutLabels): Promise<void> {
		await appendAnnotation(this.#folder, labelsFile, [labels]);
		await this.#read();
	}
}
