import { formatClock, formatPercent } from '../base/format.ts';
import { deviceNotes } from '../protocol/deviceEvent.ts';
import type { EventLine } from '../protocol/eventLine.ts';
import { printable } from './cliOutput.ts';
import type { RunProgress } from './runProgress.ts';
import { formatNumber, progressBar, sparkline } from './textForms.ts';

/** Adds terminal colors to text, or returns it unchanged. */
export type Paint = (color: 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan', text: string) => string;

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export const plain: Paint = (_, text) => text;
export const colored: Paint = (color, text) => `\u001b[${codes[color]}m${text}\u001b[0m`;

function heldOut({ heldOut }: RunProgress): string | null {
	if (heldOut === null) return null;
	const { accuracy, low, high } = heldOut;
	return `held-out ${accuracy.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
}

/** Joins as many parts as fit in `columns`. */
function fitting(parts: readonly string[], columns: number, separator: string): string {
	let line = '';
	for (const part of parts) {
		const next = line === '' ? part : line + separator + part;
		if ([...next].length > columns) break;
		line = next;
	}
	return line;
}

/** Formats the live display: two or three lines, each at most `columns` wide. */
export function displayLines(progress: RunProgress, columns: number, paint: Paint): string[] {
	const { record, last, status } = progress;
	if (record === null) return [];
	const total = record.totalSteps;
	const eta = progress.eta;
	const waiting = last === null && record.wait === 'device';
	const head = fitting(
		[
			printable(record.name),
			status === 'running' ? printable(progress.stage) : `${status}`,
			`step ${progress.step}${total === null ? '' : `/${total}`}`,
			formatClock(progress.elapsed),
			...(eta === null || status !== 'running' ? [] : [`at most ${formatClock(eta)} left`]),
			...(waiting ? [printable(record.device)] : []),
		],
		columns - 1,
		'  ',
	);
	const width = Math.max(1, Math.min(50, columns - 8));
	const percent = formatPercent(Math.floor(progress.share * 100) / 100, 0).padStart(4);
	const lines = [paint('bold', head), `${paint('green', progressBar(progress.share, width))} ${percent}`];
	if (last === null) return lines;
	const value = progress.history.at(-1);
	const numbers = [
		`${progress.shown} ${formatNumber(value)}`,
		...[heldOut(progress) ?? []].flat(),
		...(last.values.kl === undefined ? [] : [`kl ${formatNumber(last.values.kl)}`]),
		...(last.values['completions/mean_length'] === undefined
			? []
			: [`length ${formatNumber(last.values['completions/mean_length'])}`]),
		`${formatNumber(progress.secondsPerStep)} s/step`,
	];
	const text = fitting(numbers, columns - 1, '  ');
	const room = columns - 2 - [...text].length;
	const spark = room >= 8 ? ` ${paint('cyan', sparkline(progress.history, Math.min(40, room - 1)))}` : '';
	return [...lines, text + spark];
}

/** Formats progress as a single log line. */
export function plainLine(progress: RunProgress): string {
	const { record, last } = progress;
	const total = record?.totalSteps;
	const parts = [`${printable(progress.stage)} step ${progress.step}${total == null ? '' : `/${total}`}`];
	if (last !== null) parts.push(`${progress.shown} ${formatNumber(progress.history.at(-1))}`);
	const accuracy = heldOut(progress);
	if (accuracy !== null) parts.push(accuracy);
	if (progress.eta !== null) parts.push(`at most ${formatClock(progress.eta)} left`);
	return parts.join('  ');
}

/** Formats a run event for users, or returns null if the event should not be shown. */
export function eventText(event: EventLine): string | null {
	const text = (value: unknown) =>
		printable(typeof value === 'string' ? value : JSON.stringify(value ?? null)).slice(0, 800);
	switch (event.type) {
		case 'stage':
			return `stage ${text(event.name)} started at step ${event.step}`;
		case 'stage-ended':
			return `stage ${text(event.name)} ended at step ${event.step} (${text(event.because)})`;
		case 'device':
			return [`running on ${text(event.took)}`, ...deviceNotes(event).map(printable)].join('. ').replace(/\.$/, '');
		case 'resumed':
			return `resumed from step ${text(event.fromStep)} (attempt ${text(event.attempt)})`;
		case 'hyperparameters':
			return `hyperparameters changed at step ${text(event.fromStep)}: ${text(event.changes)}`;
		case 'paused':
			return event.because === 'rewards'
				? `paused at step ${event.step}: use reasoning-lab resume to continue or reasoning-lab stop to stop`
				: `paused at step ${event.step}`;
		case 'continued':
			return `continued at step ${event.step}`;
		case 'alert':
			return `${text(event.level)}: ${text(event.message)}`;
		default:
			return null;
	}
}
