import { formatClock } from '../base/format.ts';
import { chooserText, type RoundSeries } from '../core/pipeline/rounds.ts';
import { costTexts } from '../core/pipeline/stageCost.ts';
import { changeText, intervalText } from '../core/report/numberText.ts';
import type { PipelineRecord } from '../protocol/pipeline.ts';
import type { PipelineView, StageView } from '../runs/pipeline/pipelineView.ts';
import { table } from './textForms.ts';

/** Formats the stages as a table with the reason for each status. */
export function pipelineLines({ name, status, folder, stages, record }: PipelineView): string[] {
	const rows = stages.map((stage) => [
		stage.name,
		stage.type,
		stage.status,
		stepsOf(stage),
		stage.accuracy === null ? '-' : stage.accuracy.toFixed(3),
		stage.seconds === null ? '-' : formatClock(stage.seconds),
		costTexts(stage).join(', ') || '-',
		stage.why ?? '',
	]);
	const lines = table([['stage', 'type', 'state', 'steps', 'held-out', 'time', 'cost', 'why'], ...rows]);
	const kept = stages.flatMap((stage) => stage.kept);
	return [
		`${name}: ${status}  ${folder}`,
		...lines.map((line) => line.trimEnd()),
		...(kept.length === 0 ? [] : [`kept earlier outputs: ${kept.join(', ')}`]),
		...(record.error === undefined || status === 'running'
			? []
			: [actionOf(record.error)].filter((line) => line !== '')),
	];
}

/** Formats the metrics of a loop, one line per round. */
export function roundLines({ of, points }: RoundSeries): string[] {
	const rows = points.map(({ number, accuracy, gain }) => [
		String(number),
		intervalText(accuracy),
		gain === null ? '-' : `${changeText(gain)}, ${chooserText(gain)}`,
	]);
	return table([[`${of}: round`, 'pass@1', 'gain over pass@1'], ...rows]).map((line) => line.trimEnd());
}

const actionOf = ({ message, action }: NonNullable<PipelineRecord['error']>): string =>
	action === undefined ? message : `${message} ${action}`;

/** Formats the step count of a stage, such as `12/20`, or "-" if the stage has not started. */
export function stepsOf({ done, total }: StageView): string {
	return done === null ? '-' : `${done}${total === null ? '' : `/${total}`}`;
}

/** Returns a one-line status for a stage, or null if there is nothing to report. */
export function stageLine(stage: StageView): string | null {
	const { name, type, status, accuracy, seconds, why } = stage;
	const measured = accuracy === null ? '' : `, held-out accuracy ${accuracy.toFixed(3)}`;
	switch (status) {
		case 'running':
			return `${name} (${type}) is running`;
		case 'finished':
			return `${name} finished${seconds === null ? '' : ` in ${formatClock(seconds)}`}${measured}${why === null ? '' : `: ${why}`}`;
		case 'skipped':
			return `${name} was skipped: ${why}`;
		case 'failed':
			return `${name} failed: ${why}`;
		case 'stopped':
			return `${name} stopped at ${stepsOf(stage)}`;
		case 'waiting':
			return null;
	}
}
