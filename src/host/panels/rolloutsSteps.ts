import type { MetricsLine } from '../../protocol/metricsLine.ts';
import type { StepColumns } from '../../protocol/rolloutsMessages.ts';

interface StepNumbers {
	stage: string;
	reward: number | null;
	dead: number | null;
}

/** Which steps have rollouts, and what the metrics say of them; tells what changed since it was last asked. */
export class RolloutsSteps {
	readonly #steps = new Set<number>();
	readonly #numbers = new Map<number, StepNumbers>();
	readonly #changed = new Set<number>();

	addSteps(steps: readonly number[]): void {
		// One that is known has more rollouts than before.
		for (const step of steps) {
			this.#steps.add(step);
			this.#changed.add(step);
		}
	}

	addMetrics(lines: readonly MetricsLine[]): void {
		for (const { step, stage, values } of lines) {
			this.#numbers.set(step, { stage, reward: values.reward ?? null, dead: values.frac_reward_zero_std ?? null });
			if (this.#steps.has(step)) this.#changed.add(step);
		}
	}

	clear(): void {
		this.#steps.clear();
		this.#numbers.clear();
		this.#changed.clear();
	}

	/** Everything; nothing counts as changed afterwards. */
	snapshot(): StepColumns {
		this.#changed.clear();
		return this.#columns([...this.#steps]);
	}

	/** What changed since the last `snapshot` or `news`; null if nothing did. */
	news(): StepColumns | null {
		if (this.#changed.size === 0) return null;
		const columns = this.#columns([...this.#changed]);
		this.#changed.clear();
		return columns;
	}

	#columns(steps: number[]): StepColumns {
		steps.sort((a, b) => a - b);
		const stages: string[] = [];
		const stageIndex = (stage: string | undefined) => {
			if (stage === undefined) return -1;
			const at = stages.indexOf(stage);
			return at === -1 ? stages.push(stage) - 1 : at;
		};
		const numbers = steps.map((step) => this.#numbers.get(step));
		return {
			step: steps,
			stage: numbers.map((entry) => stageIndex(entry?.stage)),
			stages,
			reward: numbers.map((entry) => entry?.reward ?? null),
			dead: numbers.map((entry) => entry?.dead ?? null),
		};
	}
}
