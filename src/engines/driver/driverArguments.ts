import { resolve } from 'node:path';
import { Failure } from '../../base/failure.ts';
import type { DriverOptions } from './driverTraining.ts';

/** Parses the driver's own arguments and those shared by all engines. Throws `invalid`. */
export function takeDriverArguments(argv: readonly string[], cwd: string): { options: DriverOptions; rest: string[] } {
	const rest: string[] = [];
	let join = false;
	let requests: string | null = null;
	for (let i = 0; i < argv.length; i++) {
		const name = argv[i] as string;
		if (name === '--join') join = true;
		else if (name === '--requests') {
			const folder = argv[++i];
			if (!folder) throw new Failure('invalid', '--requests requires a folder.');
			requests = resolve(cwd, folder);
		} else rest.push(name);
	}
	if (requests !== null && !join) throw new Failure('invalid', '--requests requires --join.');
	return { options: { join, requests }, rest };
}
