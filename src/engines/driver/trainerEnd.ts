import { Failure } from '../../base/failure.ts';
import type { TrainerExit } from './trainerProcess.ts';

export interface EndContext {
	/** Current step of the run, or null if it has not started. */
	readonly step: number | null;
	/** Step of the newest checkpoint, or null if there is none. */
	readonly checkpoint: number | null;
	/** Whether the system has since killed a process because of low memory, or null if unknown. */
	readonly outOfMemory: boolean | null;
}

/** Returns the error line: the last line of a traceback, falling back to the last line of output. */
export function lastError(words: string): string {
	const lines = words
		.split('\n')
		.map((line) => line.trimEnd())
		.filter((line) => /\w/.test(line));
	// torchrun ends its output by reporting that a process failed, but not why.
	const error = lines
		.map((line) => line.replace(/^\[rank\d+\]: ?/, ''))
		.findLast((line) => /^(?!torch\.distributed\.elastic)[\w.]*(Error|Exception|Exit|Interrupt|Failure)\b/.test(line));
	return (error ?? lines.at(-1) ?? '').trim().slice(0, 500);
}

/** Explains why a trainer exited without reporting a reason. */
export function explainEnd({ code, signal, words }: TrainerExit, context: EndContext): Failure {
	const { step, checkpoint } = context;
	const when = step === null ? 'before training started' : `after step ${step}`;
	const again =
		step === null
			? 'Start the run again.'
			: checkpoint === null
				? 'The run has no checkpoint yet, so resuming starts it from scratch.'
				: `Resuming continues from the checkpoint at step ${checkpoint}.`;
	const killed = killedBy(signal, words);
	if (killed === 'SIGKILL') {
		const why = context.outOfMemory ? ' because the machine ran out of memory' : '';
		const less = 'Reduce prompts_per_step, num_generations or pytorch.microBatch, or set pytorch.gradientCheckpointing';
		return new Failure(
			'unavailable',
			`The trainer was killed ${when}${why} (SIGKILL).`,
			context.outOfMemory
				? `${less}. ${again}`
				: `If the machine ran out of memory (see its log), ${less.charAt(0).toLowerCase()}${less.slice(1)}. ${again}`,
		);
	}
	if (killed !== null) {
		const what = killed === 'SIGSEGV' || killed === 'SIGBUS' || killed === 'SIGABRT' || killed === 'SIGFPE';
		return new Failure(
			what ? 'internal' : 'unavailable',
			`The trainer ${what ? 'crashed' : 'was terminated'} ${when} (${killed}).`,
			`${what ? 'Its last output is in engine.log in the run folder. ' : ''}${again}`,
		);
	}
	if (step === null && (code === 126 || code === 127)) {
		return new Failure(
			'unavailable',
			`Cannot start Python: ${lastError(words) || `status ${code}`}.`,
			'Run Set Up PyTorch Engine, or select another Python interpreter.',
		);
	}
	if (code === 2) {
		// The trainer exited before it could report over the link. Its last two output lines are the message and the
		// action.
		const lines = words.split('\n').filter((line) => /\w/.test(line));
		const [message = 'The trainer could not start.', action] = lines.slice(-2);
		return new Failure('unavailable', message.slice(0, 500), action?.slice(0, 500) ?? again);
	}
	const error = lastError(words);
	const how = code === 0 ? 'exited before training was complete' : `exited with status ${code}`;
	return new Failure(
		'internal',
		`The trainer ${how}, ${when}${error === '' ? '' : `: ${error}`}`.replace(/[.]?$/, '.'),
		`See engine.log in the run folder for the full output. ${again}`,
	);
}

/** Returns the signal that killed the trainer or, under torchrun, one of its processes. */
function killedBy(signal: NodeJS.Signals | null, words: string): string | null {
	if (signal !== null) return signal;
	// When one process fails, torchrun kills the others.
	const root = words.slice(Math.max(0, words.lastIndexOf('Root Cause')));
	const said = /exitcode\s*:\s*-(\d+)/.exec(root)?.[1];
	if (said === undefined) return null;
	return (
		{ 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE', 9: 'SIGKILL', 11: 'SIGSEGV', 15: 'SIGTERM' }[said] ?? `signal ${said}`
	);
}
