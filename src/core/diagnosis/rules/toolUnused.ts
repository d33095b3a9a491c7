import { type DiagnosisRun, type Row, recipeAdvice, recipePath } from '../diagnosisRun.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import { limit } from '../thresholds.ts';
import { digits } from '../words.ts';

class ToolUnusedWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #calls = new Recent(limit('toolBatches'));

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#calls.clear();
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		const calls = row.get('tools/call_frequency');
		if (calls === null) return undefined;
		this.#calls.push(calls);
		if (!this.#calls.full) return [];
		const mean = this.#calls.mean();
		if (mean > limit('unusedCalls')) return [];
		return [
			{
				level: 'warning',
				content: () => ({
					message: `The policy made ${digits(mean)} tool calls per completion in the last ${limit('toolBatches')} batches, so it cannot learn to use its tools.`,
					action:
						'Ask for tool calls in the prompt, start from a model that has been trained on solutions with calls, or check that the chat template shows the tools.',
					metrics: ['tools/call_frequency'],
					evidence: [],
					cause: 'tools that are never called',
					recipe: recipeAdvice(recipePath(this.#run, 'stages'), 'a preceding supervised stage on solutions with calls'),
				}),
			},
		];
	}
}

export const toolUnused: Rule = {
	name: 'tool-unused',
	title: 'Tools not used',
	fires: 'mean `tools/call_frequency` over the last `toolBatches` batches is <= `unusedCalls`.',
	silent: 'in runs without tools.',
	metrics: ['tools/call_frequency'],
	thresholds: ['unusedCalls', 'toolBatches'],
	explains: ['dead-groups', 'reward-without-tool'],
	watch: (run) => new ToolUnusedWatch(run),
};
