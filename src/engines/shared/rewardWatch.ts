import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import type { RunRecord } from '../../protocol/runRecord.ts';
import type { RunWriter } from '../../runs/runWriter.ts';
import { explainHold } from './holdExplanation.ts';
import { describeFailures, type RewardFailures } from './scoreBatch.ts';

/** Reports reward output and failures in the log, in events, and as the reason for a pause. */
export class RewardWatch {
	readonly #recipe: Pick<ResolvedRecipe, 'rewards' | 'scoring'>;
	readonly #writer: RunWriter;
	readonly #step: () => number;
	/** Number of batches with failures that did not stop the run, by reward. */
	readonly #failing = new Map<string, number>();
	/** Remaining budget for reward output in the log, in characters. */
	#outputRoom = 1 << 20;

	/** @param step returns the number of updates so far */
	constructor(recipe: Pick<ResolvedRecipe, 'rewards' | 'scoring'>, writer: RunWriter, step: () => number) {
		this.#recipe = recipe;
		this.#writer = writer;
		this.#step = step;
	}

	/** Returns the failures of the first reward that failed on more rows than the recipe allows. */
	tooMany(failures: readonly RewardFailures[]): RewardFailures | undefined {
		return failures.find(({ failed, rows }) => failed > this.#recipe.scoring.pauseAbove * rows);
	}

	noteOutput(reward: string, lines: readonly string[]): void {
		if (this.#outputRoom <= 0) return;
		const kept: string[] = [];
		for (const line of lines) {
			if (this.#outputRoom <= 0) break;
			kept.push(line);
			this.#outputRoom -= line.length + 1;
		}
		if (this.#outputRoom <= 0) kept.push('(further reward output omitted)');
		this.#writer.log(`output from reward "${reward}":\n${kept.join('\n')}`);
	}

	/** Reports failures on affected batches 1, 2, 4, 8, and so on. The metric covers every batch. */
	noteFailures(failures: RewardFailures): void {
		const { column } = failures;
		const batches = (this.#failing.get(column) ?? 0) + 1;
		this.#failing.set(column, batches);
		if ((batches & (batches - 1)) !== 0) return;
		const more = batches === 1 ? '' : ` ${batches} batches have been affected so far.`;
		this.#alert('warning', failures, `${describeFailures(failures)}${more}`);
	}

	/** Returns the reason for a pause, after reporting the failures. */
	hold(failures: RewardFailures): NonNullable<RunRecord['pause']> {
		const { message, action } = explainHold(failures, this.#recipe, this.#step());
		this.#alert('error', failures, `${message} ${action}`);
		return { message, action, time: Date.now() / 1000 };
	}

	#alert(level: 'warning' | 'error', failures: RewardFailures, message: string): void {
		const { column, file, failed, rows, first } = failures;
		this.#writer.log(`${level}: ${message}${first.stack === undefined ? '' : `\n${first.stack}`}`);
		const place = {
			...(first.index < 0 ? {} : { row: first.index }),
			...(file === null ? {} : { file }),
			...(first.line === undefined ? {} : { line: first.line }),
		};
		const event = { level, message, reward: column, failed, rows, kind: first.kind, ...place };
		void this.#writer.appendEvent({ type: 'alert', ...event, step: this.#step() }).catch(() => undefined);
	}
}
