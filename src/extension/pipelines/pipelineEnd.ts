import { formatCounted, formatDuration, formatPercent } from '../../base/format.ts';
import type { PipelineView } from '../../runs/pipeline/pipelineView.ts';
import { displayText } from '../runView.ts';

/** Returns one or two sentences about how a pipeline ended: its result, or why it failed and what to do. */
export function pipelineEnd({ name, status, stages, record }: PipelineView): string {
	const label = displayText(name, 60);
	const done = stages.filter((stage) => stage.status === 'finished' || stage.status === 'skipped').length;
	const so = `${done} of ${stages.length} stages are done`;
	const seconds = stages.reduce((sum, stage) => sum + (stage.seconds ?? 0), 0);
	if (status === 'finished') {
		const measured = stages.findLast(({ accuracy }) => accuracy !== null);
		const accuracy =
			measured === undefined
				? ''
				: `: ${displayText(measured.name, 40)} has a held-out accuracy of ${formatPercent(measured.accuracy ?? 0)}`;
		const partial = stages.flatMap((one) =>
			one.partial === null ? [] : [` ${displayText(one.name, 40)}: ${displayText(one.partial, 300)}`],
		);
		return `${label} finished its ${formatCounted(stages.length, 'stage')} in ${formatDuration(seconds)}${accuracy}.${partial.join('')}`;
	}
	if (status === 'crashed') {
		return `${label} stopped because its runner exited; ${so}. Resume it to continue; finished stages are not rerun.`;
	}
	const stage = stages.find((one) => one.status === status);
	if (status === 'failed') {
		const error = record.error ?? record.stages.find(({ error: own }) => own !== undefined)?.error;
		const at = stage === undefined ? '' : ` at ${displayText(stage.name, 40)}`;
		const why = error === undefined ? '' : `: ${displayText(error.message, 300)}`;
		const what = displayText(error?.action ?? 'Fix the problem, then resume the pipeline.', 300);
		return `${`${label} failed${at}${why}`.replace(/[.]?$/, '.')} ${what}`;
	}
	const at = stage === undefined ? '' : ` at ${displayText(stage.name, 40)}`;
	return `${label} was stopped${at}; ${so}.`;
}
