import { Failure } from '../../base/failure.ts';
import { type EngineArguments, parseEngineArguments } from './engineArguments.ts';

/** An engine running in the current process. */
export interface EngineProcess {
	/** Requests a stop. The run finishes its current batch first. */
	stop(): void;
	/**
	 * Exit code: 0 if the run finished or was stopped, 2 if it was rejected or failed for a reason the user can fix, 1 on
	 * an internal error.
	 */
	readonly exit: Promise<number>;
	/** Ends the run because of an error outside the engine. */
	crash(error: unknown): void;
	/** Kills child processes that would outlive this one, immediately and synchronously. */
	abandon?(): void;
}

/** Entry point of every engine: handles arguments, signals and the exit code. Does not return. */
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
			// A second request means "don't wait". Files on disk are always consistent, and a clean exit would wait for the
			// compute threads.
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
	// A run outlives its terminal.
	process.on('SIGHUP', () => undefined);
	process.on('uncaughtException', (error) => engine.crash(error));
	process.on('unhandledRejection', (error) => engine.crash(error));
}
