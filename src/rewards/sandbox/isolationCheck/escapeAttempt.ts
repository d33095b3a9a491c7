import type { IsolationArea, IsolationOutcome } from '../../../protocol/isolation.ts';
import type { SandboxLimits, SandboxOutput } from '../sandbox.ts';
import type { Surroundings } from './surroundings.ts';

export interface Verdict {
	readonly outcome: IsolationOutcome;
	readonly evidence: string;
}

/** An escape attempt: a function with the same name in harness/escapes.py, and how to interpret its outcome. */
export interface EscapeAttempt {
	readonly id: string;
	readonly area: IsolationArea;
	readonly tried: string;
	readonly expected: string;
	/** Limits being tested. All others are high enough for the attempt to succeed. */
	readonly limits?: Partial<SandboxLimits>;
	/** Whether the attempt also runs without a sandbox, since it does nothing that an ordinary program would not do. */
	readonly mild?: boolean;
	/**
	 * Whether the attempt could exhaust the machine's resources if not stopped. If so, nothing else may run alongside it.
	 */
	readonly alone?: boolean;
	/**
	 * Checks the outcome from outside the sandbox if the attempt itself cannot tell. Default: uses the attempt's own
	 * report.
	 */
	judge?(said: Said, run: SandboxOutput, surroundings: Surroundings): Verdict | Promise<Verdict>;
}

/** Last line of an attempt's output, or null if there is none. */
export type Said = {
	readonly escaped?: boolean | undefined;
	readonly skipped?: boolean | undefined;
	readonly made?: number | undefined;
	readonly evidence: string;
} | null;

/** Describes how a run ended, for users. */
export function endOf({ end, status, signal, peakProcesses, peakMemoryMb }: SandboxOutput): string {
	switch (end) {
		case 'exited':
			return `it exited with code ${status}`;
		case 'signal':
			return `it was killed by ${signal ?? 'a signal'}`;
		case 'memory':
			return peakMemoryMb === 0 ? 'killed by the memory limit' : `killed at ${Math.round(peakMemoryMb)} MB`;
		case 'processes':
			return `killed at ${peakProcesses} processes`;
		default:
			return `killed by the limit "${end}"`;
	}
}

/** Returns the verdict for an attempt that failed before it tried anything. */
export function untried(run: SandboxOutput): Verdict {
	const words = run.stderr.trim().split('\n').at(-1) ?? '';
	return { outcome: 'untried', evidence: words === '' ? endOf(run) : words };
}

/** Returns a check on a measured amount: the sandbox holds if the amount is at most `max`. */
export const atMost = (max: number) => (said: Said, run: SandboxOutput) => {
	if (said === null && run.end === 'exited') return untried(run);
	return {
		outcome: (said?.made ?? 0) <= max ? ('held' as const) : ('escaped' as const),
		evidence: said === null ? endOf(run) : run.end === 'exited' ? said.evidence : `${said.evidence}; ${endOf(run)}`,
	};
};

/** Returns a check for a limit: the sandbox holds if the limit ended the attempt before it succeeded. */
export const stoppedBy =
	(...ends: readonly SandboxOutput['end'][]) =>
	(said: Said, run: SandboxOutput) => {
		if (said === null && run.end === 'exited') return untried(run);
		return {
			outcome: said === null && ends.includes(run.end) ? ('held' as const) : ('escaped' as const),
			evidence: said?.evidence ?? `${endOf(run)} after ${(run.durationMs / 1000).toFixed(1)} s`,
		};
	};
