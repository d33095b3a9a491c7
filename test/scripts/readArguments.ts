import { type ParseArgsConfig, parseArgs } from 'node:util';

/** Parses this script's arguments. An unknown argument exits with status 2 and prints the usage. */
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

/** Exits with status 2 after printing the reason and the usage. */
export function refuse(message: string, usage: string): never {
	console.error(`${message}\n\n${usage}`);
	process.exit(2);
}
