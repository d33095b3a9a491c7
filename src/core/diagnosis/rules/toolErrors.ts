import type { Row } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { percent } from '../words.ts';

/** A decrease from the older half to the newer half counts as falling only if it exceeds this value. */
const falling = 0.05;

class ToolErrorsWatch implements Watch {
	readonly #shares = new Recent(limit('toolBatches'));
	readonly #facts = new RecentFacts(3);

	stage(): void {
		this.#shares.clear();
		this.#facts.clear();
	}

	step(facts: StepFacts): undefined {
		this.#facts.push(facts);
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		const failed = row.get('tools/failure_frequency');
		// Without calls, TRL reports a frequency of 0.
		if (failed === null || row.get('tools/call_frequency') === 0) return undefined;
		this.#shares.push(failed);
		if (!this.#shares.full) return [];
		const mean = this.#shares.mean();
		const half = limit('toolBatches') / 2;
		if (mean < limit('toolFailures') || this.#shares.mean(half) < this.#shares.mean(0, half) - falling) return [];
		return [
			{
				level: 'warning',
				content: () => ({
					message: `${percent(mean)} of the tool calls in the last ${limit('toolBatches')} batches failed, and the fraction is not falling.`,
					action:
						'Open a failed call. If its name or arguments are wrong, improve the descriptions of the tools and their arguments, or start from a model that has been trained on solutions; if the tool itself fails, fix the environment.',
					metrics: ['tools/failure_frequency', 'tools/call_frequency'],
					evidence: this.#facts.evidence((group, i) => (group.episodes?.[i]?.failures ?? 0) > 0),
					cause: 'tool calls that fail',
					recipe: null,
				}),
			},
		];
	}
}

export const toolErrors: Rule = {
	name: 'tool-errors',
	title: 'Tool call failures',
	fires:
		'mean `tools/failure_frequency` over the last `toolBatches` batches with calls is >= `toolFailures`, and the mean of their newer half is at most 0.05 below that of the older half.',
	silent:
		'while the fraction is falling, because the policy is then learning the call format, and if there are no calls.',
	metrics: ['tools/failure_frequency', 'tools/call_frequency'],
	thresholds: ['toolFailures', 'toolBatches'],
	explains: ['dead-groups', 'cut-episodes'],
	watch: () => new ToolErrorsWatch(),
};
