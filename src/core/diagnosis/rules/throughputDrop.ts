import type { Row } from '../diagnosisRun.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Course, Recent } from '../series.ts';
import { limit } from '../thresholds.ts';
import { digits, percent } from '../words.ts';

class ThroughputWatch implements Watch {
	readonly #recent = new Recent(limit('throughputBatches'));
	#before = new Course();
	#tokens: number | null = null;
	#held: RuleFinding[] = [];
	#until = 0;

	stage(): void {
		this.#recent.clear();
		this.#before = new Course();
		this.#tokens = null;
		this.#held = [];
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		const speed = this.#speed(row);
		if (speed === null) return undefined;
		this.#recent.push(speed);
		if (this.#held.length === 0) this.#before.push(speed);
		// Medians are expensive, and throughput does not change from one batch to the next, so reuse the last result.
		if (this.#until-- > 0) return this.#held;
		this.#until = 4;
		const enough = this.#before.count >= 2 * limit('throughputBatches');
		const [now, before] = [this.#recent.median(), this.#before.median()];
		if (!this.#recent.full || !enough || now >= limit('throughputShare') * before) {
			this.#held = [];
			return this.#held;
		}
		this.#held = [
			{
				level: 'info',
				content: () => ({
					message: `Throughput has dropped to ${percent(now / before)} of its earlier level: ${digits(now)} tokens per second over ${limit('throughputBatches')} batches, down from ${digits(before)}.`,
					action:
						'Check completion lengths (a few long completions delay the batch), the time per phase, and what else is running on the machine.',
					metrics: ['throughput/tokens', 'step_time', 'completions/mean_length'],
					evidence: [],
					recipe: null,
				}),
			},
		];
		return this.#held;
	}

	/** Returns tokens per second, or null if the row does not record it. */
	#speed(row: Row): number | null {
		const reported = row.get('throughput/tokens');
		if (reported !== null) return reported;
		const [tokens, time] = [row.get('num_tokens'), row.get('step_time')];
		if (tokens === null || time === null || time <= 0) return null;
		const before = this.#tokens;
		this.#tokens = tokens;
		return before === null || tokens <= before ? null : (tokens - before) / time;
	}
}

export const throughputDrop: Rule = {
	name: 'throughput-drop',
	title: 'Throughput drop',
	fires:
		'median `throughput/tokens` (or, if it is not recorded, the growth of `num_tokens` per `step_time`) over the last `throughputBatches` batches is < `throughputShare` x the median over the stage so far.',
	silent: 'for drops of a few batches caused by checkpoints, evaluations, or other processes.',
	metrics: ['throughput/tokens', 'num_tokens', 'step_time'],
	thresholds: ['throughputShare', 'throughputBatches'],
	watch: () => new ThroughputWatch(),
};
