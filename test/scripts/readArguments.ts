import { type ParseArgsConfig, parseArgs } from 'node:util';

/** The arguments of this script. One that is unknown ends the process with status 2 and the usage. */
export function readArguments<const T extends ParseArgsConfig>(
	config: T,
	usage: string,
): ReturnType<typeof parseArgs<T>> {
	try {
		return parseArgs(config);
	} catch (error) {
		return refuse((error as Error).message, usage);
	}
}

/** Ends the process with status 2, saying why and how it is used. */
export function refuse(message: string, usage: string): never {
	console.error(`${message}\n\n${usage}`);
	process.exit(2);
}
