import { describeMetric } from '../../src/core/metrics/catalog.ts';
import type { ComparedRun } from '../../src/protocol/runComparisonMessages.ts';
import type { Explanation } from '../lib/tooltip.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

/** Explains a metric, with its name and definition in each trainer. */
export function explainShared(metric: string, runs: readonly ComparedRun[]): Explanation {
	const info = describeMetric(metric);
	const differs: string[] = [];
	const names: (readonly [string, string])[] = [];
	for (const format of new Set(runs.map((run) => run.format))) {
		const { own } = describeMetric(metric, { format });
		if (own === null) continue;
		names.push([own.trainer, own.names.map((name) => plainLabel(name, 80)).join(', ')]);
		for (const words of own.differs) differs.push(`${own.trainer}: ${words}`);
	}
	return {
		title: plainLabel(info.title, 120),
		...(info.title === metric ? {} : { name: metric }),
		paragraphs: [info.explanation, ...differs, ...(info.healthy === null ? [] : [`Healthy: ${info.healthy}`])],
		facts: [['Measured over', info.over], ...names],
	};
}
