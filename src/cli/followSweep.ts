import { dirname, join, relative } from 'node:path';
import { formatCounted } from '../base/format.ts';
import type { SweepRecord, SweepTrial } from '../protocol/sweepFile.ts';
import { runSweep } from '../runs/sweep.ts';
import { readSweep } from '../runs/sweepFolder.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';

/**
 * Runs a sweep from its current state and prints its results. Ctrl+C stops the current run with a checkpoint.
 * @returns the exit status: 0 if any run has finished, 1 if none has, 130 if the sweep was stopped
 */
export async function followSweep(folder: string, output: CliOutput, engine: string): Promise<number> {
	const { trials, rungs } = await readSweep(folder);
	output.object({ kind: 'sweep', folder });
	output.line(printable(`Sweep ${folder}`));
	const done = trials.filter(({ rung }) => rung >= 0).length;
	if (done > 0) output.line(`Continuing: ${done} of ${formatCounted(trials.length, 'run')} reached a rung.`);
	const stop = new AbortController();
	const release = onInterrupt((count) => {
		// Engines outlive this process, so a second interrupt leaves the current run running.
		if (count > 1) process.exit(130);
		output.line('Stopping the current run with a checkpoint. Press Ctrl+C again to leave it running.');
		stop.abort();
	});
	try {
		const record = await runSweep(folder, {
			start: { engine },
			signal: stop.signal,
			onProgress: ({ rung, index, folder: run, step, score, status, failure }) => {
				const label = trials[index]?.label ?? '';
				const state = failure === undefined ? status : failure.toString();
				output.object({
					...{ kind: 'run', rung, label, folder: run, step, score, status: status ?? 'crashed' },
					...(failure === undefined ? {} : { error: failure.toString() }),
				});
				output.line(
					printable(`rung ${rung + 1} of ${rungs.length}: ${label}: ${scoreText(score)} at step ${step} (${state})`),
				);
			},
		});
		const at = (run: string | null) => (run === null ? null : join(dirname(folder), run));
		output.object({
			kind: 'results',
			metric: record.metric,
			results: record.trials.map(({ run, label, rung, score, step, status }) => ({
				...{ label, folder: at(run), rung, score, step, status },
			})),
		});
		for (const line of resultLines(record, at)) output.line(printable(line));
		output.line(printable(`To compare the runs, filter the run table by tags:${record.tag}.`));
		if (stop.signal.aborted) {
			output.line(printable(`To continue, run: reasoning-lab sweep ${relative(process.cwd(), folder)}`));
			return 130;
		}
		return record.trials.some(({ status }) => status === 'finished') ? 0 : 1;
	} finally {
		release();
	}
}

const scoreText = (score: number | null): string => (score === null ? 'no value' : score.toFixed(4));

/** Returns one line per run, sorted by training length and then by score. */
function resultLines({ metric, trials }: SweepRecord, at: (run: string | null) => string | null): string[] {
	const ordered = [...trials].sort(
		(a, b) => b.rung - a.rung || (b.score ?? Number.NEGATIVE_INFINITY) - (a.score ?? Number.NEGATIVE_INFINITY),
	);
	const line = ({ label, score, step, status, run }: SweepTrial) =>
		`  ${scoreText(score)}  step ${step}  ${status ?? 'not started'}  ${label}${run === null ? '' : `  ${at(run)}`}`;
	return [`${metric}:`, ...ordered.map(line)];
}
