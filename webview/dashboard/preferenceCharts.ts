import type { ChartBand, ChartSpec } from '../lib/charts/chartSpec.ts';
import { chart, lineOf, type Names, single, together } from './chartParts.ts';

/** Creates the charts for preference and reward-model stages, with held-out metrics next to training metrics. */
export function preferenceCharts(names: Names, own: boolean): ChartSpec[] {
	const both = (name: string): string[] => names.take(name, `eval/${name}`);
	const sides = (name: string): string[] =>
		names.take(`${name}/chosen`, `${name}/rejected`, `eval/${name}/chosen`, `eval/${name}/rejected`);
	// In runs from other trainers, `eval/accuracy` can mean answer accuracy; our engines use a different name for that.
	const judged = own || names.has('accuracy') ? both('accuracy') : [];
	const judgedLines = judged.map((name, i) => ({
		...lineOf(name, i),
		label: name === 'accuracy' ? 'Accuracy' : 'Accuracy (evaluation)',
	}));
	return [
		...together('pairs', 'Pair accuracy', both('rewards/accuracies')),
		...together('margins', 'Margin', both('rewards/margins')),
		...together('implicit', 'Implicit rewards', sides('rewards')),
		...together('logps', 'Pair log-probabilities', sides('logps')),
		...chart('judged', 'Accuracy', judgedLines),
		...together('score-margin', 'Score margin', both('margin')),
		...scoreCharts(names),
		...together('logits', 'Pair logits', sides('logits')),
	];
}

function scoreCharts(names: Names): ChartSpec[] {
	const [mean] = names.take('mean_reward');
	if (!mean) return ['min_reward', 'max_reward'].flatMap((name) => single(names, name));
	const [low] = names.take('min_reward');
	const [high] = names.take('max_reward');
	const bands: ChartBand[] =
		low && high ? [{ kind: 'between', of: mean, low, high, label: 'min to max', color: 0 }] : [];
	const held = names.take('eval/mean_reward').map((name) => lineOf(name, 1));
	names.take('eval/min_reward', 'eval/max_reward');
	return chart('scores', 'Scores', [lineOf(mean, 0), ...held], { bands });
}
