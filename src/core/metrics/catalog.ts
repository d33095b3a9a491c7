import { visibleLine } from '../report/visibleText.ts';
import { type Described, describeBuiltName } from './builtNames.ts';
import { describeDeviceName } from './deviceNames.ts';
import { clippingMetrics } from './groups/clippingMetrics.ts';
import { curriculumMetrics } from './groups/curriculumMetrics.ts';
import { environmentMetrics } from './groups/environmentMetrics.ts';
import { headMetrics } from './groups/headMetrics.ts';
import { latentMetrics } from './groups/latentMetrics.ts';
import { lengthMetrics } from './groups/lengthMetrics.ts';
import { optimizerMetrics } from './groups/optimizerMetrics.ts';
import { policyMetrics } from './groups/policyMetrics.ts';
import { preferenceMetrics } from './groups/preferenceMetrics.ts';
import { proposalMetrics } from './groups/proposalMetrics.ts';
import { rejectionMetrics } from './groups/rejectionMetrics.ts';
import { rewardMetrics } from './groups/rewardMetrics.ts';
import { speedMetrics } from './groups/speedMetrics.ts';
import { textMetrics } from './groups/textMetrics.ts';
import type { MetricEntry } from './metricEntry.ts';
import type { MetricContext, MetricInfo } from './metricInfo.ts';
import { ownName } from './ownName.ts';

/** All metrics with fixed names. Names and definitions follow TRL 1.13 for metrics that TRL has. */
const entries: Readonly<Record<string, MetricEntry>> = {
	...rewardMetrics,
	...curriculumMetrics,
	...proposalMetrics,
	...headMetrics,
	...preferenceMetrics,
	...policyMetrics,
	...clippingMetrics,
	...lengthMetrics,
	...latentMetrics,
	...environmentMetrics,
	...optimizerMetrics,
	...speedMetrics,
	...textMetrics,
	...rejectionMetrics,
};

/** All fixed names, in display order. */
export const metricNames: readonly string[] = Object.keys(entries);

function describeEntry(entry: MetricEntry, context: MetricContext): Described {
	const { explanation, healthy = null, rises = null, falls = null, logScale = false, ...rest } = entry;
	const words = typeof explanation === 'string' ? explanation : explanation(context);
	return { ...rest, explanation: words, healthy, rises, falls, logScale };
}

/** Returns whether the stage trains a judge model. Its accuracy is that of judgments, not answers. */
const judges = ({ stage }: MetricContext) => stage === 'reward-model' || stage === 'process-reward-model';

function describeOwn(name: string, context: MetricContext): Described | null {
	if (Object.hasOwn(entries, name)) return describeEntry(entries[name] as MetricEntry, context);
	// A training metric measured during evaluation, such as TRL's eval_reward.
	const inEvaluation = /^eval\/(.+)$/s.exec(name)?.[1];
	const ofAnswers = inEvaluation === 'reward' || (inEvaluation === 'accuracy' && !judges(context));
	const inner =
		inEvaluation !== undefined && !ofAnswers
			? Object.hasOwn(entries, inEvaluation)
				? describeEntry(entries[inEvaluation] as MetricEntry, context)
				: /^rewards\/.+\/(mean|std)$/s.test(inEvaluation)
					? describeBuiltName(inEvaluation)
					: null
			: null;
	if (inner === null) return describeDeviceName(name) ?? describeBuiltName(name);
	return { ...inner, group: 'evaluation', title: `${inner.title} (evaluation)`, over: `${inner.over}, in evaluation` };
}

/**
 * Describes a metric: title, unit, what it was averaged over, its meaning in the current stage, and its name in the
 * trainer that wrote the run. An unknown name is returned unchanged, with `known` false and the metric it resembles if
 * the catalog lists one.
 */
export function describeMetric(name: string, context: MetricContext = {}): MetricInfo {
	const info = describeName(name, context);
	// The name might belong to a reward from a foreign run, so make control characters such as bidi overrides visible.
	const title = visibleLine(info.title);
	return title === info.title ? info : { ...info, title };
}

function describeName(name: string, context: MetricContext): MetricInfo {
	const own = ownName(name, context.format ?? null);
	const described = describeOwn(name, context);
	if (described) return { name, ...described, own, known: true };
	const kin = own?.akinTo ? describeOwn(own.akinTo, context) : null;
	if (own && kin) {
		return {
			name,
			title: name,
			unit: kin.unit,
			group: kin.group,
			over: `as defined by ${own.trainer}`,
			explanation: `Similar to ${own.akinTo} ("${kin.title}"), but defined differently.`,
			better: kin.better,
			healthy: null,
			rises: kin.rises,
			falls: kin.falls,
			logScale: kin.logScale,
			own,
			known: true,
		};
	}
	return {
		name,
		title: name,
		unit: 'number',
		over: 'not recorded',
		explanation: 'A metric that the engine recorded under its own name.',
		better: null,
		group: 'other',
		healthy: null,
		rises: null,
		falls: null,
		logScale: false,
		own,
		known: false,
	};
}
