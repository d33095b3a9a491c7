import type { MetricsLine } from '../../../protocol/metricsLine.ts';
import type { GroupSummary, StepColumns } from '../../../protocol/rolloutsMessages.ts';

interface StepNumbers {
	stage: string;
	reward: number | null;
	/** Fraction of dead groups. */
	dead: number | null;
	/** `frac_reward_zero_std`, used until the step is read. Same as `dead` unless rewards are scaled by batch. */
	zeroStd: number | null;
}

/** Tracks the steps with rollouts and their metrics, and reports changes since the last update. */
export class RolloutsSteps {
	readonly #steps = new Set<number>();
	readonly #numbers = new Map<number, StepNumbers>();
	/** Values computed from steps already read, used for steps without metrics. */
	readonly #read = new Map<number, Pick<StepNumbers, 'reward' | 'dead'>>();
	readonly #changed = new Set<number>();

	addSteps(steps: readonly number[]): void {
		// A known step that is added again has new rollouts.
		for (const step of steps) {
			this.#steps.add(step);
			this.#changed.add(step);
		}
	}

	addMetrics(lines: readonly MetricsLine[]): void {
		for (const { step, stage, values } of lines) {
			this.#numbers.set(step, {
				stage,
				reward: values.reward ?? null,
				dead: values['groups/dead'] ?? null,
				zeroStd: values.frac_reward_zero_std ?? null,
			});
			if (this.#steps.has(step)) this.#changed.add(step);
		}
	}

	/** Records the groups of a step that has been read. Returns whether this changed the step's columns. */
	addGroups(step: number, groups: readonly Pick<GroupSummary, 'reward' | 'dead'>[]): boolean {
		const rewards = groups.flatMap((group) => group.reward.filter((reward) => reward !== null));
		const sum = rewards.reduce((all, reward) => all + reward, 0);
		const reward = rewards.length === 0 ? null : sum / rewards.length;
		const known = groups.filter((group) => group.dead !== null);
		const dead = known.length === 0 ? null : known.filter((group) => group.dead).length / known.length;
		const before = this.#columns([step]);
		this.#read.set(step, { reward, dead });
		const after = this.#columns([step]);
		if (before.reward[0] === after.reward[0] && before.dead[0] === after.dead[0]) return false;
		this.#changed.add(step);
		return true;
	}

	clear(): void {
		this.#steps.clear();
		this.#read.clear();
		this.#numbers.clear();
		this.#changed.clear();
	}

	/** Returns all steps and marks them as unchanged. */
	snapshot(): StepColumns {
		this.#changed.clear();
		return this.#columns([...this.#steps]);
	}

	/** Returns the steps changed since the last `snapshot` or `news`, or null if there are none. */
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
			reward: numbers.map((entry, i) => entry?.reward ?? this.#read.get(steps[i] as number)?.reward ?? null),
			dead: numbers.map(
				(entry, i) => entry?.dead ?? this.#read.get(steps[i] as number)?.dead ?? entry?.zeroStd ?? null,
			),
		};
	}
}
