import { readFile } from 'node:fs/promises';

/** The harness in a bundle: what is started then reads nothing from a folder that an update may replace. */
/** JSON of texts by name, a string so that only the chunk of this module has it: an object would be in every program's first. */
declare const HARNESS_FILES: string | undefined;
const bundled: Readonly<Record<string, string>> | null =
	typeof HARNESS_FILES === 'undefined' ? null : JSON.parse(HARNESS_FILES);

/** The text of a program that runs inside a sandbox: of harness/, which a build puts into the bundle. */
export async function readHarness(name: string): Promise<string> {
	return bundled?.[name] ?? (await readFile(new URL(`./harness/${name}`, import.meta.url), 'utf8'));
}
