import type { Evidence } from '../../protocol/alert.ts';
import type { GroupFacts, StepFacts } from './stepFacts.ts';

/** Maximum number of rollouts listed as evidence for an alert. */
export const maxEvidence = 5;
/** Maximum number of groups kept per step. */
const maxGroups = 512;

/** Facts for the most recent steps with rollouts, newest last. */
export class RecentFacts {
	readonly #steps: number;
	#facts: StepFacts[] = [];

	constructor(steps: number) {
		this.#steps = steps;
	}

	get count(): number {
		return this.#facts.length;
	}

	push(facts: StepFacts): void {
		this.#facts.push({ step: facts.step, groups: facts.groups.slice(0, maxGroups) });
		if (this.#facts.length > this.#steps) this.#facts.shift();
	}

	clear(): void {
		this.#facts = [];
	}

	/** Iterates over all groups and their steps, newest first. */
	*groups(): Generator<{ readonly step: number; readonly group: GroupFacts }> {
		for (let i = this.#facts.length - 1; i >= 0; i--) {
			const { step, groups } = this.#facts[i] as StepFacts;
			for (const group of groups) yield { step, group };
		}
	}

	/** Returns the newest rollouts that satisfy the predicate, at most one per group. */
	evidence(holds: (group: GroupFacts, i: number) => boolean): Evidence[] {
		const found: Evidence[] = [];
		for (const { step, group } of this.groups()) {
			const i = group.index.findIndex((_, at) => holds(group, at));
			if (i < 0) continue;
			found.push({ step, group: group.group, index: group.index[i] as number });
			if (found.length === maxEvidence) break;
		}
		return found;
	}
}
