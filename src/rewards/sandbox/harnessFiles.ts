import { readFile } from 'node:fs/promises';

/** Harness files included in a bundle, so a running process never reads from a folder that an update might replace. */
/**
 * JSON that maps file names to contents. It is a string so that it ends up only in this module's chunk; an object would
 * be in the first chunk of every program.
 */
declare const HARNESS_FILES: string | undefined;
const bundled: Readonly<Record<string, string>> | null =
	typeof HARNESS_FILES === 'undefined' ? null : JSON.parse(HARNESS_FILES);

/** Returns the source of a program that runs inside a sandbox. It is in harness/, and the build bundles it. */
export async function readHarness(name: string): Promise<string> {
	return bundled?.[name] ?? (await readFile(new URL(`./harness/${name}`, import.meta.url), 'utf8'));
}
