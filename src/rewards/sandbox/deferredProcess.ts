import { PassThrough } from 'node:stream';
import { deferred } from '../../base/async.ts';
import type { SandboxOutcome, SandboxProcess } from './sandbox.ts';

/** Returns a process that starts only after asynchronous preparation. Its streams are available immediately. */
export function deferredProcess(prepare: () => Promise<SandboxProcess>): SandboxProcess {
	const stdin = new PassThrough();
	const stdout = new PassThrough();
	const stderr = new PassThrough();
	const ended = deferred<SandboxOutcome>();
	ended.promise.catch(() => undefined);
	let killed = false;
	let real: SandboxProcess | undefined;
	const begin = async () => {
		real = await prepare();
		stdin.pipe(real.stdin);
		real.stdout.pipe(stdout);
		real.stderr.pipe(stderr);
		if (killed) real.kill();
		return await real.ended;
	};
	begin().then(ended.resolve, ended.reject);
	return {
		stdin,
		stdout,
		stderr,
		ended: ended.promise,
		kill() {
			killed = true;
			real?.kill();
		},
	};
}
