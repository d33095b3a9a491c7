import { lstat } from 'node:fs/promises';
import { Sequencer } from '../../../../base/async.ts';
import { estimateAccuracy } from '../../../../core/evaluation/meanInterval.ts';
import type { EvaluationLine } from '../../../../protocol/evaluation.ts';
import type { RolloutLine } from '../../../../protocol/rolloutLine.ts';
import { ForeignRun } from '../../../../runs/importers/foreignRun.ts';
import { verl } from '../../../../runs/importers/formats/verl.ts';
import type { RolloutSplit } from '../../../../runs/runContent.ts';
import type { RunWriter } from '../../../../runs/runWriter.ts';
import type { Mirror, MirroredRun } from '../runMirror.ts';

/** Validation samples with a value above this threshold count as correct, as with all rewards that check answers. */
const rightAbove = 0.5;

export interface VerlMirrorOptions {
	/** Sampling temperature in verl's evaluations. */
	readonly temperature: number;
	/** Recipe stage that verl runs. */
	readonly stage: string;
}

/**
 * Converts the output of a verl job to an ordinary run, using the importer for verl files. A step is a verl step: one
 * generation batch with all its updates. verl writes its files in place, so each file is read only after it stops
 * growing.
 */
export class VerlMirror implements Mirror {
	readonly source: string;
	readonly attempt = 1;
	readonly #writer: RunWriter;
	readonly #options: VerlMirrorOptions;
	readonly #run: ForeignRun;
	readonly #queue = new Sequencer();
	readonly #sizes = new Map<string, number>();
	readonly #taken = new Set<string>();
	#last: number;

	/** @param last last step with existing metrics, or -1 */
	constructor(source: string, writer: RunWriter, last: number, options: VerlMirrorOptions) {
		this.source = source;
		this.#writer = writer;
		this.#last = last;
		this.#options = options;
		this.#run = new ForeignRun(source, verl, { live: true });
	}

	/** @param thorough whether the job has finished writing */
	sync(thorough = false): Promise<MirroredRun | null> {
		return this.#queue.queue(async () => {
			if (!(await lstat(this.source).catch(() => null))?.isDirectory()) return null;
			await this.#takeRollouts('train', thorough);
			await this.#takeRollouts('validation', thorough);
			await this.#run.metricSources.read();
			for (const lines of this.#run.metricSources.lines()) {
				for (const line of lines) {
					if (line.step <= this.#last) continue;
					this.#last = line.step;
					await this.#writer.appendMetrics({ ...line, stage: this.#options.stage });
				}
			}
			const step = Math.max(0, this.#last);
			if (this.#writer.record.step !== step) await this.#writer.updateRecord({ step, stage: this.#options.stage });
			return { status: 'running', device: 'verl', step };
		});
	}

	async close(): Promise<void> {
		await this.#queue.queue(async () => undefined);
	}

	async #takeRollouts(split: RolloutSplit, thorough: boolean): Promise<void> {
		for (const step of await this.#run.steps(split)) {
			const key = `${split} ${step}`;
			if (this.#taken.has(key)) continue;
			const size = (await this.#run.stepFiles(step, split)).reduce((sum, file) => sum + file.size, 0);
			const settled = this.#sizes.get(key) === size;
			this.#sizes.set(key, size);
			if (!settled && !thorough) continue;
			const rollouts: RolloutLine[] = [];
			const opened = await this.#run.open(step, split);
			try {
				for await (const { rollout } of opened.rollouts()) if (rollout !== null) rollouts.push(rollout);
			} finally {
				await opened.close();
			}
			if (split === 'train') {
				await this.#writer.writeRollouts(
					step,
					rollouts.map((rollout) => ({ ...rollout, step, stage: this.#options.stage })),
				);
			} else await this.#writeEvaluation(step, rollouts);
			this.#taken.add(key);
		}
	}

	async #writeEvaluation(step: number, rollouts: readonly RolloutLine[]): Promise<void> {
		const samples = rollouts.filter(({ reward }) => reward !== null);
		if (samples.length === 0) return;
		const lines = samples.map(
			({ group, index, prompt, completion, answer, reward, truncated }): EvaluationLine => ({
				problem: group,
				sample: index,
				prompt,
				completion,
				...(answer === undefined ? {} : { answer }),
				correct: (reward as number) > rightAbove,
				truncated,
			}),
		);
		const problems = Map.groupBy(lines, ({ problem }) => problem);
		const right = [...problems.values()].map((list) => list.map(({ correct }) => correct === true));
		await this.#writer.writeEvaluation(step, 'validation', lines, {
			name: 'validation',
			step,
			problems: problems.size,
			samples: Math.max(...right.map((list) => list.length)),
			temperature: this.#options.temperature,
			...estimateAccuracy(right),
		});
	}
}
