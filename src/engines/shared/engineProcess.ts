import { Failure } from '../../base/failure.ts';
import { type EngineArguments, parseEngineArguments } from './engineArguments.ts';

/** An engine running in this process. */
export interface EngineProcess {
	/** Requests the run to stop; it finishes its batch first. */
	stop(): void;
	/**
	 * The exit status: 0 finished or stopped, 2 rejected or failed for a reason that the user can fix, 1 program error.
	 */
	readonly exit: Promise<number>;
	/** Ends the run because of an external error. */
	crash(error: unknown): void;
	/** Immediately kills child processes that would outlive this one. Synchronous. */
	abandon?(): void;
}

/** The main program of every engine: arguments, signals, exit status. Does not return. */
export async function engineMain(
	start: (args: EngineArguments) => EngineProcess | Promise<EngineProcess>,
	argv: readonly string[] = process.argv.slice(2),
): Promise<never> {
	try {
		const args = parseEngineArguments(argv, process.cwd());
		const engine = await start(args);
		if (args.kind === 'serve' && args.untilInputEnds) process.stdin.resume().once('close', () => engine.stop());
		listen(engine);
		process.exit(await engine.exit);
	} catch (error) {
		process.stderr.write(`${Failure.from(error).toString()}\n`);
		process.exit(2);
	}
}

function listen(engine: EngineProcess): void {
	let asked = false;
	const stop = () => {
		if (asked) {
			// A second request means do not wait; files on disk are consistent at any moment. An orderly exit would wait for
			// the compute threads.
			engine.abandon?.();
			process.removeAllListeners('SIGTERM');
			process.kill(process.pid, 'SIGTERM');
			return;
		}
		asked = true;
		engine.stop();
	};
	process.on('SIGTERM', stop);
	process.on('SIGINT', stop);
	// A run outlives the terminal that started it.
	process.on('SIGHUP', () => undefined);
	process.on('uncaughtException', (error) => engine.crash(error));
	process.on('unhandledRejection', (error) => engine.crash(error));
}
