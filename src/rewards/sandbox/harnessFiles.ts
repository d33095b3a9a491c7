import { readFile } from 'node:fs/promises';

/** The harness in a bundle: what is started then reads nothing from a folder that an update may replace. */
declare const HARNESS_FILES: Readonly<Record<string, string>> | undefined;
const bundled = typeof HARNESS_FILES === 'undefined' ? null : HARNESS_FILES;

/** The text of a program that runs inside a sandbox: of harness/, which a build puts into the bundle. */
export async function readHarness(name: string): Promise<string> {
	return bundled?.[name] ?? (await readFile(new URL(`./harness/${name}`, import.meta.url), 'utf8'));
}
