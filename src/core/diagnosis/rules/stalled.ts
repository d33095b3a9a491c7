import type { Row } from '../diagnosisRun.ts';
import type { Look, Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import { limit } from '../thresholds.ts';
import { digits } from '../words.ts';

/**
 * Maximum interval between two checks, in seconds. Longer intervals are ignored because the machine was asleep or its
 * clock was changed.
 */
const maxBetween = 60;
/** Minimum number of gaps between rows needed to estimate the pace. */
const minGaps = 5;

class StalledWatch implements Watch {
	readonly #gaps = new Recent(limit('shortRun'));
	#last: Row | null = null;
	#lastLook: number | null = null;
	/** Seconds of observation without a new row. */
	#quiet = 0;
	/** Heartbeat at the last check, and the time since it last changed. */
	#heartbeat: number | null = null;
	#silent = 0;

	stage(): void {
		this.#gaps.clear();
	}

	row(row: Row): readonly RuleFinding[] {
		const gap = this.#last === null ? 0 : row.time - this.#last.time;
		if (Number.isFinite(gap) && gap > 0) this.#gaps.push(gap);
		this.#last = row;
		this.#quiet = 0;
		return [];
	}

	look({ now, heartbeat, working, quiet = 0, silent = 0 }: Look): readonly RuleFinding[] {
		if (this.#lastLook === null) {
			this.#quiet = working ? quiet : 0;
			this.#silent = silent;
		} else {
			const since = now - this.#lastLook;
			const passed = since > 0 && since <= maxBetween ? since : 0;
			this.#quiet = working ? this.#quiet + passed : 0;
			this.#silent = heartbeat !== null && heartbeat === this.#heartbeat ? this.#silent + passed : 0;
		}
		this.#lastLook = now;
		this.#heartbeat = heartbeat;
		const row = this.#last;
		if (!working || row === null || this.#gaps.count < minGaps) return [];
		const median = this.#gaps.median();
		const longest = Math.max(...this.#gaps.values());
		const needed = Math.max(limit('stalledSeconds'), limit('stalledGaps') * median, limit('stalledLongest') * longest);
		if (!(this.#quiet >= needed)) return [];
		const seconds = Math.round(this.#quiet);
		const isSilent = this.#silent >= maxBetween / 2;
		return [
			{
				level: 'error',
				...(isSilent ? { about: 'engine' } : {}),
				content: () => ({
					cause: isSilent ? 'engine not responding' : 'training stalled',
					message: `No progress for ${seconds} s since step ${row.step}. Earlier steps took ${digits(median)} s each.${isSilent ? ' The engine process exists but writes no heartbeat.' : ''}`,
					action: isSilent
						? 'Check whether the process is suspended (SIGSTOP, a debugger) or the disk is not responding. Otherwise, kill the process and resume the run from its last checkpoint.'
						: 'Check whether a reward, a judge, or the sampler is blocked. Otherwise, stop the run and resume it from its last checkpoint.',
					metrics: ['step_time'],
					evidence: [],
					recipe: null,
				}),
			},
		];
	}
}

export const stalled: Rule = {
	name: 'stalled',
	title: 'Training stalled',
	fires:
		'a live run that is not paused has written no row for `stalledSeconds`, for `stalledGaps` x the median gap between its rows, and for `stalledLongest` x the longest of its last `shortRun` gaps, counting only the time during which the run was watched. Reported as `stalled:engine` if the engine heartbeat has stopped too.',
	silent:
		'while a run is paused, before its first rows, for runs from other trainers (there is no way to tell whether they are working), and for periods in which the machine was asleep or the run was not watched. `inspect` checks only once, so until the next row it cannot distinguish a sleeping machine from a stall.',
	metrics: ['step_time'],
	thresholds: ['stalledSeconds', 'stalledGaps', 'stalledLongest', 'shortRun'],
	everyStage: true,
	watch: () => new StalledWatch(),
};
