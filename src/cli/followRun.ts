import { learnsFromRewards } from '../protocol/recipeKeys/stageKinds.ts';
import type { RunRecord, RunStatus } from '../protocol/runRecord.ts';
import { claimsLife } from '../runs/runStatus.ts';
import { RunTail, type RunTailEvent } from '../runs/runTail.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { colored, displayLines, eventText, plain, plainLine } from './progressText.ts';
import { RunProgress } from './runProgress.ts';

/** Minimum interval between plain progress lines when there are no events. */
const plainEveryMs = 5000;
/** Minimum interval between redraws of the live display. */
const drawEveryMs = 100;

export interface FollowOptions {
	/** Number of the current attempt. Events from earlier attempts are not reported as new. */
	readonly attempt: number;
	/** Stops following without waiting for the run to end. */
	readonly signal?: AbortSignal;
}

export interface RunEnd {
	readonly record: RunRecord;
	readonly status: RunStatus;
}

/**
 * Follows a run until it ends, printing events as they arrive.
 * @returns the outcome, or null if the signal aborted first
 */
export function followRun(folder: string, output: CliOutput, options: FollowOptions): Promise<RunEnd | null> {
	const paint = output.colors ? colored : plain;
	const progress = new RunProgress();
	const tail = new RunTail(folder, { pollMs: 500 });
	let drawn = 0;
	let drawTimer: NodeJS.Timeout | null = null;
	let plainAt = 0;
	let synced = false;

	const erase = () => {
		if (drawn > 0) output.draw(`\u001b[${drawn}A\u001b[0J`);
		drawn = 0;
	};
	const draw = () => {
		if (drawTimer !== null) clearTimeout(drawTimer);
		drawTimer = null;
		erase();
		const lines = displayLines(progress, output.columns, paint);
		output.draw(lines.map((line) => `${line}\n`).join(''));
		drawn = lines.length;
	};
	const say = (text: string) => {
		if (output.isTerminal) erase();
		output.line(text);
		if (output.isTerminal) draw();
	};
	const show = (event: RunTailEvent<RunRecord>) => {
		if (output.json) {
			if (event.kind !== 'synced') output.object(event);
			return;
		}
		if (event.kind === 'events') {
			for (const line of event.lines) {
				const text =
					synced || line.type === 'device' || line.type === 'alert' || line.type === 'stage' ? eventText(line) : null;
				if (text !== null) say(paint('dim', text));
			}
			// During the cold start, evaluations run every few steps, so the figure in the live display is enough.
		} else if (event.kind === 'evaluations' && synced && learnsFromRewards(progress.stage)) {
			for (const { name, step, accuracy, low, high } of event.summaries) {
				say(`${name} at step ${step}: ${accuracy.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`);
			}
		} else if (event.kind === 'error') say(printable(event.failure.toString()));
		if (output.isTerminal) drawTimer ??= setTimeout(draw, drawEveryMs);
		else if (event.kind === 'metrics' && Date.now() - plainAt >= plainEveryMs) {
			plainAt = Date.now();
			say(plainLine(progress));
		}
	};

	return new Promise((resolve) => {
		const end = (result: RunEnd | null) => {
			tail.dispose();
			if (output.isTerminal) draw();
			resolve(result);
		};
		tail.onEvent((event) => {
			progress.apply(event);
			show(event);
			if (event.kind !== 'synced') return;
			synced = true;
			const { record, status } = progress;
			if (record !== null && status !== null && record.attempt >= options.attempt && !claimsLife({ status })) {
				end({ record, status });
			}
		});
		if (options.signal?.aborted) end(null);
		else options.signal?.addEventListener('abort', () => end(null), { once: true });
		tail.start();
	});
}
