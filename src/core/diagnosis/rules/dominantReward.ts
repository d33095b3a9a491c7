import { type DiagnosisRun, type Row, recipeAdvice, recipePath, setAdvice } from '../diagnosisRun.ts';
import { judgesAnswer } from '../rewardNames.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { OpeningMean, Recent } from '../series.ts';
import { limit } from '../thresholds.ts';
import { digits, percent, quoted } from '../words.ts';

/** Maximum number of reward components examined. */
const maxComponents = 50;

interface Component {
	readonly name: string;
	readonly deviations: Recent;
	/** Longer than the other series because its oldest batches are the baseline for its newest ones. */
	readonly means: Recent;
	/** Standard deviation over the first batches of the stage. */
	readonly opening: OpeningMean;
	/** Mean over the first batches of the stage. */
	readonly began: OpeningMean;
}

class DominantWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #components = new Map<string, Component>();

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#components.clear();
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		let reported = false;
		for (const key of row.names) {
			if (!key.startsWith('rewards/') || !key.endsWith('/std')) continue;
			const name = key.slice(8, -4);
			const component = this.#component(name);
			const [deviation, mean] = [row.get(key), row.get(`rewards/${name}/mean`)];
			if (component === null || deviation === null || mean === null) continue;
			component.deviations.push(deviation);
			component.opening.push(deviation);
			component.means.push(mean);
			component.began.push(mean);
			reported = true;
		}
		return reported ? this.#judge() : undefined;
	}

	#component(name: string): Component | null {
		let component = this.#components.get(name);
		if (component === undefined) {
			if (this.#components.size >= maxComponents) return null;
			const batches = limit('dominantBatches');
			component = {
				name,
				deviations: new Recent(batches),
				means: new Recent(limit('dominantLookback')),
				opening: new OpeningMean(limit('openingBatches')),
				began: new OpeningMean(limit('openingBatches')),
			};
			this.#components.set(name, component);
		}
		return component;
	}

	#judge(): readonly RuleFinding[] {
		const components = [...this.#components.values()].filter(({ deviations }) => deviations.full);
		const judge = components.find(({ name }) => judgesAnswer(name));
		// Requires a correctness reward that is below the solved threshold and not rising.
		if (judge === undefined || components.length < 2) return [];
		// Recorded only to monitor training without labels.
		if (this.#weight(judge.name) === 0) return [];
		const batches = limit('dominantBatches');
		const accuracy = judge.means.mean(judge.means.count - batches);
		const before = judge.means.count >= limit('formatBatches') ? judge.means.mean(0, batches) : null;
		if (before === null || accuracy >= limit('solvedAccuracy') || accuracy > before + limit('flatRise')) return [];
		// If no answer has ever been correct, changing weights would not help.
		if (accuracy < limit('hopelessShare') && (judge.began.mean ?? 0) < limit('hopelessShare')) return [];
		const variances = components.map(({ name, deviations }) => (this.#weight(name) * deviations.mean()) ** 2);
		const sum = variances.reduce((a, b) => a + b, 0);
		const max = variances.indexOf(Math.max(...variances));
		const component = components[max] as Component;
		const share = (variances[max] as number) / sum;
		if (!(share >= limit('dominantShare')) || component === judge || judgesAnswer(component.name)) return [];
		// Dominance from the first batch onward is caused by the weights. Dominance that develops later can result from
		// policy collapse.
		const openings = components.map(({ name, opening }) => (this.#weight(name) * (opening.mean ?? 0)) ** 2);
		const wasDominant =
			(judge.opening.mean ?? 0) >= limit('flatRise') &&
			(openings[max] as number) >= limit('dominantShare') * openings.reduce((sum, value) => sum + value, 0);
		// After a policy has collapsed, the current spread no longer reflects how much answers used to differ.
		const spread = this.#weight(judge.name) * Math.max(judge.deviations.mean(), judge.opening.mean ?? 0);
		const other = Math.max(component.deviations.mean(), component.opening.mean ?? 0);
		const balanced = (spread * limit('balancedShare')) / other;
		const weight = spread > 0 && Number.isFinite(balanced) ? Number(balanced.toPrecision(2)) : null;
		// If correct answers became rarer as this reward rose, any positive weight pulls the policy away from them.
		const pullsAway =
			wasDominant &&
			(judge.began.mean ?? 0) - accuracy >= limit('flatRise') &&
			component.means.mean(component.means.count - batches) > (component.began.mean ?? Number.POSITIVE_INFINITY);
		const at = this.#run.rewards.findIndex(({ name }) => name === component.name);
		return [
			{
				about: component.name.slice(0, 100),
				level: 'warning',
				content: () => ({
					message: `The reward ${quoted(component.name)} accounts for ${percent(share)} of reward variance over ${batches} batches while ${quoted(judge.name)} stays at ${digits(accuracy)}, so training optimizes only ${quoted(component.name)}.`,
					action: pullsAway
						? `Remove ${quoted(component.name)}, or change it so that it no longer favors incorrect answers.`
						: `Lower the weight of ${quoted(component.name)}, or use easier problems until ${quoted(judge.name)} varies within groups.`,
					metrics: [
						`rewards/${component.name}/mean`,
						`rewards/${component.name}/std`,
						`rewards/${judge.name}/mean`,
						`rewards/${judge.name}/std`,
					],
					evidence: [],
					cause: `reward ${quoted(component.name)} outweighs the correctness reward`,
					...(wasDominant
						? { explains: ['learning-rate-high', 'length-drift', 'dead-groups', 'overlong', 'reward-hacking'] }
						: {}),
					recipe: pullsAway
						? recipeAdvice(at < 0 ? null : recipePath(this.#run, 'rewards', at), 'remove it', [
								{ path: ['rewards', at] },
							])
						: setAdvice(
								at < 0 ? null : recipePath(this.#run, 'rewards', at, 'weight'),
								weight === null
									? `less than ${digits(this.#weight(component.name))}`
									: `${weight} instead of ${digits(this.#weight(component.name))}`,
								weight,
							),
				}),
			},
		];
	}

	#weight(name: string): number {
		return this.#run.rewards.find((reward) => reward.name === name)?.weight ?? 1;
	}
}

export const dominantReward: Rule = {
	name: 'dominant-reward',
	title: 'One reward dominates',
	fires:
		'with weights w and standard deviations s (mean of `rewards/NAME/std` over the last `dominantBatches` batches), (w s)^2 of one reward other than the correctness reward is >= `dominantShare` x the sum of (w s)^2, while the correctness reward is below `solvedAccuracy` and has risen by at most `flatRise` compared with the first `dominantBatches` of the last `dominantLookback` batches, of which there must be at least `formatBatches`. If this was true in the first `openingBatches` batches, it also explains an apparently high learning rate. The suggested fix is to remove the reward if it dominated from the first batches and has risen since while the correctness reward fell by `flatRise`; otherwise, it is to lower the weight so that the weighted SD is `balancedShare` of that of the correctness reward. Correctness rewards are recognized by name: accuracy, correct, exact, solved, verify, outcome, pass rate.',
	silent:
		'if no reward name indicates correctness, if the weight of the correctness reward is 0, or if that reward is rising or has been below `hopelessShare` since the first batches, because changing weights would not help.',
	metrics: ['rewards/NAME/mean', 'rewards/NAME/std'],
	thresholds: [
		'dominantShare',
		'dominantBatches',
		'dominantLookback',
		'formatBatches',
		'balancedShare',
		'openingBatches',
		'solvedAccuracy',
		'flatRise',
		'hopelessShare',
	],
	watch: (run) => new DominantWatch(run),
};
